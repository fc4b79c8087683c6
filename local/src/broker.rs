//! Requests to the model that are made here for a host (`credentials = "broker"`): where they may go and with which key.
//!
//! All of it comes from the user's own configuration and `.env`; no project and no host has a say.

use link::{AgentLink, BrokerOptions, BrokerState, Endpoint, Key};
use settings::{
    EnvFile, Loaded,
    schema::{Credentials, Provider, ProviderKind, RemoteHost, presets},
};
use stdx::Secret;

use crate::{ask::visible, exit::Exit, host::HostPlan, invocation::Invocation, report::Failure, terminal};

/// Gives what is served for a host; `None` where it has its own keys.
pub(crate) fn options(
    host: Option<&RemoteHost>,
    invocation: &Invocation,
    loaded: &Loaded,
) -> Result<Option<BrokerOptions>, Failure> {
    let Some(host) = host.filter(|host| host.agent.credentials == Credentials::Broker) else {
        return Ok(None);
    };
    let keys = EnvFile::load(&invocation.home.resolve(".env"))?;
    Ok(Some(BrokerOptions {
        endpoints: endpoints(loaded, &keys),
        max_requests: host.agent.broker_max_requests,
        expires: host.agent.broker_expires,
        registry: Some(invocation.home.join("run").join("brokers")),
    }))
}

/// Says before anything is dialled that there is no key here, where that can be known: the model that was asked for has
/// none, or no model has.
pub(crate) fn need_key(
    plan: &HostPlan,
    model: Option<&str>,
    invocation: &Invocation,
    loaded: &Loaded,
) -> Result<(), Failure> {
    let Some(options) = options(plan.configured.as_ref(), invocation, loaded)? else {
        return Ok(());
    };
    let missing = |endpoint: &Endpoint| match &endpoint.key {
        Key::Missing(name) => Some(name.clone()),
        Key::NotNeeded | Key::Here(_) => None,
    };
    let wanted = model.unwrap_or(&loaded.settings.default_model);
    let provider = loaded
        .settings
        .resolve_model(wanted)
        .ok()
        .map(|choice| choice.provider.name.clone());
    let of_provider = |endpoint: &&Endpoint| Some(&endpoint.provider) == provider.as_ref();
    let chosen = options.endpoints.iter().find(of_provider);
    // What the host asks by itself is the host's to choose; only where nothing here has a key is it clear.
    let nothing_has = options
        .endpoints
        .iter()
        .all(|endpoint| missing(endpoint).is_some());
    let name = match (model, chosen) {
        (Some(_), Some(endpoint)) => missing(endpoint),
        _ if nothing_has => chosen.or(options.endpoints.first()).and_then(missing),
        _ => None,
    };
    let Some(name) = name else {
        return Ok(());
    };
    let message = format!(
        "the keys for {} are on this machine, and its .env has no entry {name}",
        plan.name
    );
    Err(Failure::new(Exit::ModelAccess, message)
        .hint(format!("store it here with `reasonix key {name}`"))
        .on(&plan.name))
}

/// Says whether the keys for a host should be here, and are; `None` where the host has its own.
pub(crate) fn keys_here(
    plan: &HostPlan,
    invocation: &Invocation,
    loaded: &Loaded,
) -> Option<Result<(), Failure>> {
    let is_broker = |host: &RemoteHost| host.agent.credentials == Credentials::Broker;
    plan.configured
        .as_ref()
        .filter(|host| is_broker(host))
        .map(|_| need_key(plan, None, invocation, loaded))
}

/// Lists where requests may go: what is configured, and what is built in where its key is here.
fn endpoints(loaded: &Loaded, keys: &EnvFile) -> Vec<Endpoint> {
    let configured = &loaded.settings.providers;
    let built_in = presets().into_iter().filter(|preset| {
        let is_configured = configured.iter().any(|provider| provider.name == preset.name);
        let name = preset.api_key_env.as_deref().unwrap_or_default();
        !is_configured && keys.get(name).is_some()
    });
    let all = configured.iter().cloned().chain(built_in);
    all.filter_map(|provider| endpoint(&provider, keys)).collect()
}

fn endpoint(provider: &Provider, keys: &EnvFile) -> Option<Endpoint> {
    let text = match (&provider.request_url, &provider.base_url) {
        (Some(exact), _) => exact.clone(),
        (None, base) => format!(
            "{}{}",
            base.as_deref().unwrap_or_default().trim_end_matches('/'),
            path(provider.kind)?
        ),
    };
    // One that is no address is said where it is used.
    let address = vendor_http::Endpoint::parse(&text).ok()?;
    let key = match &provider.api_key_env {
        None => Key::NotNeeded,
        Some(name) => match keys.get(name) {
            Some(key) if !key.is_empty() => Key::Here(key.clone()),
            _ if address.is_loopback() => Key::NotNeeded,
            _ => Key::Missing(name.clone()),
        },
    };
    let headers = provider.headers.iter();
    Some(Endpoint {
        provider: provider.name.clone(),
        url: address.as_str().to_owned(),
        key,
        headers: headers
            .map(|(name, value)| (name.clone(), Secret::new(value.as_str())))
            .collect(),
    })
}

/// Gives the path that a wire format adds to an address; `None` for one that is not spoken yet.
fn path(kind: ProviderKind) -> Option<&'static str> {
    match kind {
        ProviderKind::OpenAi => Some("/chat/completions"),
        ProviderKind::Anthropic | ProviderKind::Responses => None,
    }
}

/// Says on standard error what goes on with requests that are made here, until the link is closed.
pub(crate) async fn follow(link: AgentLink) {
    let Some(mut states) = link.broker() else { return };
    let host = link.host().unwrap_or("this machine").to_owned();
    let mut before = BrokerState::default();
    loop {
        let state = states.borrow_and_update().clone();
        for line in news(&before, &state) {
            terminal::error(&visible(&format!("{host}: {line}")));
        }
        before = state;
        if states.changed().await.is_err() {
            return;
        }
    }
}

/// What a person should know of a change.
fn news(before: &BrokerState, now: &BrokerState) -> Vec<String> {
    let mut lines = Vec::new();
    if now.is_unknown_there && !before.is_unknown_there {
        lines.push(
            "its agent is too old to use keys of this machine; `reasonix remote upgrade` puts this version there"
                .to_owned(),
        );
    }
    if now.refused > before.refused
        && let Some(refusal) = &now.refusal
    {
        lines.push(format!("not asked for it: {refusal}; {}", refusal.hint));
    }
    lines
}
