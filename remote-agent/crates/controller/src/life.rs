//! Whether a daemon takes sessions, finishes its turns, or ends.

use protocol::{ErrorBody, ErrorCode};
use tokio::sync::watch;

/// What a daemon is about. It only ever goes downwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Life {
    /// It takes sessions.
    Serving,
    /// It finishes its turns and lets each session go when nothing runs in it; with the last one it ends.
    Draining {
        /// The socket of the daemon that takes over.
        successor: Option<String>,
    },
    /// It ends now.
    Ending,
}

impl Life {
    /// Says whether sessions that do nothing are let go.
    pub(crate) fn is_leaving(&self) -> bool {
        *self != Self::Serving
    }

    /// Gives the answer to who asks for a session that is not here any more, or not yet.
    pub(crate) fn refusal(&self) -> ErrorBody {
        let socket = match self {
            Self::Draining { successor } => successor.clone(),
            Self::Serving | Self::Ending => None,
        };
        let error = ErrorBody::new(ErrorCode::Draining, "the agent is ending");
        ErrorBody {
            retryable: true,
            socket,
            ..error.hint("connect again: another one is started")
        }
    }
}

/// Waits until the daemon lets sessions go. A daemon whose table is gone never does.
pub(crate) async fn leaving(life: &mut watch::Receiver<Life>) {
    if life.wait_for(Life::is_leaving).await.is_err() {
        std::future::pending::<()>().await;
    }
}
