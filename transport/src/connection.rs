//! One supervised SSH connection and the channels on it.

mod agent_forwarding;
mod announced;
mod remote_forward;

use std::{
    path::PathBuf,
    sync::{Arc, Weak},
    time::Duration,
};

use russh::{Channel, ChannelOpenFailure, client, keys::PublicKey};
use stdx::task::Scope;
use tokio::sync::oneshot;

use crate::{
    Error, ErrorKind, KeepaliveOptions, Login, Prompter, Resolved, SecretMemory, Stage, Stream,
    channel::serve,
    handler::{ClientHandler, Reports},
    host_key::Judged,
    keepalive::{Liveness, Verdict},
    wire::Meter,
};

pub(crate) use announced::WeakConnection;
pub use remote_forward::RemoteListener;
pub(crate) use remote_forward::{Arrived, RemoteForwards};

pub(crate) type Handle = client::Handle<ClientHandler>;

/// How to connect, beside what [`crate::resolve()`] found out.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// Limits of the single steps.
    pub deadlines: Deadlines,
    /// Signs of life.
    pub keepalive: KeepaliveOptions,
    /// Our own known-hosts file: read beside the user's, and the only one that is written.
    pub known_hosts: Option<PathBuf>,
    /// Passwords and passphrases typed before.
    pub secrets: SecretMemory,
    /// Bytes that may pile up for one reader that stands still, before its channel is closed.
    pub backlog_limit: usize,
    /// The public key, as in [`Login::key`], that logged in alone the last time. It is offered at once, which saves
    /// asking what the host takes. `None` asks first.
    pub first_key: Option<String>,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            deadlines: Deadlines::default(),
            keepalive: KeepaliveOptions::default(),
            known_hosts: None,
            secrets: SecretMemory::default(),
            backlog_limit: 16 * 1024 * 1024,
            first_key: None,
        }
    }
}

/// How long each step may take. Time in which a person is asked does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// Each file of known or revoked host keys, the key files together, and twice that for writing an accepted key:
    /// the home may lie on a network file system.
    pub files: Duration,
    /// Name look-up.
    pub lookup: Duration,
    /// TCP, over all addresses; `ConnectTimeout` goes before.
    pub connect: Duration,
    /// Key exchange.
    pub handshake: Duration,
    /// Each answer of the host while logging in.
    pub login_step: Duration,
    /// A signature of the key agent, which may ask its owner to confirm it or to touch a security key.
    pub agent: Duration,
    /// Opening a channel.
    pub channel: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            files: Duration::from_secs(10),
            lookup: Duration::from_secs(10),
            connect: Duration::from_secs(15),
            handshake: Duration::from_secs(20),
            login_step: Duration::from_secs(30),
            // As long as sshd waits for a login (LoginGraceTime).
            agent: Duration::from_secs(120),
            channel: Duration::from_secs(20),
        }
    }
}

/// A handle to one connection. Clones share it; it closes with its scope, by [`Connection::disconnect`], or when the
/// last clone and the last channel are gone.
#[derive(Clone)]
pub struct Connection(Arc<Inner>);

struct Inner {
    host: String,
    handle: Handle,
    reports: Arc<Reports>,
    meter: Meter,
    scope: Scope,
    login: Login,
    took: Took,
    limits: Limits,
    /// The connection to the jump host lives as long as this one.
    _via: Option<Connection>,
}

#[derive(Clone, Copy)]
struct Limits {
    backlog: usize,
    channel: Duration,
}

/// How long each part of connecting took. Time in which a person was asked for a secret is part of the login; the
/// question about a host key is part of nothing, since it is asked between two connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Took {
    /// Looking up the name, and TCP or the way through proxies.
    pub connect: Duration,
    /// Key exchange and the check of the host key.
    pub handshake: Duration,
    /// Logging in.
    pub login: Duration,
}

/// What [`crate::connect`] hands over once the login succeeded.
pub(crate) struct Established {
    pub(crate) handle: Handle,
    pub(crate) reports: Arc<Reports>,
    pub(crate) meter: Meter,
    pub(crate) login: Login,
    pub(crate) took: Took,
    pub(crate) via: Option<Connection>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("host", &self.0.host)
            .field("login", &self.0.login)
            .finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.scope.cancel();
    }
}

impl Connection {
    /// Connects and logs in. Tasks run in a scope below `scope`; cancelling it disconnects.
    ///
    /// # Errors
    /// Every stage has its own; see [`ErrorKind`].
    pub async fn connect(
        resolved: &Resolved,
        options: &ConnectOptions,
        prompter: &Arc<dyn Prompter>,
        scope: &Scope,
    ) -> Result<Self, Error> {
        crate::connect::connect(resolved, options, prompter, scope).await
    }

    pub(crate) fn supervise(
        established: Established,
        resolved: &Resolved,
        options: &ConnectOptions,
        scope: &Scope,
    ) -> Self {
        let Established {
            handle,
            reports,
            meter,
            login,
            took,
            via,
        } = established;
        let inner = Arc::new(Inner {
            host: resolved.alias.clone(),
            handle,
            reports,
            meter,
            scope: scope.child("ssh connection"),
            login,
            took,
            limits: Limits {
                backlog: options.backlog_limit,
                channel: options.deadlines.channel,
            },
            _via: via,
        });
        let supervisor = supervisor(
            Arc::downgrade(&inner),
            inner.scope.clone(),
            inner.meter.clone(),
            options.keepalive,
        );
        // Owned by the scope; it ends with the connection.
        drop(inner.scope.spawn(supervisor));
        Self(inner)
    }

    /// Gives the host as the user named it.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.0.host
    }

    /// Gives the key that the host proved to own, and what the known-hosts files said of it then.
    #[must_use]
    pub fn host_key(&self) -> Option<(PublicKey, Judged)> {
        let presented = self.0.reports.presented()?;
        Some((presented.key, presented.judged))
    }

    /// Tells how the login went.
    #[must_use]
    pub fn login(&self) -> &Login {
        &self.0.login
    }

    /// Says how long each part of connecting took.
    #[must_use]
    pub fn took(&self) -> Took {
        self.0.took
    }

    /// Gives the number of bytes that ever arrived; a caller can tell a busy line from a silent one.
    #[must_use]
    pub fn bytes_received(&self) -> u64 {
        self.0.meter.received()
    }

    /// Opens a connection to a Unix socket on the host.
    ///
    /// OpenSSH's sshd answers alike when its administrator forbids this and when nobody listens there: both are
    /// [`ErrorKind::ConnectRefused`] then.
    ///
    /// # Errors
    /// [`ErrorKind::ForwardingRefused`], [`ErrorKind::ConnectRefused`] or the loss of the connection.
    pub async fn open_streamlocal(&self, path: &str) -> Result<Stream, Error> {
        let what = format!("the socket {path}");
        let path = path.to_owned();
        let channel = self
            .open(what.clone(), move |inner| async move {
                inner.handle.channel_open_direct_streamlocal(path).await
            })
            .await?;
        Ok(Stream::new(serve(self, channel, what)))
    }

    /// Opens a TCP connection from the host to `host`:`port`.
    ///
    /// # Errors
    /// As [`Connection::open_streamlocal`].
    pub async fn open_tcp(&self, host: &str, port: u16) -> Result<Stream, Error> {
        let what = format!("the connection to {host} port {port}");
        let host = host.to_owned();
        let open = move |inner: Arc<Inner>| async move {
            inner
                .handle
                .channel_open_direct_tcpip(host, u32::from(port), "127.0.0.1", 0)
                .await
        };
        let channel = self.open(what.clone(), open).await?;
        Ok(Stream::new(serve(self, channel, what)))
    }

    /// Opens the SFTP subsystem: its packets go over the stream.
    ///
    /// That the host has none shows in the stream, which saves a round trip: it ends or breaks at once.
    ///
    /// # Errors
    /// The session channel was refused (`MaxSessions`) or the connection is gone.
    pub async fn sftp_stream(&self) -> Result<Stream, Error> {
        let channel = self.open_session("an sftp session").await?;
        if channel.request_subsystem(true, "sftp").await.is_err() {
            return Err(self.loss().await);
        }
        Ok(Stream::new(serve(self, channel, "the sftp subsystem")))
    }

    /// Sends a request that every SSH server answers and gives the round-trip time.
    ///
    /// # Errors
    /// No answer within `deadline` ([`ErrorKind::Unreachable`]; the connection stays), or the connection is gone.
    pub async fn ping(&self, deadline: Duration) -> Result<Duration, Error> {
        let started = stdx::clock::monotonic();
        match tokio::time::timeout(deadline, self.0.handle.send_ping()).await {
            Ok(Ok(())) if !self.is_closed() => Ok(started.elapsed()),
            Ok(_) => Err(self.loss().await),
            Err(_) => {
                let message = format!("no answer within {} ms", deadline.as_millis());
                Err(Error::new(
                    ErrorKind::Unreachable,
                    Stage::Session,
                    self.host(),
                    message,
                ))
            }
        }
    }

    /// Says whether the connection is gone.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.reports.closed().borrow().is_some()
    }

    /// Waits until the connection is gone and tells why. The future does not keep the connection open.
    pub fn closed(&self) -> impl Future<Output = Error> + Send + use<> {
        let mut closed = self.0.reports.closed();
        let host = self.0.host.clone();
        async move {
            let cause = closed
                .wait_for(Option::is_some)
                .await
                .ok()
                .and_then(|cause| cause.clone());
            cause.unwrap_or_else(|| {
                Error::new(ErrorKind::Closed, Stage::Session, host, "the connection ended")
            })
        }
    }

    /// Says goodbye and closes the connection with all its channels.
    pub async fn disconnect(&self) {
        self.0.scope.cancel();
        // The supervisor does the rest within a second.
        drop(self.loss().await);
    }

    /// Gives the reason of a loss that was just noticed; it may be published a moment later.
    pub(crate) async fn loss(&self) -> Error {
        match tokio::time::timeout(Duration::from_secs(2), self.closed()).await {
            Ok(error) => error,
            Err(_) => Error::new(
                ErrorKind::Closed,
                Stage::Session,
                self.host(),
                "the connection does not take requests any more",
            ),
        }
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.0.scope
    }

    pub(crate) fn backlog_limit(&self) -> usize {
        self.0.limits.backlog
    }

    pub(crate) async fn open_session(&self, what: &str) -> Result<Channel<client::Msg>, Error> {
        let open = || {
            self.open(what.to_owned(), |inner| async move {
                inner.handle.channel_open_session().await
            })
        };
        let refused = match open().await {
            Err(error) if is_refusal(error.kind()) => error,
            other => return other,
        };
        // Where few sessions are allowed, sshd counts one that was just closed until it has gone once around its loop;
        // after the answer to a ping it has.
        self.ping(self.0.limits.channel).await?;
        match open().await {
            Err(error) if is_refusal(error.kind()) => {
                // For a session every refusal means the same.
                Err(Error::new(
                    ErrorKind::ChannelRefused,
                    Stage::Channel,
                    self.host(),
                    refused.message(),
                )
                .with_hint("the host may allow only a few sessions at a time (MaxSessions)"))
            }
            other => other,
        }
    }

    /// Opens a channel in a task of its own, so that an answer after the deadline still closes it on the host.
    async fn open<F, R>(&self, what: String, open: F) -> Result<Channel<client::Msg>, Error>
    where
        F: FnOnce(Arc<Inner>) -> R + Send + 'static,
        R: Future<Output = Result<Channel<client::Msg>, russh::Error>> + Send + 'static,
    {
        if self.is_closed() {
            return Err(self.loss().await);
        }
        let (sender, receiver) = oneshot::channel();
        let (inner, token) = (Arc::clone(&self.0), self.0.scope.token().clone());
        // Owned by the scope.
        drop(self.0.scope.spawn(async move {
            let opened = tokio::select! {
                biased;
                () = token.cancelled() => return,
                opened = open(inner) => opened,
            };
            if let Err(Ok(late)) = sender.send(opened) {
                // Nobody waits any more. When this fails the session is gone, and the channel with it.
                drop(late.close().await);
            }
        }));
        match tokio::time::timeout(self.0.limits.channel, receiver).await {
            Ok(Ok(Ok(channel))) => Ok(channel),
            Ok(Ok(Err(russh::Error::ChannelOpenFailure(reason)))) => Err(self.refused(&what, &reason)),
            Ok(_) => Err(self.loss().await),
            Err(_) => {
                let message = format!(
                    "the host did not open {what} within {} s",
                    self.0.limits.channel.as_secs_f32()
                );
                Err(Error::new(
                    ErrorKind::Unreachable,
                    Stage::Channel,
                    self.host(),
                    message,
                ))
            }
        }
    }

    fn refused(&self, what: &str, reason: &ChannelOpenFailure) -> Error {
        let words = self.0.reports.take_refusal().filter(|words| !words.is_empty());
        let words = words
            .map(|words| format!(" ({})", stdx::bounded::one_line(&words, 200)))
            .unwrap_or_default();
        let error =
            |kind, text: &str| Error::new(kind, Stage::Channel, self.host(), format!("{text} {what}{words}"));
        match reason {
            ChannelOpenFailure::ConnectFailed => error(ErrorKind::ConnectRefused, "the host could not open"),
            ChannelOpenFailure::AdministrativelyProhibited | ChannelOpenFailure::UnknownChannelType => {
                error(ErrorKind::ForwardingRefused, "the host forbids")
                    .with_hint("see AllowTcpForwarding, AllowStreamLocalForwarding, PermitOpen and DisableForwarding in its sshd_config")
            }
            ChannelOpenFailure::ResourceShortage | ChannelOpenFailure::Other { .. } => error(ErrorKind::ChannelRefused, "the host refused"),
        }
    }
}

fn is_refusal(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ForwardingRefused | ErrorKind::ConnectRefused | ErrorKind::ChannelRefused
    )
}

/// Watches for signs of life and for the end of the scope. It does not keep the connection open.
async fn supervisor(inner: Weak<Inner>, scope: Scope, meter: Meter, options: KeepaliveOptions) {
    let mut liveness = Liveness::new(options);
    let mut ticks = tokio::time::interval(liveness.period());
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut last = stdx::clock::monotonic();
    loop {
        tokio::select! {
            biased;
            () = scope.token().cancelled() => return say_goodbye(inner, meter).await,
            _ = ticks.tick() => {}
        }
        let Some(inner) = inner.upgrade() else {
            return meter.cut();
        };
        if inner.reports.closed().borrow().is_some() {
            return;
        }
        let now = stdx::clock::monotonic();
        let passed = now.saturating_duration_since(std::mem::replace(&mut last, now));
        match liveness.tick(meter.received(), passed) {
            Verdict::Wait => {}
            Verdict::Ask => {
                // The answer shows in the received bytes. A session too busy to take the request hears the next one.
                let ask = inner.handle.send_keepalive(true);
                drop(tokio::time::timeout(liveness.period(), ask).await);
            }
            Verdict::Dead => {
                let message = format!("no sign of life for {} s", options.dead_after.as_secs_f32());
                inner.reports.close(Error::new(
                    ErrorKind::Closed,
                    Stage::Session,
                    &inner.host,
                    message,
                ));
                return meter.cut();
            }
        }
    }
}

/// Tells the host, then cuts: the host's answer is not waited for longer than a second.
async fn say_goodbye(inner: Weak<Inner>, meter: Meter) {
    if let Some(inner) = inner.upgrade() {
        let goodbye = async {
            // Failing means that the session is already gone.
            drop(
                inner
                    .handle
                    .disconnect(russh::Disconnect::ByApplication, "", "")
                    .await,
            );
            let mut closed = inner.reports.closed();
            drop(closed.wait_for(Option::is_some).await);
        };
        drop(tokio::time::timeout(Duration::from_secs(1), goodbye).await);
        inner.reports.close(Error::new(
            ErrorKind::Closed,
            Stage::Session,
            &inner.host,
            "we ended the connection",
        ));
    }
    meter.cut();
}
