//! `reasonix remote add`: writes a host into the user's configuration, keeping the rest of the file. What is missing is
//! asked for on a terminal (`guide.rs`).

use std::path::{Path, PathBuf};

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
    if let Some(file) = &args.identity_file {
        check_key_file(invocation, file)?;
    }
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

/// Says at once that a key file is not there. Names with tokens of ssh_config are left to the login.
pub(super) fn check_key_file(invocation: &Invocation, file: &str) -> Result<(), Failure> {
    if file.contains(['%', '$']) || file.eq_ignore_ascii_case("none") {
        return Ok(());
    }
    let path = match file.strip_prefix("~/") {
        Some(rest) => invocation.user_home.join(rest),
        None => PathBuf::from(file),
    };
    // Of a key that an agent holds, the public half is enough.
    let mut public = path.clone().into_os_string();
    public.push(".pub");
    let why = match (path.is_file(), path.exists()) {
        (true, _) => return Ok(()),
        (false, true) => "is no file",
        (false, false) if Path::new(&public).is_file() => return Ok(()),
        (false, false) => "does not exist",
    };
    let message = format!("the key file {file} {why}");
    Err(Failure::new(Exit::Usage, message).hint("name a private key file, such as ~/.ssh/id_ed25519"))
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
    let folder = if host.workspace.is_none() {
        terminal::line(&no_workspace(&host.name));
        ":~/project"
    } else {
        ""
    };
    terminal::line(&format!(
        "try it: reasonix run --remote {}{folder} \"say hello\"",
        host.name
    ));
    Ok(Exit::Success)
}

/// Says that a host has no workspace yet, and how it gets one.
pub(super) fn no_workspace(host: &str) -> String {
    format!(
        "no workspace is set: name it each time, as in `--remote {host}:~/project`, or set `workspace` in the host's \
         [[remote.hosts]] block"
    )
}

/// Gives the configuration's word.
fn install(how: InstallHow) -> &'static str {
    match how {
        InstallHow::Auto => "auto",
        InstallHow::Upload => "upload",
        InstallHow::Never => "never",
    }
}
