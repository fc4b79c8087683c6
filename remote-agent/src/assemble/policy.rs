//! The configured rules of a session.

use permission::{Mode, PathCase, Places, Policy, Rule, RuleSet};
use protocol::{ErrorBody, ErrorCode};
use settings::{Settings, schema::Fallback};
use stdx::AbsPath;

use super::Host;

/// Reads the rules. Preset and grants are the session's own.
pub(super) fn build(settings: &Settings, workspace: &AbsPath, host: &Host) -> Result<Policy, ErrorBody> {
    let permissions = &settings.permissions;
    let mode = match permissions.mode {
        Fallback::Ask => Mode::Ask,
        Fallback::Allow => Mode::Allow,
        Fallback::Deny => Mode::Deny,
    };
    let rules = RuleSet {
        allow: rules(&permissions.allow)?,
        ask: rules(&permissions.ask)?,
        deny: rules(&permissions.deny)?,
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
fn rules(texts: &[String]) -> Result<Vec<Rule>, ErrorBody> {
    let parse = |text: &String| {
        Rule::parse(text)
            .map_err(|error| ErrorBody::new(ErrorCode::Configuration, error.to_string()).hint(error.hint()))
    };
    texts.iter().map(parse).collect()
}
