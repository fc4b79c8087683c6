//! The forwards of a host that are configured: open while a command is connected, kept over reconnects.

use forward::Spec;
use link::Link;
use settings::schema::{ForwardKind, RemoteHost};

use crate::terminal;

/// Opens what is configured. A rule that fails is named, and the others go on.
pub(crate) async fn open(host: &RemoteHost, link: &Link) {
    for rule in &host.forwards {
        let text = spec_text(rule);
        let added = match text.parse::<Spec>() {
            Ok(spec) => link.forwards().add(spec).await.map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = added {
            terminal::error(&format!(
                "forward {text} of {}: {}",
                host.name,
                crate::report::chain(&error)
            ));
            if let Some(hint) = error.hint() {
                terminal::error(&format!("hint: {hint}"));
            }
        }
    }
}

/// Writes a configured rule as the forward crate reads it.
fn spec_text(rule: &settings::schema::Forward) -> String {
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
