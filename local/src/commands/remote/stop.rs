//! `reasonix remote stop HOST`: ends the agent there. Asks when a turn is running, unless forced.

use std::time::Duration;

use link::Link;
use protocol::{SessionId, ShutdownReply, ShutdownRequest};
use transport::CaptureLimits;

use super::look;
use crate::{
    args::RemoteStopArgs,
    ask,
    connect::{Connected, Running},
    dial::{self, Dialed},
    exit::Exit,
    host::{HostPlan, HostRef},
    invocation::Invocation,
    report::Failure,
    terminal,
};

/// How long it may take to end.
const DEADLINE: Duration = Duration::from_secs(60);
/// A wire that is lost after so long was silent before: its agent hangs.
const HANGS: Duration = Duration::from_secs(8);
/// The wait between two looks while the link is being dialled again.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Stops the agent of a host.
pub(crate) async fn run(invocation: &Invocation, args: RemoteStopArgs) -> Result<Exit, Failure> {
    let host = &args.host;
    terminal::line(&match end(invocation, host, args.force).await? {
        Ended::NoneRan => format!("no agent runs on {host}"),
        Ended::OnTheConnection => format!("no agent stays on {host}: there is nothing to stop"),
        Ended::Stopped => format!("the agent on {host} is stopped; its sessions stay on disk"),
    });
    Ok(Exit::Success)
}

/// How there came to be no agent.
pub(super) enum Ended {
    /// None ran.
    NoneRan,
    /// It lived on the connection.
    OnTheConnection,
    /// It was ended, by us or by somebody else at the same time.
    Stopped,
}

/// Ends the agent of a host, and waits until it is gone. A running turn is ended only with `force`, or after a yes of the
/// person.
pub(super) async fn end(invocation: &Invocation, host: &str, force: bool) -> Result<Ended, Failure> {
    let start = stdx::clock::monotonic();
    let mut ran = false;
    loop {
        let looked = stdx::clock::monotonic();
        let lost = match Connected::look_for_running(invocation, host).await? {
            Running::Nobody if ran => return Ok(Ended::Stopped),
            Running::Nobody => return Ok(Ended::NoneRan),
            Running::Silent(failure) => return gone_or_hung(invocation, host, failure).await,
            // The client of the wire gives up on silence before the link does.
            Running::Lost(failure) if looked.elapsed() > HANGS => {
                return gone_or_hung(invocation, host, failure).await;
            }
            Running::Lost(failure) => failure,
            Running::Reached(connected) if connected.is_on_the_connection() => {
                connected.close().await;
                return Ok(Ended::OnTheConnection);
            }
            Running::Reached(connected) => {
                let outcome = stop(&connected, host, force).await;
                connected.close().await;
                match outcome {
                    Ok(()) => return Ok(Ended::Stopped),
                    Err(Unstopped::Lost(failure)) => failure,
                    Err(Unstopped::Failed(failure)) => return Err(failure),
                }
            }
        };
        // Somebody else may be ending it: whether it is gone shows the next look.
        ran = true;
        if start.elapsed() > DEADLINE {
            return gone_or_hung(invocation, host, lost).await;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Sees whether an agent that did not answer is gone meanwhile; else names its process, and what ends it.
async fn gone_or_hung(invocation: &Invocation, host: &str, failure: Failure) -> Result<Ended, Failure> {
    match pid_of_running(invocation, host).await {
        Ok(None) => Ok(Ended::Stopped),
        Ok(Some(pid)) => {
            let message = format!("the agent on {host} (process {pid}) does not answer");
            Err(Failure { message, ..failure }.hint(look::end_it(host, pid)))
        }
        Err(_) => Err(failure),
    }
}

async fn pid_of_running(invocation: &Invocation, host: &str) -> Result<Option<u32>, Failure> {
    let loaded = invocation.settings(None, &[])?;
    let plan = HostPlan::new(&HostRef::parse(host)?, &loaded)?;
    let resolved = dial::resolve(invocation, &plan).await?;
    let dialed = Dialed::open(invocation, &loaded, &resolved, &ask::prompter()).await?;
    let probe = dialed.probe(None).await;
    dialed.close().await;
    Ok(look::agent(&probe?).map(|hello| hello.identity.pid))
}

/// Why an agent was not stopped.
enum Unstopped {
    /// The wire ended under the request.
    Lost(Failure),
    Failed(Failure),
}

impl From<client::Error> for Unstopped {
    fn from(error: client::Error) -> Self {
        match error {
            client::Error::Agent(_) => Self::Failed(error.into()),
            lost => Self::Lost(lost.into()),
        }
    }
}

/// Waits for an answer as long as there is somebody to give it.
async fn answered<T>(
    connected: &Connected,
    request: impl Future<Output = Result<T, client::Error>>,
) -> Result<T, Unstopped> {
    let nobody = async {
        while !connected.finds_nobody() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    tokio::select! {
        biased;
        answer = request => Ok(answer?),
        () = nobody => Err(Unstopped::Lost(Failure::new(Exit::Unreachable, "it went away"))),
    }
}

async fn stop(connected: &Connected, host: &str, force: bool) -> Result<(), Unstopped> {
    let agent = connected.link.agent();
    let pid = answered(connected, agent.hello()).await?.identity.pid;
    let ask = |force| answered(connected, agent.shutdown(ShutdownRequest { force }));
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
            let failure = Failure::new(Exit::Failed, what).hint(format!(
                "wait for them, or use `reasonix remote stop {host} --force`"
            ));
            return Err(Unstopped::Failed(failure));
        }
        ask(true).await?;
    }
    wait_until_gone(connected, pid, host)
        .await
        .map_err(Unstopped::Failed)
}

/// Waits until the daemon's process is gone: it ends its turns first. Only looks; its pid is signalled by nobody.
async fn wait_until_gone(connected: &Connected, pid: u32, host: &str) -> Result<(), Failure> {
    let mut why = "it did not end in time".to_owned();
    let looking = async {
        loop {
            match is_gone(connected, pid).await {
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
        .hint(look::end_it(host, pid))),
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
async fn is_gone(connected: &Connected, pid: u32) -> Seen {
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
