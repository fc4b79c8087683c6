//! `reasonix serve`: the agent's side. In the foreground, detached, or over standard input and output.

use std::path::PathBuf;

use remote_agent::{
    Agent, AgentOptions, OpenError, attached, daemon,
    detach::{self, Accept, Under},
    run_dir::RunDir,
};

use crate::{
    args::{AcceptedDaemon, DaemonArgs, DaemonPlace, ServeArgs},
    exit::Exit,
    headless::Signals,
    invocation::Invocation,
    logging,
    report::{self, Failure},
    terminal,
};

/// Runs one of the three ways.
pub(crate) async fn run(invocation: &Invocation, args: ServeArgs) -> Result<Exit, Failure> {
    match (args.detach, args.stdio) {
        (true, _) => start_daemon(invocation, args).await,
        (false, true) => over_stdio(invocation, args.fence).await,
        (false, false) => serve(invocation, &invocation.run_dir(), Exit::Failed).await,
    }
}

/// Becomes the daemon: leaves the terminal, logs to a file, serves.
pub(crate) fn daemon(invocation: &Invocation, args: &DaemonArgs) -> Result<Exit, Failure> {
    leave_the_terminal()?;
    let log = invocation.daemon_log();
    logging::to_file(&log, invocation.verbose, invocation.variable("REASONIX_LOG"))
        .map_err(|error| Failure::new(Exit::Failed, format!("could not open {}: {error}", log.display())))?;
    let run_dir = invocation.run_dir().place(args.place);
    super::in_runtime(serve(invocation, &run_dir, Exit::InPlace))
}

/// Makes this process the leader of its own session, so that the end of the starter's terminal does not reach it.
fn leave_the_terminal() -> Result<(), Failure> {
    rustix::process::setsid()
        .map(drop)
        .map_err(|error| Failure::new(Exit::Failed, format!("could not leave the terminal: {error}")))
}

/// Serves until told to stop. `occupied` says that another daemon of this home is in place.
async fn serve(invocation: &Invocation, run_dir: &RunDir, occupied: Exit) -> Result<Exit, Failure> {
    let mut signals = Signals::new()?;
    let options = invocation.agent_options(login_shell(invocation), Vec::new());
    let stop = async move {
        signals.next().await;
    };
    match daemon::serve(options, run_dir, stop).await {
        Ok(()) => Ok(Exit::Success),
        Err(daemon::DaemonError::Open(error)) => Err(open_failure(error)),
        Err(error @ daemon::DaemonError::Running(_)) => Err(Failure::new(occupied, report::chain(&error))),
        Err(error) => Err(Failure::new(Exit::Failed, report::chain(&error))),
    }
}

/// Starts a daemon, waits until it answers, and prints who it is on one line.
async fn start_daemon(invocation: &Invocation, args: ServeArgs) -> Result<Exit, Failure> {
    // A broken configuration is said here, where somebody reads it, and not only in the daemon's log.
    invocation.settings(None, &[])?;
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(
            Exit::Bootstrap,
            format!("could not find this program's own file: {error}"),
        )
    })?;
    let wanted = detach::Start {
        program: &program,
        run_dir: &invocation.run_dir(),
        log: &invocation.daemon_log(),
        accept: match args.accept {
            AcceptedDaemon::Compatible => Accept::Compatible,
            AcceptedDaemon::Own => Accept::OwnProgram,
        },
        under: match args.under {
            DaemonPlace::Itself => Under::Itself,
            DaemonPlace::Manager => Under::UserManager,
        },
    };
    let hello = detach::start(&wanted)
        .await
        .map_err(|error| Failure::new(Exit::Bootstrap, report::chain(&error)))?;
    let identity = serde_json::to_string(&hello).unwrap_or_default();
    match args.fence {
        Some(fence) => terminal::line(&format!("\n{fence} {identity} {fence}")),
        None => terminal::line(&identity),
    }
    Ok(Exit::Success)
}

/// Serves one connection and ends with it: nothing stays behind.
async fn over_stdio(invocation: &Invocation, fence: Option<String>) -> Result<Exit, Failure> {
    let mut signals = Signals::new()?;
    let options = AgentOptions {
        lease_patience: attached::LEASE_PATIENCE,
        ..invocation.agent_options(login_shell(invocation), Vec::new())
    };
    let agent = Agent::open(options).await.map_err(open_failure)?;
    let stop = async move {
        signals.next().await;
    };
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    attached::serve(&agent, fence.as_deref(), input, output, stop).await;
    Ok(Exit::Success)
}

fn open_failure(error: OpenError) -> Failure {
    match error {
        OpenError::Settings(error) => Failure::from(error),
        other => Failure::new(Exit::Failed, report::chain(&other)),
    }
}

fn login_shell(invocation: &Invocation) -> Option<PathBuf> {
    invocation
        .variable("SHELL")
        .filter(|shell| shell.starts_with('/'))
        .map(PathBuf::from)
}
