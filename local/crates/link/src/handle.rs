//! What others hold of a link.

use std::{fmt, sync::Arc, time::Duration};

use bootstrap::{Arrival, Stay, Via};
use client::{Agent, AgentStream};
use forward::{ForwardOptions, Forwards};
use protocol::{Credentials, Hello, StreamTarget, TerminalOpen};
use stdx::task::Scope;
use tokio::sync::{
    mpsc::{self, error::TrySendError},
    oneshot, watch,
};
use transport::{Connection, Prompter};

use crate::{
    attempt::Dialer,
    broker::{BrokerState, Service},
    carrier::AgentCarrier,
    error::Error,
    host::LinkOptions,
    network::{self, NetworkChange, NetworkWatch},
    state::LinkState,
    streams::Streams,
    supervisor::{Published, Request, Supervisor},
    terminal::AgentTerminal,
    wire, workspace,
};

/// How long closing may take before what is left is ended by force.
const GRACE: Duration = Duration::from_secs(3);

/// A handle to one supervised link. Clones share it; it closes with its scope, by [`Link::close`], or when the last
/// clone is gone.
#[derive(Debug, Clone)]
pub struct Link(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    host: String,
    agent: Agent,
    scope: Scope,
    /// Bounded; what does not fit repeats what waits there.
    requests: mpsc::Sender<Request>,
    states: watch::Receiver<LinkState>,
    connections: watch::Receiver<Option<Connection>>,
    forwards: Arc<Forwards>,
    ready: watch::Receiver<Option<Ready>>,
    streams: Streams,
    person: Person,
    broker: Option<watch::Receiver<BrokerState>>,
}

/// Who is asked.
struct Person(Arc<dyn Prompter>);

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Person")
    }
}

/// Who answered, and how it was reached.
#[derive(Debug, Clone)]
pub struct Ready {
    /// What the agent said.
    pub hello: Hello,
    /// The program on the host.
    pub program: String,
    /// The absolute `REASONIX_HOME` on the host, if one was wanted.
    pub home: Option<String>,
    /// The workspace with symbolic links resolved, if one was wanted and this attach had to bootstrap.
    pub workspace: Option<String>,
    /// How the daemon's socket is reached.
    pub via: Via,
    /// How the daemon came to be ready; `None`: it was remembered and still there.
    pub arrival: Option<Arrival>,
    /// How long the agent stays; `None`: it ran already.
    pub stay: Option<Stay>,
}

/// How long to wait for a link to be live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Until the first attempt ended, either way.
    FirstTry,
    /// So long, over as many attempts as fit in.
    For(Duration),
}

impl Link {
    /// Starts a link; it begins to connect at once. Its tasks run in a scope below `scope`.
    #[must_use]
    pub fn open(options: LinkOptions, scope: &Scope) -> Self {
        let scope = scope.child("link");
        let host = options.host.name();
        let person = Person(Arc::clone(&options.prompter));
        let client_options = client::Options {
            keepalive: options.timings.ping_interval,
            dead_after: options.timings.dead_after,
            credentials: options.broker.as_ref().map(|_| Credentials::Broker),
            ..client::Options::default()
        };
        let (switch, connector, signals) = wire::switch();
        let agent = Agent::new(connector, client_options, &scope);
        let streams = Streams::new(agent.clone(), switch.routes(), &scope);
        let served = options.broker.clone();
        let watches = options.network == NetworkWatch::On;
        let dialer = Dialer::new(options, agent.clone(), switch, scope.clone());
        // A front end that looks at once sees the link on its way, not offline.
        let first = LinkState::Connecting(crate::Stage::Resolving);
        let (states, seen_states) = watch::channel(first);
        let broker = served.map(|served| Service::start(served, agent.clone(), seen_states.clone(), &scope));
        let (connections, seen_connections) = watch::channel(None);
        let (ready, seen_ready) = watch::channel(None);
        let (requests, asked) = mpsc::channel(8);
        let forwards = Arc::new(Forwards::new(&scope, ForwardOptions::default()));
        let published = Published {
            states,
            connections,
            forwards: Arc::clone(&forwards),
            carrier: AgentCarrier(streams.clone()),
            ready,
        };
        if watches {
            let asked = requests.downgrade();
            // Owned by the scope. It does not keep the link open.
            drop(scope.spawn(network::watch(scope.clone(), move |change| {
                // Full: whatever waits there has as much effect on a link that is not live, and the next change comes.
                asked.upgrade().is_some_and(|asked| {
                    !matches!(
                        asked.try_send(Request::Network(change)),
                        Err(TrySendError::Closed(_))
                    )
                })
            })));
        }
        // Owned by the scope.
        drop(scope.spawn(Supervisor::new(dialer, published, asked, signals).run()));
        Self(Arc::new(Inner {
            host,
            agent,
            scope,
            requests,
            states: seen_states,
            connections: seen_connections,
            forwards,
            ready: seen_ready,
            streams,
            person,
            broker,
        }))
    }

    /// Gives the host as the user named it.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.0.host
    }

    /// Gives the agent. Its requests wait while the link is down, and fail when somebody has to act first.
    #[must_use]
    pub fn agent(&self) -> Agent {
        self.0.agent.clone()
    }

    /// Gives the states: the newest, and a sign when it changes.
    #[must_use]
    pub fn states(&self) -> watch::Receiver<LinkState> {
        self.0.states.clone()
    }

    /// Gives what goes on with requests to the model that are made here; `None` where the host has its own keys.
    #[must_use]
    pub fn broker(&self) -> Option<watch::Receiver<BrokerState>> {
        self.0.broker.clone()
    }

    /// Gives who answered last, and how it was reached; `None` before the first time.
    #[must_use]
    pub fn ready(&self) -> Option<Ready> {
        self.0.ready.borrow().clone()
    }

    /// Opens a byte stream to something on the host, through the agent. Waits while the link is down; how long that may
    /// take is the caller's to say.
    ///
    /// # Errors
    /// The agent cannot reach the target, the link went down meanwhile, or somebody has to act first.
    pub async fn open_stream(&self, target: &StreamTarget) -> Result<AgentStream, client::Error> {
        self.0.streams.open(target).await
    }

    /// Opens a terminal on the host through the agent.
    ///
    /// # Errors
    /// As [`Link::open_stream`].
    pub async fn open_terminal(&self, open: TerminalOpen) -> Result<AgentTerminal, client::Error> {
        let stream = self.open_stream(&StreamTarget::Terminal(open)).await?;
        Ok(AgentTerminal::new(stream))
    }

    /// Gives the SSH connection as long as it is usable, for commands beside the wire.
    #[must_use]
    pub fn connection(&self) -> Option<Connection> {
        self.0.connections.borrow().clone()
    }

    /// Gives each SSH connection, and `None` in between.
    #[must_use]
    pub fn connections(&self) -> watch::Receiver<Option<Connection>> {
        self.0.connections.clone()
    }

    /// Gives the port forwards. Their listeners stay over drops; new clients wait a while for the host to come back.
    #[must_use]
    pub fn forwards(&self) -> &Forwards {
        &self.0.forwards
    }

    /// Waits until the link is live.
    ///
    /// # Errors
    /// The reason why a person has to act, or why it is not live when the patience is over.
    pub async fn wait_live(&self, patience: Patience) -> Result<Ready, Error> {
        let mut states = self.states();
        // What was asked before this must show in the state first, or the failure of before would be reported again.
        let (taken, turn) = oneshot::channel();
        if self.0.requests.send(Request::Sync(taken)).await.is_ok() {
            // Dropped unanswered: the link is closed, and the state says so.
            drop(turn.await);
        }
        let settled = |state: &LinkState| match state {
            LinkState::Live { .. } | LinkState::Failed(_) | LinkState::Offline => true,
            LinkState::Waiting { .. } => patience == Patience::FirstTry,
            LinkState::Connecting(_) | LinkState::Prompting => false,
        };
        let waiting = states.wait_for(settled);
        let settled = match patience {
            Patience::FirstTry => waiting.await.ok().map(|state| state.clone()),
            Patience::For(limit) => match tokio::time::timeout(limit, waiting).await {
                Ok(state) => state.ok().map(|state| state.clone()),
                Err(_) => None,
            },
        };
        let state = settled.unwrap_or_else(|| self.0.states.borrow().clone());
        match (&state, self.ready()) {
            (LinkState::Live { .. }, Some(ready)) => Ok(ready),
            _ => Err(state.cause().cloned().unwrap_or_else(|| self.not_live(&state))),
        }
    }

    fn not_live(&self, state: &LinkState) -> Error {
        match state {
            LinkState::Connecting(stage) => Error::overdue(*stage, &self.0.host),
            LinkState::Prompting => Error::overdue(crate::Stage::Authenticating, &self.0.host),
            _ => Error::closed(&self.0.host),
        }
    }

    /// Asks whether a workspace that is missing on the host shall be made, and makes it. Says whether it is there now;
    /// a folder that cannot be used for another reason is not asked about.
    pub async fn offer_workspace(&self, folder: &str) -> bool {
        match self.connection() {
            Some(connection) => {
                workspace::offer_if_missing(&connection, self.0.person.0.as_ref(), folder).await
            }
            None => false,
        }
    }

    /// Tries now: ends a wait or a failure, and asks a live link for a sign of life.
    pub fn retry_now(&self) {
        self.ask(Request::Retry);
    }

    /// Says that the machine woke up. That is also noticed without.
    pub fn woke(&self) {
        self.ask(Request::Woke);
    }

    /// Says that the network of this machine changed. That is also noticed without, unless the link does not watch it.
    pub fn network_changed(&self, change: NetworkChange) {
        self.ask(Request::Network(change));
    }

    /// Goes offline and stays so until [`Link::retry_now`]. The daemon on the host goes on.
    pub fn disconnect(&self) {
        self.ask(Request::Stop);
    }

    fn ask(&self, request: Request) {
        if let Err(error) = self.0.requests.try_send(request) {
            // Full: as much was asked a moment ago. Closed: nothing can come of it any more.
            tracing::debug!(%error, "request not taken");
        }
    }

    /// Closes the link for good and waits until it is closed. The daemon on the host goes on.
    pub async fn close(&self) {
        self.0.scope.close(GRACE).await;
    }
}
