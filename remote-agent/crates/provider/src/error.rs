//! What can go wrong with a request to a model, what to tell the person, and whether to try again.

use std::{error::Error as StdError, fmt, time::Duration};

use conversation::{Failure, FailureKind};
use vendor_http::Transport;

/// A failure of a named provider.
#[derive(Debug)]
pub struct Error {
    /// The provider's name in the configuration.
    pub provider: String,
    /// What happened.
    pub cause: Cause,
}

/// What happened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The endpoint needs a key and there is none.
    #[error("missing env {env}")]
    MissingKey {
        /// The entry of Reasonix's `.env` that should hold it.
        env: String,
    },
    /// The options make no request possible.
    #[error("{0}")]
    Config(String),
    /// The key was refused (401, 403).
    #[error("authentication failed (HTTP {status}): {message}")]
    Unauthorized {
        /// The HTTP status.
        status: u16,
        /// The vendor's text.
        message: String,
    },
    /// The account has no credit (402, or a 429 that says so).
    #[error("the quota is used up (HTTP {status}): {message}")]
    Quota {
        /// The HTTP status.
        status: u16,
        /// The vendor's text.
        message: String,
    },
    /// The request was refused (other 3xx and 4xx).
    #[error("status {status}: {message}")]
    Refused {
        /// The provider's kind.
        protocol: &'static str,
        /// The HTTP status.
        status: u16,
        /// The vendor's text.
        message: String,
    },
    /// The vendor cannot answer now (429, 5xx).
    #[error("status {status}: {message}")]
    Unavailable {
        /// The HTTP status.
        status: u16,
        /// The vendor's text.
        message: String,
        /// How long the vendor wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// No connection, or it broke before an answer came.
    #[error("could not reach {host}")]
    Connect {
        /// Host and port.
        host: String,
        /// What the connection said.
        #[source]
        source: Transport,
    },
    /// Nothing came for too long.
    #[error("the stream stalled: nothing came for {} s", .limit.as_secs_f32())]
    Stalled {
        /// The limit that was reached.
        limit: Duration,
    },
    /// The answer ended in the middle.
    #[error("the stream ended before completion")]
    Cut(#[source] Option<Transport>),
    /// Who has the key could not, or would not, bring an answer.
    #[error("{message}")]
    Brokered {
        /// Its words.
        message: String,
        /// What to do, in its words.
        hint: Option<String>,
        /// Whether trying again may help.
        again: Again,
    },
    /// The vendor reported an error inside an answer that had begun well.
    #[error("the model reported an error: {message}")]
    Inside {
        /// The vendor's text.
        message: String,
        /// Whether trying again may help.
        again: Again,
    },
    /// A page came instead of an answer.
    #[error("expected an event stream, got {content_type}: {excerpt}")]
    NotAStream {
        /// The content type.
        content_type: String,
        /// The page's beginning.
        excerpt: String,
    },
    /// The answer makes no sense.
    #[error("could not understand the answer: {0}")]
    Malformed(String),
    /// The answer holds no text, no reasoning and no call.
    #[error("the answer was empty")]
    Empty,
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// Whether another attempt may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// It may.
    Maybe,
    /// It will not.
    No,
}

impl Error {
    pub(crate) fn new(provider: &str, cause: Cause) -> Self {
        Self {
            provider: provider.to_owned(),
            cause,
        }
    }

    /// Says what failed for a person: kind, message with causes, and a hint where the provider alone knows one.
    #[must_use]
    pub fn failure(&self) -> Failure {
        Failure {
            kind: self.cause.kind(),
            message: match self.cause.look_up_trouble() {
                Some(trouble) => format!("{self}: {trouble}"),
                None => chain(self),
            },
            hint: self.cause.hint(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            // The vendor's own words follow, so the line says first which format they refused.
            Cause::Refused { protocol, .. } => write!(f, "{} · {protocol}: {}", self.provider, self.cause),
            cause => write!(f, "provider \"{}\": {cause}", self.provider),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.source()
    }
}

impl From<vendor_http::Error> for Cause {
    fn from(error: vendor_http::Error) -> Self {
        match error {
            vendor_http::Error::Config(text) => Self::Config(text),
            vendor_http::Error::Connect { place: host, source } => Self::Connect { host, source },
            vendor_http::Error::Stalled { limit } => Self::Stalled { limit },
            vendor_http::Error::Cut(source) => Self::Cut(Some(source)),
        }
    }
}

impl Cause {
    /// Says whether another attempt with the same bytes may help.
    #[must_use]
    pub fn again(&self) -> Again {
        match self {
            Self::Unavailable { .. }
            | Self::Connect { .. }
            | Self::Stalled { .. }
            | Self::Cut(_)
            | Self::Malformed(_)
            | Self::Empty => Again::Maybe,
            Self::Inside { again, .. } | Self::Brokered { again, .. } => *again,
            Self::MissingKey { .. }
            | Self::Config(_)
            | Self::Unauthorized { .. }
            | Self::Quota { .. }
            | Self::Refused { .. }
            | Self::NotAStream { .. }
            | Self::Cancelled => Again::No,
        }
    }

    /// Gives the wait that the vendor asked for.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Unavailable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Says why the endpoint's name could not be looked up.
    fn look_up_trouble(&self) -> Option<&'static str> {
        let Self::Connect { source, .. } = self else {
            return None;
        };
        source.look_up_trouble()
    }

    fn kind(&self) -> FailureKind {
        match self {
            Self::MissingKey { .. }
            | Self::Unauthorized { .. }
            | Self::Quota { .. }
            | Self::Brokered { again: Again::No, .. } => FailureKind::ModelAccess,
            Self::Unavailable { .. } | Self::Connect { .. } | Self::Stalled { .. } | Self::Cut(_) => {
                FailureKind::ModelUnreachable
            }
            Self::Refused { .. } => FailureKind::ModelRefused,
            Self::Inside { again: Again::No, .. } => FailureKind::ModelRefused,
            Self::Inside {
                again: Again::Maybe, ..
            }
            | Self::Brokered {
                again: Again::Maybe, ..
            } => FailureKind::ModelUnreachable,
            Self::NotAStream { .. } | Self::Malformed(_) | Self::Empty => FailureKind::ModelProtocol,
            Self::Config(_) | Self::Cancelled => FailureKind::Internal,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Brokered { hint, .. } => return hint.clone(),
            Self::MissingKey { env } => {
                return Some(format!(
                    "store it with `reasonix key {env}`; for a host, with `reasonix remote key HOST {env}`"
                ));
            }
            Self::Unauthorized { .. } => {
                "check the provider's key; `reasonix key NAME` stores a new one, `reasonix remote key HOST NAME` on a host"
            }
            Self::Quota { .. } => "top up the account, or choose another model with --model",
            Self::Refused {
                status: 300..=399 | 404 | 405,
                ..
            } => "check the provider's base_url and the model's name",
            Self::NotAStream { .. } => {
                "check the provider's base_url, and that no proxy or login page answers for it"
            }
            Self::Connect { .. } => "check the network and the provider's base_url",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// Joins an error and its causes, leaving out what a cause repeats.
fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        next = cause.source();
    }
    text
}
