//! The configured rules of a session.

use permission::{Mode, PathCase, Places, Policy, Rule, RuleSet};
use protocol::{ErrorBody, ErrorCode};
use settings::{Loaded, schema::Fallback};
use stdx::AbsPath;

use super::Host;

/// Reads the rules. Preset and grants are the session's own.
pub(super) fn build(loaded: &Loaded, workspace: &AbsPath, host: &Host) -> Result<Policy, ErrorBody> {
    let permissions = &loaded.settings.permissions;
    let mode = match permissions.mode {
        Fallback::Ask => Mode::Ask,
        Fallback::Allow => Mode::Allow,
        Fallback::Deny => Mode::Deny,
    };
    let rules = RuleSet {
        allow: rules(loaded, "allow", &permissions.allow)?,
        ask: rules(loaded, "ask", &permissions.ask)?,
        deny: rules(loaded, "deny", &permissions.deny)?,
    };
    let places = Places {
        workspace: workspace.to_string(),
        home: Some(host.user_home.to_string()),
        case: if cfg!(target_os = "macos") {
            PathCase::Insensitive
        } else {
            PathCase::Sensitive
        },
    };
    Ok(Policy {
        mode,
        rules,
        places,
        ..Policy::default()
    })
}

/// A rule that cannot be read is an error: leaving it out could permit what it was written to forbid.
fn rules(loaded: &Loaded, list: &str, texts: &[String]) -> Result<Vec<Rule>, ErrorBody> {
    let parse = |(index, text): (usize, &String)| {
        Rule::parse(text).map_err(|error| {
            let key = format!("permissions.{list}[{index}]");
            let message = format!("{}: {key}: {error}", loaded.origin(&key));
            ErrorBody::new(ErrorCode::Configuration, message).hint(error.hint())
        })
    };
    texts.iter().enumerate().map(parse).collect()
}
