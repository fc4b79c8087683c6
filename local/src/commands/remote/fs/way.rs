//! Reaches the files of a host: over SFTP sessions of an SSH connection, else through the agent that runs there.

use std::{pin::Pin, sync::Arc, time::Duration};

use files::{ByteStream, ChannelError, Channels, Host, Options};
use link::AgentLink;
use protocol::StreamTarget;
use transport::Connection;

use crate::{
    ask,
    connect::{Connected, Running},
    dial::{self, Dialed},
    exit::Exit,
    host::{HostPlan, HostRef},
    invocation::Invocation,
    report::{self, Failure},
    terminal,
};

/// How long opening a stream through the agent may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A host whose files can be worked with.
pub(super) struct Reached {
    /// Its files.
    pub(super) files: Host,
    /// What a person calls it.
    pub(super) name: String,
    way: Way,
}

enum Way {
    Ssh(Dialed),
    Agent(Box<Connected>),
}

impl Reached {
    /// Logs in and opens the first session. Nothing is installed or started on the host.
    pub(super) async fn open(invocation: &Invocation, host: &str) -> Result<Self, Failure> {
        let loaded = invocation.settings(None, &[])?;
        let plan = HostPlan::new(&HostRef::parse(host)?, &loaded)?;
        let resolved = dial::resolve(invocation, &plan).await?;
        let dialed = Dialed::open(invocation, &loaded, &resolved, &ask::prompter()).await?;
        let channels = Arc::new(Sessions(dialed.connection.clone()));
        let opened = Host::open(channels, &Options::default(), dialed.scope()).await;
        let error = match opened {
            Ok(files) => {
                say_way(invocation, host, "over SFTP");
                return Ok(Self {
                    files,
                    name: host.to_owned(),
                    way: Way::Ssh(dialed),
                });
            }
            Err(error) => error,
        };
        let is_gone = dialed.connection.is_closed();
        dialed.close().await;
        if is_gone {
            return Err(failure(host, &error));
        }
        let why = report::chain(&error);
        tracing::debug!(host, why, "no files over SFTP");
        let reached = Self::through_agent(invocation, host).await;
        reached.map_err(|other| neither(host, &why, &other))
    }

    async fn through_agent(invocation: &Invocation, host: &str) -> Result<Self, Failure> {
        let connected = match Connected::look_for_running(invocation, host).await? {
            Running::Reached(connected) => connected,
            Running::Nobody => return Err(Failure::new(Exit::Failed, "none runs there")),
            Running::Silent(failure) | Running::Lost(failure) => return Err(failure),
        };
        let channels = Arc::new(Streams(connected.link.clone()));
        match Host::open(channels, &Options::default(), connected.scope()).await {
            Ok(files) => {
                say_way(invocation, host, "through its agent");
                Ok(Self {
                    files,
                    name: host.to_owned(),
                    way: Way::Agent(connected),
                })
            }
            Err(error) => {
                connected.close().await;
                Err(failure(host, &error))
            }
        }
    }

    /// States what failed with the files.
    pub(super) fn failure(&self, error: &files::Error) -> Failure {
        failure(&self.name, error)
    }

    /// Ends the sessions and hangs up.
    pub(super) async fn close(self) {
        self.files.close().await;
        match self.way {
            Way::Ssh(dialed) => dialed.close().await,
            Way::Agent(connected) => connected.close().await,
        }
    }
}

/// A channel that is being opened.
type Opening<'a> = Pin<Box<dyn Future<Output = Result<Box<dyn ByteStream>, ChannelError>> + Send + 'a>>;

/// Sessions of an SSH connection.
#[derive(Debug)]
struct Sessions(Connection);

impl Channels for Sessions {
    fn open(&self) -> Opening<'_> {
        Box::pin(async {
            let stream = self.0.sftp_stream().await?;
            Ok(Box::new(stream) as Box<dyn ByteStream>)
        })
    }
}

/// Streams of the wire.
#[derive(Debug)]
struct Streams(AgentLink);

impl Channels for Streams {
    fn open(&self) -> Opening<'_> {
        Box::pin(async {
            let opened = tokio::time::timeout(PATIENCE, self.0.open_stream(&StreamTarget::Files));
            let stream = opened
                .await
                .map_err(|_elapsed| format!("the agent gave no stream for {} s", PATIENCE.as_secs()))??;
            Ok(Box::new(stream) as Box<dyn ByteStream>)
        })
    }
}

/// Only who asks for more is told.
fn say_way(invocation: &Invocation, host: &str, way: &str) {
    if invocation.verbose > 0 {
        terminal::error(&ask::visible(&format!("{host}: files {way}")));
    }
}

/// States what failed with the files of a host.
pub(super) fn failure(host: &str, error: &files::Error) -> Failure {
    let exit = if error.is_lost() {
        Exit::Unreachable
    } else {
        Exit::Failed
    };
    let text = report::chain(error);
    let mut failure = Failure::new(exit, format!("{host}: {text}")).on(host);
    failure.hint = error.hint().map(str::to_owned);
    failure
}

/// Both ways failed: says why each.
fn neither(host: &str, over_ssh: &str, through_agent: &Failure) -> Failure {
    if matches!(through_agent.exit, Exit::Unreachable | Exit::Authentication) {
        // The host itself went away meanwhile.
        return through_agent.clone();
    }
    let message = format!(
        "the files of {host} cannot be reached\n  over SFTP: {over_ssh}\n  through its agent: {}",
        through_agent.message
    );
    let hint = format!(
        "`reasonix remote connect {host}` starts an agent; or let the administrator offer SFTP (`Subsystem sftp internal-sftp` in sshd_config)"
    );
    Failure::new(Exit::Failed, message).hint(hint).on(host)
}
