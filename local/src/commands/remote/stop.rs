//! `reasonix remote stop HOST`: ends the agent there. Asks when a turn is running, unless forced.

use std::time::Duration;

use protocol::{SessionId, ShutdownReply, ShutdownRequest};
use transport::CaptureLimits;

use crate::{
    args::RemoteStopArgs, connect::Connected, exit::Exit, invocation::Invocation, report::Failure, terminal,
};

/// How long it may take to end.
const DEADLINE: Duration = Duration::from_secs(60);

/// Stops the agent of a host.
pub(crate) async fn run(invocation: &Invocation, args: RemoteStopArgs) -> Result<Exit, Failure> {
    let Some(connected) = Connected::to_running(invocation, &args.host).await? else {
        terminal::line(&format!("no agent runs on {}", args.host));
        return Ok(Exit::Success);
    };
    let outcome = stop(&connected, &args).await;
    connected.close().await;
    outcome
}

async fn stop(connected: &Connected, args: &RemoteStopArgs) -> Result<Exit, Failure> {
    let agent = connected.link.agent();
    let pid = agent.hello().await?.identity.pid;
    let ask = |force| agent.shutdown(ShutdownRequest { force });
    let reply: ShutdownReply = ask(args.force).await?;
    if !reply.stopping {
        let running: Vec<String> = reply.running.iter().map(SessionId::to_string).collect();
        let what = format!(
            "{} turn(s) are running on {} ({})",
            running.len(),
            args.host,
            running.join(", ")
        );
        let question = format!("{what}; stop them? [y/N]");
        let yes = terminal::can_ask()
            && stdx::task::blocking(move || terminal::ask(&question))
                .await
                .is_some_and(|answer| answer.starts_with(['y', 'Y']));
        if !yes {
            return Err(Failure::new(Exit::Failed, what).hint("wait for them, or use --force"));
        }
        ask(true).await?;
    }
    wait_until_gone(connected, pid, &args.host).await?;
    terminal::line(&format!(
        "the agent on {} is stopped; its sessions stay on disk",
        args.host
    ));
    Ok(Exit::Success)
}

/// Waits until the daemon's process is gone: it ends its turns first. Only looks; its pid is signalled by nobody.
async fn wait_until_gone(connected: &Connected, pid: u32, host: &str) -> Result<(), Failure> {
    let failed = |why: String| {
        Failure::new(
            Exit::Failed,
            format!("could not see whether the agent on {host} has ended: {why}"),
        )
    };
    let link = connected
        .ssh()
        .ok_or_else(|| failed("it is no host".to_owned()))?;
    let Some(connection) = link.connection() else {
        return if connected.finds_nobody() {
            Ok(())
        } else {
            Err(failed("the link is down".to_owned()))
        };
    };
    let command = "exec /bin/sh -c 'IFS= read -r pid; n=0; while kill -0 \"$pid\" 2>/dev/null && [ $n -lt 300 ]; do \
                   sleep 0.1 2>/dev/null || sleep 1; n=$((n+1)); done; ! kill -0 \"$pid\" 2>/dev/null'";
    let output = connection
        .exec_capture(
            command,
            format!("{pid}\n").as_bytes(),
            CaptureLimits::default(),
            DEADLINE,
        )
        .await;
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(_) => Err(failed(format!("process {pid} still runs")).hint("see its log on the host")),
        // The link looked meanwhile and found nobody, which is what was asked for.
        Err(_) if connected.finds_nobody() => Ok(()),
        Err(error) => Err(failed(crate::report::chain(&error))),
    }
}
