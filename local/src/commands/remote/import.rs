//! `reasonix remote import`: takes hosts over from the user's OpenSSH configuration. Only the name is written down; what
//! it means goes on coming from there.

use settings::NewHost;
use transport::{ResolveOptions, resolve::configured_aliases, ssh_config::Alias};

use crate::{
    args::RemoteImportArgs, ask::visible, exit::Exit, invocation::Invocation, report::Failure, terminal,
};

/// Takes over the named hosts, or all, or only says which there are.
pub(crate) async fn run(invocation: &Invocation, args: RemoteImportArgs) -> Result<Exit, Failure> {
    let loaded = invocation.settings(None, &[])?;
    let found = configured_aliases(&options(invocation)).await?;
    if found.is_empty() {
        terminal::line("the OpenSSH configuration names no host: only patterns, or there is none");
        return Ok(Exit::Success);
    }
    let unknown: Vec<&str> = args
        .aliases
        .iter()
        .filter(|wanted| !found.iter().any(|alias| alias.name == **wanted))
        .map(String::as_str)
        .collect();
    if !unknown.is_empty() {
        let message = format!("the OpenSSH configuration names no host {}", unknown.join(", "));
        return Err(
            Failure::new(Exit::Usage, message).hint("`reasonix remote import` lists the hosts that it names")
        );
    }
    let hosts = &loaded.settings.remote.hosts;
    let is_known = |alias: &Alias| {
        hosts
            .iter()
            .any(|host| host.name == alias.name || host.host.as_deref() == Some(&alias.name))
    };
    let is_wanted = |alias: &Alias| args.all || args.aliases.contains(&alias.name);
    let shows_only = !args.all && args.aliases.is_empty();
    let file = invocation.home.join("config.toml");
    let mut added = 0;
    for alias in found.iter().filter(|alias| shows_only || is_wanted(alias)) {
        let place = format!("{}:{}", alias.file.display(), alias.line);
        let said = if is_known(alias) {
            "is configured already".to_owned()
        } else if let Some(why) = unusable(&alias.name) {
            format!("cannot be taken over: {why}")
        } else if shows_only {
            added += 1;
            "can be taken over".to_owned()
        } else {
            invocation.make_home()?;
            let host = NewHost {
                name: alias.name.clone(),
                ..NewHost::default()
            };
            settings::add_host(&file, &host)?;
            added += 1;
            format!("added to {}", file.display())
        };
        terminal::line(&visible(&format!("{}  {said} ({place})", alias.name)));
    }
    match (shows_only, added) {
        (true, 0) => {}
        (true, _) => {
            terminal::line("nothing was changed; `reasonix remote import NAME…` adds some, --all adds all");
        }
        (false, 0) => terminal::line("nothing was added"),
        (false, _) => {
            terminal::line(&super::add::no_workspace("NAME"));
            terminal::line("try one: reasonix remote doctor NAME");
        }
    }
    Ok(Exit::Success)
}

/// Says why a name is none for a host of ours.
fn unusable(name: &str) -> Option<&'static str> {
    let odd = |c: char| c.is_whitespace() || c.is_control() || "/:@[]".contains(c);
    name.contains(odd)
        .then_some("a name must be one word without / : @ [ ]")
}

/// Gives where the configuration is.
fn options(invocation: &Invocation) -> ResolveOptions {
    ResolveOptions {
        shown_as: None,
        home: invocation.user_home.to_path_buf(),
        local_user: invocation.local_user(),
        ssh_program: None,
        config_file: invocation.ssh_config(),
        agent_socket: None,
        environment: invocation.plain_environment(),
        overrides: Vec::new(),
    }
}
