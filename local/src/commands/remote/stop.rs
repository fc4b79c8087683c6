//! `reasonix remote stop HOST`: ends the agent there. Asks when a turn is running, unless forced.

use std::time::Duration;

use link::Link;
use protocol::{SessionId, ShutdownReply, ShutdownRequest};
use transport::CaptureLimits;

use crate::{
    args::RemoteStopArgs, connect::Connected, exit::Exit, invocation::Invocation, report::Failure, terminal,
};

/// How long it may take to end.
const DEADLINE: Duration = Duration::from_secs(60);
/// The wait between two looks while the link is being dialled again.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Stops the agent of a host.
pub(crate) async fn run(invocation: &Invocation, args: RemoteStopArgs) -> Result<Exit, Failure> {
    let Some(connected) = Connected::to_running(invocation, &args.host).await? else {
        terminal::line(&format!("no agent runs on {}", args.host));
        return Ok(Exit::Success);
    };
    if connected.is_on_the_connection() {
        connected.close().await;
        terminal::line(&format!(
            "no agent stays on {}: there is nothing to stop",
            args.host
        ));
        return Ok(Exit::Success);
    }
    let outcome = stop(&connected, &args.host, args.force).await;
    connected.close().await;
    outcome?;
    terminal::line(&format!(
        "the agent on {} is stopped; its sessions stay on disk",
        args.host
    ));
    Ok(Exit::Success)
}

/// Ends the agent, and waits until it is gone. A running turn is ended only with `force`, or after a yes of the person.
pub(super) async fn stop(connected: &Connected, host: &str, force: bool) -> Result<(), Failure> {
    let agent = connected.link.agent();
    let pid = agent.hello().await?.identity.pid;
    let ask = |force| agent.shutdown(ShutdownRequest { force });
    let reply: ShutdownReply = ask(force).await?;
    if !reply.stopping {
        let running: Vec<String> = reply.running.iter().map(SessionId::to_string).collect();
        let what = format!(
            "{} turn(s) are running on {host} ({})",
            running.len(),
            running.join(", ")
        );
        let question = format!("{what}; stop them? [y/N]");
        let yes = terminal::can_ask()
            && stdx::task::blocking(move || terminal::ask(&question))
                .await
                .is_some_and(|answer| answer.starts_with(['y', 'Y']));
        if !yes {
            return Err(Failure::new(Exit::Failed, what).hint(format!(
                "wait for them, or use `reasonix remote stop {host} --force`"
            )));
        }
        ask(true).await?;
    }
    wait_until_gone(connected, pid, host).await
}

/// Waits until the daemon's process is gone: it ends its turns first. Only looks; its pid is signalled by nobody.
async fn wait_until_gone(connected: &Connected, pid: u32, host: &str) -> Result<(), Failure> {
    let mut why = "it did not end in time".to_owned();
    let looking = async {
        loop {
            match look(connected, pid).await {
                Seen::Gone => return true,
                Seen::Runs => return false,
                // The link dials anew when the agent's socket is gone, and the look is repeated then.
                Seen::Unknown(words) => why = words,
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    let seen = tokio::time::timeout(DEADLINE, looking).await;
    match seen {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::new(
            Exit::Failed,
            format!("the agent on {host} (process {pid}) still runs"),
        )
        .hint("see its log on the host")),
        Err(_elapsed) => Err(Failure::new(
            Exit::Failed,
            format!("could not see whether the agent on {host} has ended: {why}"),
        )),
    }
}

/// What a look at a process on a host showed.
enum Seen {
    Gone,
    Runs,
    Unknown(String),
}

/// Waits on the host for up to half a minute until a process is gone.
async fn look(connected: &Connected, pid: u32) -> Seen {
    // The link looked meanwhile and found nobody, which is what was asked for.
    if connected.finds_nobody() {
        return Seen::Gone;
    }
    let Some(connection) = connected.ssh().and_then(Link::connection) else {
        return Seen::Unknown("the link is down".to_owned());
    };
    let command = "exec /bin/sh -c 'IFS= read -r pid; n=0; while kill -0 \"$pid\" 2>/dev/null && [ $n -lt 300 ]; do \
                   sleep 0.1 2>/dev/null || sleep 1; n=$((n+1)); done; ! kill -0 \"$pid\" 2>/dev/null'";
    let stdin = format!("{pid}\n");
    let output = connection
        .exec_capture(command, stdin.as_bytes(), CaptureLimits::default(), DEADLINE)
        .await;
    match output {
        Ok(output) if output.status.success() => Seen::Gone,
        Ok(_) => Seen::Runs,
        Err(error) => Seen::Unknown(crate::report::chain(&error)),
    }
}
