//! How connections reach the other side: plain SSH channels, or byte streams through the agent.

use std::{fmt::Debug, pin::Pin};

use tokio::io::{AsyncRead, AsyncWrite};

use crate::Endpoint;

/// A future on the heap.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A two-way byte stream. Shutting down the writing side is an end-of-file for the other end; dropping it without that
/// breaks it off where the carrier can say so. A stream that broke is an error, never an end-of-file.
pub trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

/// One way to the host.
pub trait Carrier: Send + Sync + Debug {
    /// Connects from the host to `to`. It may wait while the link is down; how long that is waited for is the caller's to say.
    fn connect(&self, to: Endpoint) -> BoxFuture<'static, Result<Box<dyn Bytes>, Refusal>>;

    /// Listens on the host. Dropping the answer ends that, and keeps the connections that were accepted.
    fn listen(&self, at: Endpoint) -> BoxFuture<'static, Result<Box<dyn Incoming>, Refusal>>;
}

/// A connection that a listener took, and who it is from.
pub type Accepted = (Box<dyn Bytes>, String);

/// A listener on the host.
pub trait Incoming: Send {
    /// Gives where it really listens: the port is known even if 0 was asked for.
    fn bound(&self) -> Endpoint;

    /// Takes the next connection, and who it is from. An error ends the listener.
    fn accept(&mut self) -> BoxFuture<'_, Result<Accepted, Refusal>>;
}

/// Why a carrier did not connect or listen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What a caller has to distinguish.
    pub kind: RefusalKind,
    /// What happened, where and why.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Refusal {
    /// Makes a refusal without advice.
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
        }
    }

    /// Gives the advice, or what can be done about any refusal of the kind.
    #[must_use]
    pub fn advice(&self) -> String {
        let of_kind = match self.kind {
            RefusalKind::Forbidden => "ask the administrator of the host, or leave the rule out",
            RefusalKind::Unreachable => {
                "see whether something listens there, and the rule names the right place"
            }
            RefusalKind::InUse => {
                "end what listens there, or choose another port or path; port 0 is any free one"
            }
            RefusalKind::Lost => "try again when the host is connected",
            RefusalKind::Other => {
                "`reasonix remote doctor` looks at the host; another `via` goes another way"
            }
        };
        self.hint.clone().unwrap_or_else(|| of_kind.to_owned())
    }

    /// Adds advice for a person.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The kinds of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// The host's administrator does not allow it.
    Forbidden,
    /// Nobody answers there, or the way there is closed.
    Unreachable,
    /// The address to listen on is taken.
    InUse,
    /// The link went down.
    Lost,
    /// Anything else.
    Other,
}
