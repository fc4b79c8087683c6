//! The handle to one agent, and the task that owns its connection.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use protocol::{
    Credentials, DrainReply, DrainRequest, Hello, OpenSession, PortList, SessionId, SessionInfo, SessionList,
    ShutdownReply, ShutdownRequest, Snapshot, StreamTarget, hello, limits,
};
use serde::de::DeserializeOwned;
use stdx::task::Scope;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::{
    call::Call,
    connection::Connection,
    connector::Connector,
    error::Error,
    session::SessionClient,
    stream::{self, AgentStream},
    watched::Life,
};

/// Times and counts of a client.
#[derive(Debug, Clone)]
pub struct Options {
    /// How often an idle connection gives the other side a reason to say something.
    pub keepalive: Duration,
    /// A connection on which not a byte came for this long is given up.
    pub dead_after: Duration,
    /// An event stream on which not a byte came for this long is given up. The agent sends something every 10 s.
    pub stream_silence: Duration,
    /// How often a request is sent in all before its connection failures are reported.
    pub attempts: u32,
    /// The wait before the second attempt; it doubles each time.
    pub retry_delay: Duration,
    /// What the connection is for.
    pub purpose: Purpose,
    /// Put into every request to open or resume a session that says nothing of it: whose credentials models are asked
    /// with.
    pub credentials: Option<Credentials>,
}

/// What a connection is for, which decides how much may be under way on one of its streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Everything; byte streams, if there are any, go beside the rest.
    Main,
    /// Byte streams alone.
    ByteStreams,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            keepalive: Duration::from_secs(5),
            dead_after: Duration::from_secs(15),
            stream_silence: Duration::from_secs(30),
            attempts: 3,
            retry_delay: Duration::from_millis(200),
            purpose: Purpose::Main,
            credentials: None,
        }
    }
}

/// A handle to one agent. Cloning gives another handle to the same connection.
///
/// Every request here is safe to repeat, so a connection that fails in between is opened again and the request sent
/// once more, up to [`Options::attempts`] times.
#[derive(Debug, Clone)]
pub struct Agent {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Asks the owner of the connection for it. Bounded; who finds it full waits.
    wanted: mpsc::Sender<Wanted>,
    options: Options,
    event_streams: Arc<Semaphore>,
    byte_streams: Arc<Semaphore>,
    life: Arc<Life>,
    connector: Arc<dyn Connector>,
}

/// Whether a request waits until its connection is known to lead to the right agent.
#[derive(Clone, Copy)]
enum Admission {
    Wait,
    /// It only asks who is there.
    Skip,
}

/// A request for the connection.
type Wanted = oneshot::Sender<Result<Connection, Error>>;

impl Agent {
    /// Makes a handle; nothing is dialled before the first request. The connection's tasks belong to `scope` and end
    /// with the last handle.
    #[must_use]
    pub fn new(connector: impl Connector, options: Options, scope: &Scope) -> Self {
        let (wanted, requests) = mpsc::channel(16);
        let life = Arc::new(Life::new());
        let connector: Arc<dyn Connector> = Arc::new(connector);
        let owner = Owner {
            connector: Arc::clone(&connector),
            options: options.clone(),
            scope: scope.child("agent connection"),
            life: Arc::clone(&life),
        };
        scope.spawn(owner.run(requests));
        let event_streams = Arc::new(Semaphore::new(limits::http2::EVENT_STREAMS as usize));
        let byte_streams = Arc::new(Semaphore::new(limits::http2::BYTE_STREAMS as usize));
        let inner = Inner {
            wanted,
            options,
            event_streams,
            byte_streams,
            life,
            connector,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Asks who the agent is, and checks that it can be spoken with.
    ///
    /// # Errors
    /// [`Error::NoCommonVersion`], or as for every request.
    pub async fn hello(&self) -> Result<Hello, Error> {
        check_versions(self.repeated(&hello_call(), Admission::Skip).await?)
    }

    /// Measures a round trip: one hello on the connection, within `deadline`, without a second attempt.
    ///
    /// # Errors
    /// [`Error::Stalled`] when the deadline passes, or as for [`Agent::hello`].
    pub async fn ping(&self, deadline: Duration) -> Result<Duration, Error> {
        let connection = self.dialled();
        let exchange = async {
            let connection = connection.await?;
            let start = stdx::clock::monotonic();
            check_versions(hello_call().once(&connection).await?)?;
            Ok(start.elapsed())
        };
        match tokio::time::timeout(deadline, exchange).await {
            Ok(result) => result,
            Err(_) => Err(Error::Stalled {
                what: "the agent".to_owned(),
                after: deadline,
            }),
        }
    }

    /// Lists the sessions on the agent's machine, the most recently changed first.
    ///
    /// # Errors
    /// As for every request: [`Error::Connection`], [`Error::Agent`], [`Error::Protocol`].
    pub async fn sessions(&self) -> Result<SessionList, Error> {
        self.call(&Call::get("the list of sessions", "/v1/sessions"))
            .await
    }

    /// Opens a new session, or resumes one. Repeating it is harmless.
    ///
    /// # Errors
    /// As for every request.
    pub async fn open_session(&self, request: &OpenSession) -> Result<SessionInfo, Error> {
        let what = format!("session {}", request.session);
        let request = OpenSession {
            credentials: request.credentials.or(self.inner.options.credentials),
            ..request.clone()
        };
        self.call(&Call::post(what, "/v1/sessions", &request)?).await
    }

    /// Opens or resumes a session and gives its state. A session that is only resumed takes one round trip: both are
    /// asked for at once, since asking for the state resumes as well.
    ///
    /// # Errors
    /// As for every request.
    pub async fn enter(&self, request: &OpenSession) -> Result<(SessionInfo, Snapshot), Error> {
        let client = self.session(request.session);
        let OpenSession {
            session: _,
            workspace,
            model,
            preset,
            // An open session changes over, so it does not matter which of the two comes first.
            credentials: _,
        } = request;
        if workspace.is_none() && model.is_none() && preset.is_none() {
            return tokio::try_join!(self.open_session(request), client.snapshot());
        }
        let info = self.open_session(request).await?;
        Ok((info, client.snapshot().await?))
    }

    /// Lists the ports on which processes of the agent's user listen. Only agents with [`protocol::ports::CAPABILITY`] know.
    ///
    /// # Errors
    /// As for every request; an agent of before there was this answers `not_found`.
    pub async fn ports(&self) -> Result<PortList, Error> {
        self.call(&Call::get("the listening ports", "/v1/ports")).await
    }

    /// Gives a handle to one session; nothing is asked yet.
    #[must_use]
    pub fn session(&self, session: SessionId) -> SessionClient {
        SessionClient::new(self.clone(), session)
    }

    /// Asks the daemon to finish its turns, to take no new session, and then to end. Repeating it is harmless. The
    /// versions of the protocol do not matter for this.
    ///
    /// # Errors
    /// As for every request; a daemon of before there was draining answers `not_found`.
    pub async fn drain(&self, request: &DrainRequest) -> Result<DrainReply, Error> {
        self.call(&Call::post("draining", "/v1/drain", request)?).await
    }

    /// Asks the daemon to end.
    ///
    /// # Errors
    /// As for every request. A connection that ends before the answer came may mean that it did end.
    pub async fn shutdown(&self, request: ShutdownRequest) -> Result<ShutdownReply, Error> {
        let call = Call::post("its end", "/v1/shutdown", &request)?;
        // Not repeated: a second try could reach, or start, another daemon.
        call.once(&self.connection().await?).await
    }

    /// Opens a byte stream to something on the agent's machine. Waits while as many are open as a connection may have.
    ///
    /// # Errors
    /// [`Error::Agent`] when the agent cannot reach the target or refuses, or as for every request.
    pub async fn open_stream(&self, target: &StreamTarget) -> Result<AgentStream, Error> {
        let permits = Arc::clone(&self.inner.byte_streams);
        let permit = permits.acquire_owned().await.map_err(|_| closed())?;
        // Not repeated: whoever is connected to may count.
        stream::open(self, self.connection().await?, target, permit).await
    }

    /// Says how many byte streams are open or on their way.
    #[must_use]
    pub fn byte_streams(&self) -> usize {
        let free = self.inner.byte_streams.available_permits();
        (limits::http2::BYTE_STREAMS as usize).saturating_sub(free)
    }

    /// Gives the monotonic time at which the last byte came from the agent; `None` before the first connection.
    #[must_use]
    pub fn last_heard(&self) -> Option<Instant> {
        self.inner.life.last_heard()
    }

    pub(crate) fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Sends a request that may be repeated, again after connection failures.
    pub(crate) async fn call<T: DeserializeOwned>(&self, call: &Call) -> Result<T, Error> {
        self.repeated(call, Admission::Wait).await
    }

    async fn repeated<T: DeserializeOwned>(&self, call: &Call, admission: Admission) -> Result<T, Error> {
        let mut delay = self.inner.options.retry_delay;
        let mut attempt = 1;
        loop {
            let connection = match admission {
                Admission::Wait => self.connection().await,
                Admission::Skip => self.dialled().await,
            };
            let result = match connection {
                Ok(connection) => call.once(&connection).await,
                Err(error) => Err(error),
            };
            match result {
                Err(error) if error.is_transient() && attempt < self.inner.options.attempts => {
                    tracing::debug!(%error, attempt, what = call.what, "trying again");
                    tokio::time::sleep(delay).await;
                    delay = delay.saturating_mul(2);
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    /// Gives a connection over which requests may go, dialling when there is none. It was alive a moment ago.
    pub(crate) async fn connection(&self) -> Result<Connection, Error> {
        let connection = self.dialled().await?;
        self.inner.connector.admitted().await;
        Ok(connection)
    }

    async fn dialled(&self) -> Result<Connection, Error> {
        let (reply, answer) = oneshot::channel();
        self.inner.wanted.send(reply).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// Takes one of the event streams that a connection may have, so that other requests always find room.
    pub(crate) fn event_stream_permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        let permits = Arc::clone(&self.inner.event_streams);
        permits.try_acquire_owned().map_err(|_| Error::TooManyStreams)
    }
}

fn hello_call() -> Call {
    Call::get("its hello", "/v1/hello")
}

fn check_versions(hello: Hello) -> Result<Hello, Error> {
    match hello::VERSIONS.common(hello.protocol) {
        Some(_) => Ok(hello),
        None => Err(Error::NoCommonVersion {
            ours: hello::VERSIONS,
            theirs: hello.protocol,
        }),
    }
}

fn closed() -> Error {
    Error::connection("reach the agent", std::io::Error::other("this client is closed"))
}

/// The owner of the connection.
struct Owner {
    connector: Arc<dyn Connector>,
    options: Options,
    scope: Scope,
    life: Arc<Life>,
}

impl Owner {
    async fn run(self, mut requests: mpsc::Receiver<Wanted>) {
        let token = self.scope.token().clone();
        let mut current: Option<Connection> = None;
        loop {
            let wanted = tokio::select! {
                biased;
                () = token.cancelled() => break,
                wanted = requests.recv() => wanted,
            };
            let Some(wanted) = wanted else { break };
            let result = match current.take().filter(|connection| !connection.is_closed()) {
                Some(connection) => Ok(connection),
                None => tokio::select! {
                    biased;
                    () = token.cancelled() => break,
                    result = self.dial() => result,
                },
            };
            current = result.as_ref().ok().cloned();
            // Everybody who asked meanwhile gets the same answer: one dead host is not dialled once per request.
            while let Ok(waiting) = requests.try_recv() {
                // Who no longer waits needs no answer.
                drop(waiting.send(result.clone()));
            }
            drop(wanted.send(result));
        }
        if let Some(connection) = current {
            connection.close();
        }
    }

    async fn dial(&self) -> Result<Connection, Error> {
        let stream = self.connector.connect().await;
        let stream = stream.map_err(|error| Error::connection("connect to the agent", error))?;
        self.life.mark();
        Connection::start(stream, &self.life, &self.options, &self.scope).await
    }
}
