//! Values that are fine one by one and make no sense together.

use crate::{
    error::Problem,
    node::{Node, Origin},
    schema::{ForwardKind, Provider, RemoteHost, Settings},
};

/// Finds what does not fit together. `merged` tells where the values stand.
pub(crate) fn problems(settings: &Settings, merged: &Node) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut report = |key: String, message: String, hint: &str| {
        let origin = merged
            .find(&key)
            .map_or(Origin::Default, |node| node.origin.clone());
        found.push(Problem {
            origin,
            key,
            message,
            hint: Some(hint.to_owned()),
        });
    };
    for (index, provider) in settings.providers.iter().enumerate() {
        check_provider(provider, &format!("providers[{index}]"), &mut report);
    }
    for (index, host) in settings.remote.hosts.iter().enumerate() {
        check_host(host, &format!("remote.hosts[{index}]"), &mut report);
    }
    found
}

fn check_provider(provider: &Provider, path: &str, report: &mut impl FnMut(String, String, &str)) {
    if provider.name.contains('/') {
        let message = "a provider's name cannot contain `/`, which separates it from a model".to_owned();
        report(format!("{path}.name"), message, "choose another name");
    }
    if provider.model_names().next().is_none() {
        report(
            path.to_owned(),
            "the provider has no model".to_owned(),
            "add `model` or `models`",
        );
    }
    if let Some(default) = &provider.default
        && !provider.model_names().any(|model| model == default)
    {
        let message = format!("\"{default}\" is not one of the provider's models");
        report(format!("{path}.default"), message, "name one of `models`");
    }
}

fn check_host(host: &RemoteHost, path: &str, report: &mut impl FnMut(String, String, &str)) {
    if host.agent.dead_after <= host.agent.keepalive {
        let message = "`dead_after` must be longer than `keepalive`".to_owned();
        let key = format!("{path}.dead_after");
        report(key, message, "a connection needs the chance to answer once");
    }
    for (index, forward) in host.forwards.iter().enumerate() {
        let dynamic = forward.r#type == ForwardKind::Dynamic;
        if dynamic != forward.target.is_none() {
            let message = if dynamic {
                "a dynamic forward has no target"
            } else {
                "the forward has no target"
            };
            let hint = if dynamic {
                "remove `target`"
            } else {
                "add `target`"
            };
            report(format!("{path}.forwards[{index}]"), message.to_owned(), hint);
        }
    }
}
