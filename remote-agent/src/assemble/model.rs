//! Which endpoint and model a session talks to.

use std::sync::Arc;

use agent_loop::ModelOptions;
use broker::Desk;
use protocol::{ErrorBody, ErrorCode, SessionId};
use provider::{Currency, Options, Price, Provider, ReasoningProtocol};
use settings::{EnvFile, Loaded, ModelChoice, schema};
use stdx::Secret;

/// A model that can be asked.
pub(super) struct Chosen {
    pub(super) reference: String,
    pub(super) provider: Arc<dyn Provider>,
    pub(super) options: ModelOptions,
}

/// How its vendor is reached.
pub(super) enum Access {
    /// With the keys of this machine.
    Keys(EnvFile),
    /// Through who has the key, for a session.
    Desk(Desk, SessionId),
}

/// Chooses the model that a client asked for, else the default one.
pub(super) fn choose(loaded: &Loaded, wanted: Option<&str>, access: Access) -> Result<Chosen, ErrorBody> {
    choose_with(loaded, wanted, access, provider::Policy::default())
}

/// Chooses a model as [`choose`] does, with another patience.
pub(super) fn choose_with(
    loaded: &Loaded,
    wanted: Option<&str>,
    access: Access,
    retry: provider::Policy,
) -> Result<Chosen, ErrorBody> {
    let settings = &loaded.settings;
    let reference = wanted.unwrap_or(&settings.default_model);
    let choice = settings
        .resolve_model(reference)
        .map_err(|error| ErrorBody::new(ErrorCode::Configuration, error.to_string()).hint(error.hint()))?;
    let options = Options {
        retry,
        ..endpoint(&choice)
    };
    let provider = build(&choice, options, access).map_err(|error| {
        ErrorBody::new(ErrorCode::Configuration, error.failure().message)
            .hint("see [[providers]] in config.toml")
    })?;
    let temperature = Some(settings.agent.temperature).filter(|temperature| *temperature > 0.0);
    let max_tokens = u64::try_from(choice.max_output_tokens())
        .ok()
        .filter(|limit| *limit > 0);
    let options = ModelOptions {
        name: choice.model.to_owned(),
        temperature,
        max_tokens,
        // 0 says that nothing is compacted by itself, not how much fits.
        context_window: choice.context_window().filter(|window| *window > 0),
        price: price(&choice),
    };
    Ok(Chosen {
        reference: choice.reference(),
        provider,
        options,
    })
}

fn build(
    choice: &ModelChoice<'_>,
    options: Options,
    access: Access,
) -> Result<Arc<dyn Provider>, provider::Error> {
    match access {
        Access::Keys(keys) => {
            let name = choice.provider.api_key_env.as_ref();
            let key = name.and_then(|name| keys.get(name)).cloned();
            provider::build(kind(choice), Options { key, ..options })
        }
        Access::Desk(desk, session) => provider::build_brokered(kind(choice), options, desk, session),
    }
}

/// Gives what the model costs, as far as that is known.
fn price(choice: &ModelChoice<'_>) -> Option<Price> {
    let price = choice.price()?;
    let (input, output) = (price.input?, price.output?);
    let currency = price.currency.as_ref();
    let currency = match currency.or(choice.provider.pricing.billing_currency.as_ref()) {
        Some(code) if code == Currency::Cny.code() => Currency::Cny,
        // The settings let no other code through.
        _ => Currency::Usd,
    };
    Some(Price {
        cache_hit: price.cache_hit.unwrap_or(input),
        input,
        output,
        currency,
        // Hours count for the vendor's own price list; prices that somebody wrote down are meant as written.
        half_off_peak: schema::presets().contains(choice.provider),
    })
}

fn thinking_word(thinking: schema::Thinking) -> String {
    let word = match thinking {
        schema::Thinking::Enabled => "enabled",
        schema::Thinking::Disabled => "disabled",
        schema::Thinking::Adaptive => "adaptive",
    };
    word.to_owned()
}

fn kind(choice: &ModelChoice<'_>) -> &'static str {
    match choice.provider.kind {
        schema::ProviderKind::OpenAi => "openai",
        schema::ProviderKind::Anthropic => "anthropic",
        schema::ProviderKind::Responses => "responses",
    }
}

/// Gives the endpoint without its key.
fn endpoint(choice: &ModelChoice<'_>) -> Options {
    let provider = choice.provider;
    let mut options = Options::new(
        provider.name.as_str(),
        provider.base_url.as_deref().unwrap_or_default(),
    );
    options.reasoning = match provider.reasoning.reasoning_protocol.as_deref() {
        Some("deepseek" | "glm" | "kimi-k3") => ReasoningProtocol::Replayed,
        Some("none" | "openai") => ReasoningProtocol::None,
        _ => ReasoningProtocol::Auto,
    };
    options.thinking = provider.reasoning.thinking.map(thinking_word);
    options.effort = choice.effort().map(str::to_owned);
    options.request_url.clone_from(&provider.request_url);
    options.key_env.clone_from(&provider.api_key_env);
    options.headers = provider
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), Secret::new(value.as_str())))
        .collect();
    // A TOML table that JSON cannot express (a date) is left out; the settings have warned about it.
    if let Ok(serde_json::Value::Object(body)) = serde_json::to_value(&provider.extra_body) {
        options.extra_body = body;
    }
    options
}
