//! The first start: leads from no configuration to a model that answers.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | change which providers are offered | `presets.rs` |
//! | change what is asked, in which order | this file |
//! | change how files are written | `settings::providers`, `settings::env_file` |
//! | change the live check | `remote_agent::check_model` |

mod presets;

use settings::{Loaded, NewProvider, Origin};
use stdx::Secret;

use self::presets::{PRESETS, Recipe};
use crate::{
    ask::{self, visible},
    exit::Exit,
    invocation::Invocation,
    report::Failure,
    terminal,
};

/// What became of the setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// The model answered.
    Answered,
    /// The person kept what was written although the model did not answer.
    Kept,
}

/// Says whether nothing was configured yet: no provider, and no key for the built-in one.
pub(crate) fn is_needed(invocation: &Invocation, loaded: &Loaded) -> Result<bool, Failure> {
    let is_untouched = |key| loaded.origin(key) == Origin::Default;
    if !is_untouched("providers") || !is_untouched("default_model") {
        return Ok(false);
    }
    let keys = settings::EnvFile::load(&invocation.home.resolve(".env"))?;
    let mut providers = loaded.settings.providers.iter();
    Ok(!providers.any(|provider| {
        let name = provider.api_key_env.as_deref().unwrap_or_default();
        keys.get(name).is_some()
    }))
}

/// Says that there is no configuration.
pub(crate) fn unconfigured() -> Failure {
    Failure::new(Exit::Usage, "no model is configured yet")
        .hint("run `reasonix setup` on a terminal, or pipe a key into `reasonix key DEEPSEEK_API_KEY`")
}

/// Says that there is no configuration and nobody to ask for one.
pub(crate) fn unattended() -> Failure {
    let mut failure = unconfigured();
    failure.message.push_str(", and nobody can be asked here");
    failure
}

/// Leads through the setup. Ctrl-C leaves what was written whole, and nothing half written.
pub(crate) async fn run(invocation: &Invocation) -> Result<Done, Failure> {
    ask::with_person(lead(invocation)).await
}

async fn lead(invocation: &Invocation) -> Result<Done, Failure> {
    // A file that is broken is said before anything is asked.
    invocation.settings(None, &[])?;
    terminal::error("Reasonix needs a model to work with.\n");
    let mut given_up: Vec<String> = Vec::new();
    loop {
        let choice = choose().await?;
        let key = key(&choice, invocation).await?;
        let reference = write(invocation, &choice, key.as_ref(), &given_up)?;
        loop {
            terminal::error(&format!("asking {reference} for a word ..."));
            let sources = invocation.sources(None, &[]);
            let Err(trouble) = remote_agent::check_model(&sources, Some(&reference)).await else {
                terminal::error("it answers: everything is ready");
                return Ok(Done::Answered);
            };
            terminal::error(&visible(&format!("it cannot be used: {}", trouble.message)));
            if let Some(hint) = &trouble.hint {
                terminal::error(&visible(&format!("hint: {hint}")));
            }
            let question = "What now? [r]etry, [n]ew key, [c]hoose another provider, [K]eep it as it is";
            match ask::line(question).await?.to_ascii_lowercase().as_str() {
                "r" | "retry" => {}
                "n" | "new" => {
                    if let Some(name) = choice.key_name.as_deref() {
                        store(invocation, name, &secret(name).await?)?;
                    } else {
                        terminal::error("it takes no key");
                    }
                }
                "c" | "choose" => {
                    given_up.push(reference);
                    break;
                }
                _ => return Ok(Done::Kept),
            }
        }
    }
}

/// What a person chose.
#[derive(Debug, Clone)]
struct Choice {
    /// The provider to write down; `None`: it is built in.
    provider: Option<NewProvider>,
    /// What `default_model` says.
    reference: String,
    /// The name of its key; `None`: it takes none.
    key_name: Option<String>,
}

async fn choose() -> Result<Choice, Failure> {
    for (index, preset) in PRESETS.iter().enumerate() {
        terminal::error(&format!("  {}  {}", index + 1, preset.title));
    }
    let preset = loop {
        let answer = ask::or_default("Which one", "1").await?;
        let number = answer
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_sub(1));
        match number.and_then(|index| PRESETS.get(index)) {
            Some(preset) => break preset,
            None => terminal::error(&format!("type a number from 1 to {}", PRESETS.len())),
        }
    };
    match &preset.recipe {
        Recipe::BuiltIn { reference, key_name } => Ok(Choice {
            provider: None,
            reference: (*reference).to_owned(),
            key_name: Some((*key_name).to_owned()),
        }),
        Recipe::Hosted {
            name,
            base_url,
            key_name,
            example,
        } => {
            let model = model_name(&format!("Model, such as {example}")).await?;
            Ok(described(
                name,
                (*base_url).to_owned(),
                model,
                Some((*key_name).to_owned()),
            ))
        }
        Recipe::Local { name, base_url } => {
            let base_url = address(Some(base_url)).await?;
            let model = model_name("Model, as the server calls it").await?;
            Ok(described(name, base_url, model, None))
        }
        Recipe::Other => other().await,
    }
}

/// Asks for everything about an endpoint that speaks chat completions.
async fn other() -> Result<Choice, Failure> {
    let base_url = address(None).await?;
    let model = model_name("Model, as the endpoint calls it").await?;
    let host = base_url.split("://").nth(1).unwrap_or(&base_url);
    let host: String = host.split(['/', ':']).next().unwrap_or("endpoint").to_owned();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name = format!("custom-{}", host.chars().map(plain).collect::<String>());
    let key_name = format!("{}_API_KEY", name.to_ascii_uppercase().replace('-', "_"));
    let key_name = ask::yes("Does it take a key?").await?.then_some(key_name);
    Ok(described(&name, base_url, model, key_name))
}

/// Asks for the name of a model. What looks like a key is not taken, not repeated and not written down.
async fn model_name(question: &str) -> Result<String, Failure> {
    loop {
        let name = ask::needed(question).await?;
        if name.contains(char::is_whitespace) {
            terminal::error("the name of a model has no spaces");
        } else if looks_like_key(&name) {
            terminal::error("that looks like a key, not like a model; the key is asked for next");
        } else {
            return Ok(name);
        }
    }
}

/// Says whether a text is rather a key than the name of a model: by the prefixes of well-known services, or by length.
fn looks_like_key(text: &str) -> bool {
    const PREFIXES: [&str; 6] = ["sk-", "sk_", "gsk_", "AIza", "xai-", "hf_"];
    let is_long = text.len() > 40 && !text.contains(['/', ':', '.']);
    is_long || PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}

async fn address(default: Option<&str>) -> Result<String, Failure> {
    loop {
        let text = match default {
            Some(default) => ask::or_default("Address (base URL)", default).await?,
            None => ask::needed("Address (base URL)").await?,
        };
        let rest = text
            .strip_prefix("https://")
            .or_else(|| text.strip_prefix("http://"));
        if rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace)) {
            return Ok(text.trim_end_matches('/').to_owned());
        }
        terminal::error("an address begins with http:// or https://");
    }
}

fn described(name: &str, base_url: String, model: String, key_name: Option<String>) -> Choice {
    Choice {
        reference: format!("{name}/{model}"),
        key_name: key_name.clone(),
        provider: Some(NewProvider {
            name: name.to_owned(),
            base_url,
            model,
            api_key_env: key_name,
        }),
    }
}

/// Asks for the key of a choice; one that is stored already may stay.
async fn key(choice: &Choice, invocation: &Invocation) -> Result<Option<Secret>, Failure> {
    let Some(name) = choice.key_name.as_deref() else {
        return Ok(None);
    };
    let stored = settings::EnvFile::load(&invocation.home.resolve(".env"))?;
    if stored.get(name).is_some() && ask::yes(&format!("{name} is stored already. Use it?")).await? {
        return Ok(None);
    }
    secret(name).await.map(Some)
}

/// Asks for a key a few times; an empty one is none.
async fn secret(name: &str) -> Result<Secret, Failure> {
    for _ in 0..3 {
        let key = ask::hidden(&format!("{name} (what is typed is not shown)")).await?;
        if !key.expose().trim().is_empty() {
            return Ok(Secret::new(key.expose().trim()));
        }
        terminal::error("an empty key is none");
    }
    Err(Failure::new(
        Exit::Usage,
        format!("no value for {name} was typed"),
    ))
}

/// Stores the key first: a provider without its key would be worse than a key without its provider. What was `given_up`
/// in this run does not stay the default.
fn write(
    invocation: &Invocation,
    choice: &Choice,
    key: Option<&Secret>,
    given_up: &[String],
) -> Result<String, Failure> {
    invocation.make_home()?;
    if let (Some(name), Some(key)) = (choice.key_name.as_deref(), key) {
        store(invocation, name, key)?;
    }
    let file = invocation.home.resolve("config.toml");
    let loaded = settings::load(&invocation.sources(None, &[]))?;
    let is_configured = loaded.origin("providers") != Origin::Default;
    let mut reference = choice.reference.clone();
    match &choice.provider {
        Some(provider) => {
            let provider = unused_name(&loaded, provider, is_configured);
            reference = format!("{}/{}", provider.name, provider.model);
            if !is_known(&loaded, &provider, is_configured) {
                keep_built_in(invocation, &loaded, given_up)?;
                settings::add_provider(&file, &provider)?;
            }
        }
        // Configured providers replace the built-in ones.
        None if is_configured && loaded.settings.resolve_model(&reference).is_err() => {
            let (provider, named) = presets::deepseek();
            settings::add_provider(&file, &provider)?;
            reference = named;
        }
        None => {}
    }
    make_default(invocation, &reference, given_up)?;
    terminal::error(&format!("written to {file}"));
    Ok(reference)
}

/// Writes down the built-in provider that the file names as the default and that has its key: the first provider in
/// the file replaces those that are built in.
fn keep_built_in(invocation: &Invocation, loaded: &Loaded, given_up: &[String]) -> Result<(), Failure> {
    let default = &loaded.settings.default_model;
    let is_built_in = loaded.origin("providers") == Origin::Default;
    let is_chosen = loaded.origin("default_model") != Origin::Default && !given_up.contains(default);
    let Ok(model) = loaded.settings.resolve_model(default) else {
        return Ok(());
    };
    let keys = settings::EnvFile::load(&invocation.home.resolve(".env"))?;
    let key_name = model.provider.api_key_env.as_deref().unwrap_or_default();
    if !is_built_in || !is_chosen || keys.get(key_name).is_none() {
        return Ok(());
    }
    let provider = NewProvider {
        name: model.provider.name.clone(),
        base_url: model.provider.base_url.clone().unwrap_or_default(),
        model: model.model.to_owned(),
        api_key_env: model.provider.api_key_env.clone(),
    };
    Ok(settings::add_provider(
        &invocation.home.resolve("config.toml"),
        &provider,
    )?)
}

/// Makes a model the default, unless the file names another one that can still be meant.
fn make_default(invocation: &Invocation, reference: &str, given_up: &[String]) -> Result<(), Failure> {
    let file = invocation.home.resolve("config.toml");
    if settings::set_default_model(&file, reference)? {
        return Ok(());
    }
    let loaded = settings::load(&invocation.sources(None, &[]))?;
    let named = &loaded.settings.default_model;
    let is_in_file = matches!(loaded.origin("default_model"), Origin::File(_));
    let is_useless = given_up.contains(named) || loaded.settings.resolve_model(named).is_err();
    if is_in_file && is_useless {
        settings::replace_default_model(&file, reference)?;
        terminal::error(&visible(&format!(
            "default_model was {named}, and is {reference} now"
        )));
    } else {
        terminal::error(&visible(&format!(
            "default_model in {file} stays {named}; `--model {reference}` uses the new one"
        )));
    }
    Ok(())
}

fn is_known(loaded: &Loaded, provider: &NewProvider, is_configured: bool) -> bool {
    is_configured
        && loaded
            .settings
            .providers
            .iter()
            .any(|known| known.name == provider.name)
}

/// Gives a provider a name that no other endpoint has.
fn unused_name(loaded: &Loaded, provider: &NewProvider, is_configured: bool) -> NewProvider {
    let is_taken = |name: &str| {
        is_configured
            && loaded.settings.providers.iter().any(|known| {
                let is_same = known.base_url.as_deref() == Some(&provider.base_url)
                    && known.model.as_deref() == Some(&provider.model);
                known.name == name && !is_same
            })
    };
    let mut named = provider.clone();
    let mut number = 2;
    while is_taken(&named.name) {
        named.name = format!("{}-{number}", provider.name);
        number += 1;
    }
    named
}

fn store(invocation: &Invocation, name: &str, key: &Secret) -> Result<(), Failure> {
    let file = invocation.home.resolve(".env");
    settings::env_file::set(&file, name, key)?;
    terminal::error(&format!("{name} is stored in {file}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_no_model() {
        let long = "a1".repeat(21);
        for key in ["sk-proj-abc", "sk-or-v1-0", "gsk_0", &long] {
            assert!(looks_like_key(key), "{key}");
        }
        for model in [
            "gpt-5",
            "deepseek/deepseek-chat",
            "Qwen3-Coder-30B-A3B-Instruct-Q4_K_M.gguf",
            "meta-llama/llama-4-maverick-17b-128e-instruct-fp8",
            "skylark",
        ] {
            assert!(!looks_like_key(model), "{model}");
        }
    }
}
