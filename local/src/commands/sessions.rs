//! `reasonix sessions`: what there is to come back to.

use std::{io::IsTerminal as _, path::Path};

use protocol::{Phase, SessionInfo};
use serde_json::json;

use crate::{
    args::SessionsArgs,
    connect::Connected,
    exit::Exit,
    invocation::Invocation,
    report::{Failure, SCHEMA},
    terminal,
};

/// Lists the sessions of this machine or of a host. A host where no agent runs is left as it is.
pub(crate) async fn run(invocation: &Invocation, args: SessionsArgs) -> Result<Exit, Failure> {
    let connected = match &args.remote {
        None => Connected::open(invocation, None, Path::new("/"), Vec::new()).await?,
        Some(host) => match Connected::to_running(invocation, host).await? {
            Some(connected) => connected,
            None => return Ok(nobody(host, args.json)),
        },
    };
    let list = connected.link.agent().sessions().await;
    connected.close().await;
    let list = list?;
    if args.json {
        terminal::line(&serde_json::to_string(&list).unwrap_or_default());
        return Ok(Exit::Success);
    }
    let host = args
        .remote
        .map(|host| format!(" --remote {host}"))
        .unwrap_or_default();
    if list.sessions.is_empty() {
        terminal::line(&format!(
            "no sessions yet; `reasonix{host}` or `reasonix run{host} \"task\"` starts one"
        ));
    }
    for info in &list.sessions {
        terminal::line(&row(info));
    }
    if !list.sessions.is_empty() && std::io::stdout().is_terminal() {
        terminal::error(&format!("come back to one with: reasonix attach{host} SESSION"));
    }
    Ok(Exit::Success)
}

/// Says that no agent runs on a host. Which sessions are stored there is known to an agent only.
fn nobody(host: &str, json: bool) -> Exit {
    if json {
        terminal::line(
            &json!({"host": host, "running": false, "sessions": [], "schema": SCHEMA}).to_string(),
        );
    } else {
        terminal::line(&format!(
            "no agent runs on {host}, and only an agent knows its sessions; `reasonix --remote {host}` starts one"
        ));
    }
    Exit::Success
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
