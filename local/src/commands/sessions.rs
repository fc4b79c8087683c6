//! `reasonix sessions`: what there is to come back to.

use std::{io::IsTerminal as _, path::Path};

use protocol::{Phase, SessionInfo};

use crate::{
    args::SessionsArgs, connect::Connected, exit::Exit, invocation::Invocation, report::Failure, terminal,
};

/// Lists the sessions of this machine or of a host.
pub(crate) async fn run(invocation: &Invocation, args: SessionsArgs) -> Result<Exit, Failure> {
    let connected = Connected::open(invocation, args.remote.as_deref(), Path::new("/"), Vec::new()).await?;
    let list = connected.link.agent().sessions().await;
    connected.close().await;
    let list = list?;
    if args.json {
        terminal::line(&serde_json::to_string(&list).unwrap_or_default());
        return Ok(Exit::Success);
    }
    if list.sessions.is_empty() {
        terminal::line("no sessions yet; `reasonix` or `reasonix run \"task\"` starts one");
    }
    for info in &list.sessions {
        terminal::line(&row(info));
    }
    if !list.sessions.is_empty() && std::io::stdout().is_terminal() {
        let host = args
            .remote
            .map(|host| format!("--remote {host} "))
            .unwrap_or_default();
        terminal::error(&format!("come back to one with: reasonix attach {host}SESSION"));
    }
    Ok(Exit::Success)
}

fn row(info: &SessionInfo) -> String {
    let doing = match info.phase {
        Some(Phase::Running { .. }) => "running",
        Some(Phase::Waiting { .. }) => "waiting",
        Some(Phase::Cancelling { .. }) => "stopping",
        Some(Phase::Idle) => "idle",
        Some(Phase::Closed) => "closed",
        Some(Phase::Unknown) => "unknown",
        None => "stored",
    };
    let changed = stdx::clock::rfc3339(info.changed_at);
    let title = crate::ask::visible(&info.title);
    format!(
        "{}  {doing:8}  {changed}  {}  {title}",
        info.session,
        crate::ask::visible(&info.workspace)
    )
}
