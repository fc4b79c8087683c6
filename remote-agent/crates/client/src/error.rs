//! What can go wrong between a front end and an agent.

use std::{sync::Arc, time::Duration};

use protocol::{ErrorBody, ErrorCode, VersionRange};

/// Why a request failed. Cloneable, since several waiting requests may share one failed connection.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// No connection could be made, or it ended before the answer was complete. Trying again may help.
    #[error("could not {doing}")]
    Connection {
        /// What was being done, as in “could not …”.
        doing: String,
        /// What the byte stream or HTTP said.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// The agent answered that it cannot do it.
    #[error("{}", .0.message)]
    Agent(ErrorBody),
    /// The other side said something that no agent says.
    #[error("the answer to {what} makes no sense: {why}")]
    Protocol {
        /// What was asked.
        what: String,
        /// What came instead.
        why: String,
    },
    /// The two sides share no version of the protocol.
    #[error(
        "the agent speaks protocol versions {} to {}, this program {} to {}", .theirs.min, .theirs.max, .ours.min,
        .ours.max
    )]
    NoCommonVersion {
        /// What this build speaks.
        ours: VersionRange,
        /// What the agent speaks.
        theirs: VersionRange,
    },
    /// Durable events are missing in a stream.
    #[error("event {got} came where {expected} was expected")]
    Gap {
        /// The number that should have come.
        expected: u64,
        /// The number that came.
        got: u64,
    },
    /// Not a byte came for too long, not even a keep-alive.
    #[error("nothing was heard of {what} for {after:?}")]
    Stalled {
        /// What was waited for.
        what: String,
        /// How long.
        after: Duration,
    },
    /// As many event streams are open as one connection may have.
    #[error("{} event streams are open already", protocol::limits::http2::EVENT_STREAMS)]
    TooManyStreams,
}

impl Error {
    /// Says whether the same request may succeed later without anybody changing anything.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Connection { .. } | Self::Stalled { .. } | Self::Gap { .. } => true,
            Self::Agent(body) => body.retryable,
            Self::Protocol { .. } | Self::NoCommonVersion { .. } | Self::TooManyStreams => false,
        }
    }

    /// Gives what to do next, where somebody knows.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Agent(body) => body.hint.as_deref(),
            _ => None,
        }
    }

    /// Says whether a request that may be repeated is worth repeating at once.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Connection { .. } => true,
            // A session that is being let go is taken up by another daemon in a moment.
            Self::Agent(body) => matches!(body.code, ErrorCode::Busy | ErrorCode::Draining),
            _ => false,
        }
    }

    pub(crate) fn connection(
        doing: impl Into<String>,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self::Connection {
            doing: doing.into(),
            source: Arc::new(source),
        }
    }

    pub(crate) fn protocol(what: impl Into<String>, why: &(impl ToString + ?Sized)) -> Self {
        Self::Protocol {
            what: what.into(),
            why: why.to_string(),
        }
    }
}
