//! Port forwards of a host: open while a command is connected, kept over reconnects.

use std::sync::Arc;

use forward::Spec;
use link::{Link, Prompter};
use settings::schema::{ForwardKind, RemoteHost};

use crate::{
    exit::Exit,
    report::{self, Failure},
};

/// Opens what is configured for a host. A rule that fails is named, and the others go on.
pub(crate) async fn configured(host: &RemoteHost, link: &Link, prompter: &Arc<dyn Prompter>) {
    for rule in &host.forwards {
        if let Err(failure) = add(&spec_text(rule), link).await {
            prompter.notice(&format!("{}: {}", host.name, failure.message));
            if let Some(hint) = failure.hint {
                prompter.notice(&format!("hint: {hint}"));
            }
        }
    }
}

/// Opens what was asked for on the command line. The first rule that fails ends the command.
pub(crate) async fn asked_for(rules: &[String], link: &Link) -> Result<(), Failure> {
    for rule in rules {
        add(rule, link).await?;
    }
    Ok(())
}

async fn add(text: &str, link: &Link) -> Result<(), Failure> {
    let failed = |error: forward::Error| {
        Failure::new(Exit::Usage, report::chain(&error)).maybe_hint(error.hint())
    };
    let spec: Spec = text.parse().map_err(failed)?;
    if spec.is_public() {
        let message = format!("forward rule {spec}: it would be open to the whole network");
        return Err(Failure::new(Exit::Usage, message).hint("listen on 127.0.0.1, [::1] or a socket path"));
    }
    link.forwards().add(spec).await.map(drop).map_err(failed)
}

/// Writes a configured rule as the forward crate reads it.
pub(crate) fn spec_text(rule: &settings::schema::Forward) -> String {
    let kind = match rule.r#type {
        ForwardKind::Local => "L",
        ForwardKind::Remote => "R",
        ForwardKind::Dynamic => "D",
    };
    match &rule.target {
        // A port alone is one of the host itself.
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{kind}:{}:127.0.0.1:{port}", rule.bind)
        }
        Some(target) => format!("{kind}:{}:{target}", rule.bind),
        None => format!("{kind}:{}", rule.bind),
    }
}
