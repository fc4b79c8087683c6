//! `reasonix config`: what the settings are, and where they come from.

use crate::{args::ConfigCommand, exit::Exit, invocation::Invocation, report::Failure, terminal};

/// Explains a key, or checks everything.
pub(crate) fn run(invocation: &Invocation, command: &ConfigCommand) -> Result<Exit, Failure> {
    let here = std::env::current_dir().ok();
    let loaded = invocation.settings(here.as_deref(), &[])?;
    match command {
        ConfigCommand::Check => {
            terminal::line(&format!(
                "the configuration is usable ({} warning(s))",
                loaded.warnings.len()
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
