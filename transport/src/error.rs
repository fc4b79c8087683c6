//! The one error type of this crate: what failed, where, why and what to do about it.

use std::{error::Error as StdError, fmt, sync::Arc};

/// A failure of the SSH layer.
///
/// Displays as `STAGE HOST: MESSAGE`; the cause is [`std::error::Error::source`], the advice is [`Error::hint`].
#[derive(Clone, Debug, thiserror::Error)]
#[error("{stage} {host}: {message}")]
pub struct Error {
    kind: ErrorKind,
    stage: Stage,
    host: String,
    message: String,
    hint: Option<String>,
    #[source]
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// What a caller has to distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The host could not be found or did not answer in time.
    Unreachable,
    /// The host presented another key than the known one. Refused before authentication.
    HostKeyChanged,
    /// Nobody vouched for the key of the host. Refused before authentication.
    HostKeyUnknown,
    /// The key of the host is marked as revoked. Refused before authentication.
    HostKeyRevoked,
    /// The host refused every way to log in.
    AuthRefused,
    /// A secret or a decision is needed and nobody is there to give it.
    NeedsPerson,
    /// The host's administrator forbids this kind of forwarding.
    ForwardingRefused,
    /// The far end of a forwarded connection could not be reached from the host.
    ConnectRefused,
    /// The host refused a session or a command.
    ChannelRefused,
    /// The connection is gone.
    Closed,
    /// A reader stood still for so long that its channel was given up; the connection goes on.
    Stalled,
    /// A configuration file or an argument is wrong.
    Config,
    /// The two sides share no algorithm, or the peer does not speak SSH.
    Protocol,
}

impl ErrorKind {
    /// Says whether trying the same again may help without anybody changing anything.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::Unreachable | Self::Closed | Self::ChannelRefused | Self::ConnectRefused | Self::Stalled
        )
    }
}

/// The part of the work that was going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Reading configuration.
    Config,
    /// Looking up the name.
    Lookup,
    /// Opening the TCP connection or starting the proxy.
    Connect,
    /// Key exchange and the check of the host key.
    Handshake,
    /// Logging in.
    Login,
    /// Opening a channel.
    Channel,
    /// Running a command.
    Exec,
    /// Using an established connection.
    Session,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Config => "configuration of",
            Self::Lookup => "looking up",
            Self::Connect => "connecting to",
            Self::Handshake => "handshake with",
            Self::Login => "logging in to",
            Self::Channel => "opening a channel on",
            Self::Exec => "running a command on",
            Self::Session => "connection to",
        })
    }
}

impl Error {
    /// Makes an error; `message` follows the style of this workspace (lowercase, no period, names the object).
    pub fn new(kind: ErrorKind, stage: Stage, host: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind,
            stage,
            host: host.into(),
            message: message.into(),
            hint: None,
            source: None,
        }
    }

    /// Adds advice for a person.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// Says that this host was only on the way to another one.
    #[must_use]
    pub(crate) fn on_the_way_to(mut self, target: &str) -> Self {
        self.message = format!("{} (on the way to {target})", self.message);
        self
    }

    /// Gives what callers decide on.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Gives the stage in which it happened.
    #[must_use]
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Gives the host as the user named it.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Gives the message without stage and host.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Gives the advice, if there is any.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Says whether trying the same again may help without anybody changing anything.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.kind.is_retryable()
    }

    /// Wraps the error for use behind `AsyncRead` and `AsyncWrite`; [`Error::from_io`] gets it back.
    #[must_use]
    pub fn into_io(self) -> std::io::Error {
        let kind = match self.kind {
            ErrorKind::Closed => std::io::ErrorKind::ConnectionReset,
            ErrorKind::Stalled => std::io::ErrorKind::QuotaExceeded,
            _ => std::io::ErrorKind::Other,
        };
        std::io::Error::new(kind, self)
    }

    /// Finds the error of this crate inside an I/O error that a stream of this crate returned.
    #[must_use]
    pub fn from_io(error: &std::io::Error) -> Option<&Self> {
        error.get_ref().and_then(|inner| inner.downcast_ref())
    }
}
