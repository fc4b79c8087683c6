//! `reasonix remote list`: the configured hosts.

use serde_json::json;

use crate::{args::RemoteListArgs, exit::Exit, invocation::Invocation, report::Failure, terminal};

/// Lists hosts.
pub(crate) fn run(invocation: &Invocation, args: &RemoteListArgs) -> Result<Exit, Failure> {
    let loaded = invocation.settings(None, &[])?;
    let hosts = &loaded.settings.remote.hosts;
    if args.json {
        let list: Vec<_> = hosts
            .iter()
            .map(|host| json!({"name": host.name, "host": host.host, "port": host.port, "user": host.user, "workspace": host.workspace}))
            .collect();
        terminal::line(&json!({"hosts": list}).to_string());
        return Ok(Exit::Success);
    }
    if hosts.is_empty() {
        terminal::line(
            "no hosts yet; `reasonix remote add NAME user@host` adds one, and any ssh_config alias works without",
        );
    }
    for host in hosts {
        let user = host
            .user
            .as_ref()
            .map(|user| format!("{user}@"))
            .unwrap_or_default();
        let port = host.port.map(|port| format!(":{port}")).unwrap_or_default();
        let address = host.host.as_deref().unwrap_or(&host.name);
        terminal::line(&format!(
            "{}  {user}{address}{port}  {}",
            host.name,
            host.workspace.as_deref().unwrap_or("-")
        ));
    }
    Ok(Exit::Success)
}
