//! `reasonix config`: what the settings are, and where they come from.

use settings::Loaded;

use crate::{args::ConfigCommand, exit::Exit, invocation::Invocation, report::Failure, terminal};

/// Explains a key, or checks everything.
pub(crate) fn run(invocation: &Invocation, command: &ConfigCommand) -> Result<Exit, Failure> {
    let here = std::env::current_dir().ok();
    let loaded = invocation.settings(here.as_deref(), &[])?;
    match command {
        ConfigCommand::Check => {
            let missing = missing_key(invocation, &loaded)?;
            if let Some(missing) = &missing {
                terminal::error(&format!("warning: {missing}"));
            }
            terminal::line(&format!(
                "the configuration is usable ({} warning(s))",
                loaded.warnings.len() + usize::from(missing.is_some())
            ));
            Ok(Exit::Success)
        }
        ConfigCommand::Explain { key } => {
            let explained = loaded.explain(key).ok_or_else(|| {
                Failure::new(Exit::Usage, format!("there is no setting {key}"))
                    .hint("docs/CONFIG.md lists them all")
            })?;
            terminal::line(&format!(
                "{} = {} ({})",
                explained.key, explained.value, explained.origin
            ));
            for (value, origin) in &explained.hidden {
                terminal::line(&format!("  hides {value} ({origin})"));
            }
            Ok(Exit::Success)
        }
    }
}

/// Makes sure that some provider has the default model, and says which key is missing for it.
fn missing_key(invocation: &Invocation, loaded: &Loaded) -> Result<Option<String>, Failure> {
    let wanted = &loaded.settings.default_model;
    let model = loaded.settings.resolve_model(wanted).map_err(|unknown| {
        let place = loaded.origin("default_model");
        Failure::new(Exit::Usage, format!("{place}: default_model: {unknown}")).hint(unknown.hint())
    })?;
    let keys = settings::EnvFile::load(&invocation.home.resolve(".env"))?;
    let name = model
        .provider
        .api_key_env
        .as_deref()
        .filter(|name| keys.get(name).is_none());
    // An endpoint of this machine is asked without a key too.
    let address = model.provider.base_url.as_deref().unwrap_or_default();
    let is_here = ["://127.", "://localhost", "://[::1]"]
        .iter()
        .any(|here| address.contains(here));
    Ok(name.filter(|_| !is_here).map(|name| {
        format!("{wanted} needs the key {name}, which is not stored; store it with `reasonix key {name}`")
    }))
}
