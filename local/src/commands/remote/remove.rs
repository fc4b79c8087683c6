//! `reasonix remote remove`: takes a host out of the configuration.

use crate::{args::RemoteHostArg, exit::Exit, invocation::Invocation, report::Failure, terminal};

/// Removes a host; nothing on the host changes.
pub(crate) fn run(invocation: &Invocation, args: &RemoteHostArg) -> Result<Exit, Failure> {
    let file = invocation.home.join("config.toml");
    if !settings::remove_host(&file, &args.name)? {
        return Err(Failure::new(
            Exit::Usage,
            format!("there is no host named {:?} in {}", args.name, file.display()),
        )
        .hint("`reasonix remote list` shows them"));
    }
    terminal::line(&format!(
        "removed {}; what is on the host stays (`reasonix remote stop` first stops the agent there)",
        args.name
    ));
    Ok(Exit::Success)
}
