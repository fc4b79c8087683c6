//! `reasonix remote add`: writes a host into the user's configuration, keeping the rest of the file. What is missing is
//! asked for on a terminal (`guide.rs`).

use settings::NewHost;
use transport::Target;

use super::guide;
use crate::{
    args::{InstallHow, RemoteAddArgs},
    exit::Exit,
    invocation::Invocation,
    report::Failure,
    terminal,
};

/// Adds a host.
pub(crate) fn run(invocation: &Invocation, args: RemoteAddArgs) -> Result<Exit, Failure> {
    match (&args.name, &args.target) {
        (Some(name), Some(target)) => {
            let host = new_host(name, &parse(target)?, &args);
            write(invocation, &host)
        }
        _ if terminal::can_ask() => crate::commands::in_runtime(guide::run(invocation, args)),
        _ => Err(Failure::new(
            Exit::Usage,
            "a name and an address are needed, and nobody can be asked here",
        )
        .hint("write `reasonix remote add NAME user@host`")),
    }
}

/// Reads an address.
pub(super) fn parse(target: &str) -> Result<Target, Failure> {
    target.parse().map_err(|error: transport::Error| {
        Failure::new(Exit::Usage, error.to_string()).maybe_hint(error.hint().map(str::to_owned))
    })
}

/// Gives what is written down.
pub(super) fn new_host(name: &str, target: &Target, args: &RemoteAddArgs) -> NewHost {
    NewHost {
        name: name.to_owned(),
        host: Some(target.host.clone()),
        port: target.port,
        user: target.user.clone(),
        identity_file: args.identity_file.clone(),
        proxy_jump: args.proxy_jump.clone(),
        workspace: args.workspace.clone(),
        install: args.install.map(|how| install(how).to_owned()),
    }
}

/// Writes a host down and says what to do with it.
pub(super) fn write(invocation: &Invocation, host: &NewHost) -> Result<Exit, Failure> {
    let file = invocation.home.join("config.toml");
    invocation.make_home()?;
    settings::add_host(&file, host)?;
    terminal::line(&format!("added {} to {}", host.name, file.display()));
    terminal::line(&format!(
        "the host has its own configuration: copy the [[providers]] block and default_model into \
         ~/.reasonix/config.toml there (the built-in DeepSeek needs none), and store the key with \
         `reasonix remote key {} NAME`",
        host.name
    ));
    terminal::line(&format!(
        "try it: reasonix run --remote {} \"say hello\"",
        host.name
    ));
    Ok(Exit::Success)
}

/// Gives the configuration's word.
fn install(how: InstallHow) -> &'static str {
    match how {
        InstallHow::Auto => "auto",
        InstallHow::Upload => "upload",
        InstallHow::Never => "never",
    }
}
