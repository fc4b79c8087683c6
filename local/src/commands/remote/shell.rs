//! `reasonix remote shell`: a terminal on a host, or a command there.

use link::AgentTerminal;
use protocol::TerminalOpen;
use transport::{ErrorKind, Size, TerminalRequest};

use crate::{
    args::RemoteShellArgs,
    ask,
    connect::{Connected, Running},
    dial::{self, Dialed},
    exit::Exit,
    headless::Signals,
    host::{HostPlan, HostRef},
    invocation::Invocation,
    report::{self, Failure},
    shell::{
        far::Far,
        line,
        modes::Raw,
        relay::{self, Ended},
    },
    terminal,
};

/// What is asked for.
struct Wanted {
    /// What a person calls the host.
    host: String,
    /// What the login shell is to run.
    command: Option<String>,
    is_terminal: bool,
    term: String,
    environment: Vec<(String, String)>,
}

/// The way to the host, kept while the shell runs.
enum Way {
    Ssh(Dialed),
    Agent(Box<Connected>),
}

/// Runs the command.
pub(crate) async fn run(invocation: &Invocation, args: RemoteShellArgs) -> Result<Exit, Failure> {
    let mut signals = Signals::new()?;
    let loaded = invocation.settings(None, &[])?;
    let typed = HostRef::parse(&args.host)?;
    let plan = HostPlan::new(&typed, &loaded)?;
    let words = (!args.command.is_empty()).then(|| args.command.join(" "));
    let variables = ["LANG", "COLORTERM"].into_iter();
    let wanted = Wanted {
        host: typed.host,
        command: line::asked(plan.workspace.as_deref(), words.as_deref()),
        is_terminal: terminal::is_interactive(),
        term: invocation.variable("TERM").unwrap_or("dumb").to_owned(),
        environment: variables
            .filter_map(|name| Some((name.to_owned(), invocation.variable(name)?.to_owned())))
            .collect(),
    };
    let opening = async {
        let resolved = dial::resolve(invocation, &plan).await?;
        let dialed = Dialed::open(invocation, &loaded, &resolved, &ask::prompter()).await?;
        open(invocation, dialed, &wanted).await
    };
    let (way, far) = tokio::select! {
        biased;
        _signal = signals.next() => return Ok(Exit::Interrupted),
        opened = opening => opened?,
    };
    let ended = relayed(far, wanted.is_terminal).await;
    if matches!(&ended, Ok(Ended::HungUp | Ended::Signalled)) {
        // Nobody waits for a farewell of a host that may be gone.
        return Ok(Exit::Interrupted);
    }
    match way {
        Way::Ssh(dialed) => dialed.close().await,
        Way::Agent(connected) => connected.close().await,
    }
    ended.and_then(|ended| outcome(ended, &wanted))
}

/// Opens the shell: in a session of SSH, else through the agent.
async fn open(invocation: &Invocation, dialed: Dialed, wanted: &Wanted) -> Result<(Way, Far), Failure> {
    let opened = if wanted.is_terminal {
        let (columns, rows) = terminal::size();
        let request = TerminalRequest {
            term: wanted.term.clone(),
            size: Size { columns, rows },
            environment: wanted.environment.clone(),
            command: wanted.command.clone(),
        };
        dialed.connection.terminal(&request).await.map(Far::from)
    } else {
        // Without a command the shell reads its commands from standard input.
        let command = wanted
            .command
            .as_deref()
            .unwrap_or("exec /bin/sh -c 'exec \"${SHELL:-/bin/sh}\"'");
        dialed.connection.exec(command).await.map(Far::from)
    };
    let refused = match opened {
        Ok(far) => return Ok((Way::Ssh(dialed), far)),
        Err(error) => error,
    };
    dialed.close().await;
    // Only a terminal goes through the agent: on one, bytes do not pass unchanged.
    if refused.kind() != ErrorKind::ChannelRefused || !wanted.is_terminal {
        return Err(refused.into());
    }
    tracing::debug!(error = %refused, "no session for a terminal");
    match through_agent(invocation, wanted).await {
        Ok((connected, terminal)) => Ok((Way::Agent(connected), Far::from(terminal))),
        Err(other) => {
            let message = format!(
                "{}\n  through its agent: {}",
                report::chain(&refused),
                other.message
            );
            let failure = Failure::new(Exit::Failed, message).on(&wanted.host);
            Err(failure.maybe_hint(refused.hint().map(str::to_owned)))
        }
    }
}

async fn through_agent(
    invocation: &Invocation,
    wanted: &Wanted,
) -> Result<(Box<Connected>, AgentTerminal), Failure> {
    let connected = match Connected::look_for_running(invocation, &wanted.host).await? {
        Running::Reached(connected) => connected,
        Running::Nobody => return Err(Failure::new(Exit::Failed, "none runs there")),
        Running::Silent(failure) | Running::Lost(failure) => return Err(failure),
    };
    let (columns, rows) = terminal::size();
    let open = TerminalOpen {
        columns,
        rows,
        term: wanted.term.clone(),
        folder: None,
        command: wanted.command.clone(),
    };
    match connected.link.open_terminal(open).await {
        Ok(terminal) => Ok((connected, terminal)),
        Err(error) => {
            connected.close().await;
            Err(error.into())
        }
    }
}

/// Carries bytes; afterwards the terminal is as it was, however it ended.
async fn relayed(far: Far, is_terminal: bool) -> Result<Ended, Failure> {
    let failed =
        |error: std::io::Error| Failure::new(Exit::Failed, format!("the terminal here fails: {error}"));
    let raw = is_terminal.then(Raw::enter).transpose().map_err(failed)?;
    let ended = relay::run(far, is_terminal).await.map_err(failed);
    if raw.is_some() && !matches!(ended, Ok(Ended::Code(_))) {
        Raw::undo();
    }
    drop(raw);
    ended
}

/// Says how it ended, for the process.
fn outcome(ended: Ended, wanted: &Wanted) -> Result<Exit, Failure> {
    let host = &wanted.host;
    match ended {
        Ended::Code(code) => Ok(Exit::Theirs(code)),
        Ended::HungUp | Ended::Signalled => Ok(Exit::Interrupted),
        // As a program that SIGPIPE ended.
        Ended::Unwritable(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Exit::Theirs(141)),
        Ended::Unwritable(error) => {
            let message = format!("could not write what {host} printed: {error}");
            Err(Failure::new(Exit::Failed, message).on(host))
        }
        Ended::Lost(error) => Err(lost(host, &error)),
        Ended::Failed(error) => match error.kind() {
            ErrorKind::ChannelRefused if wanted.is_terminal => {
                let message =
                    format!("{host} gives no terminal: its administrator forbids one, or the shell");
                let hint = format!(
                    "`PermitTTY no` in its sshd_config does that; commands may still run: `reasonix remote shell {host} -- COMMAND </dev/null`"
                );
                Err(Failure::new(Exit::Failed, message).hint(hint).on(host))
            }
            ErrorKind::ChannelRefused | ErrorKind::Stalled => {
                Err(Failure::new(Exit::Failed, report::chain(&*error)).on(host))
            }
            _ => Err(lost(host, &*error)),
        },
    }
}

fn lost(host: &str, error: &dyn std::error::Error) -> Failure {
    let message = format!("the connection to {host} was lost: {}", report::chain(error));
    let hint = format!(
        "`reasonix remote shell {host}` opens a new shell; what runs in tmux or screen there goes on and can be taken up again"
    );
    Failure::new(Exit::Unreachable, message).hint(hint).on(host)
}
