//! `reasonix remote add`: writes a host into the user's configuration, keeping the rest of the file.

use settings::NewHost;
use transport::Target;

use crate::{
    args::{InstallHow, RemoteAddArgs},
    exit::Exit,
    invocation::Invocation,
    report::Failure,
    terminal,
};

/// Adds a host.
pub(crate) fn run(invocation: &Invocation, args: RemoteAddArgs) -> Result<Exit, Failure> {
    let target: Target = args.target.parse().map_err(|error: transport::Error| {
        Failure::new(Exit::Usage, error.to_string()).maybe_hint(error.hint().map(str::to_owned))
    })?;
    let host = NewHost {
        name: args.name.clone(),
        host: Some(target.host),
        port: target.port,
        user: target.user,
        identity_file: args.identity_file,
        proxy_jump: args.proxy_jump,
        workspace: args.workspace,
        install: args.install.map(|how| install(how).to_owned()),
    };
    let file = invocation.home.join("config.toml");
    invocation.make_home()?;
    settings::add_host(&file, &host)?;
    terminal::line(&format!("added {} to {}", args.name, file.display()));
    terminal::line(&format!(
        "try it: reasonix run --remote {} \"say hello\"",
        args.name
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
