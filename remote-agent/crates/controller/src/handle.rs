//! What others hold of an open session.

use std::sync::Arc;

use protocol::{
    CommandRequest, Credentials, ErrorBody, ErrorCode, HistoryPage, Phase, Receipt, SessionId, SessionInfo,
    Snapshot, limits,
};
use provider::Provider;
use sha2::{Digest as _, Sha256};
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    feed::{Feed, Subscription},
    life::Life,
};

/// A request to a session's task.
#[derive(Debug)]
pub(crate) enum Request {
    /// Run a command and answer it once its record is on disk.
    Command {
        /// The command.
        request: CommandRequest,
        /// SHA-256 of its canonical body, in hex.
        body: String,
        /// Where the receipt goes.
        reply: oneshot::Sender<Result<Receipt, ErrorBody>>,
    },
    /// Ask models with other credentials as soon as no turn runs.
    Credentials(Credentials, Option<Arc<dyn Provider>>, oneshot::Sender<()>),
    /// Give the state.
    Snapshot(oneshot::Sender<Snapshot>),
}

/// What a session shows of itself at any moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    /// What it does.
    pub(crate) phase: Phase,
    /// The first words of its first request.
    pub(crate) title: String,
    /// When its newest record was written, in milliseconds since the Unix epoch.
    pub(crate) changed_at: u64,
    /// How many turns were asked for.
    pub(crate) turns: u64,
    /// Whose credentials models are asked with.
    pub(crate) credentials: Credentials,
}

/// An open session. Cloning gives another handle; dropping all of them does not end it.
#[derive(Debug, Clone)]
pub struct SessionHandle {
    id: SessionId,
    workspace: Arc<str>,
    /// Bounded; when it is full a command is refused with `busy`, and its sender tries again.
    mailbox: mpsc::Sender<Request>,
    feed: Arc<Feed>,
    status: watch::Receiver<Status>,
    ended: watch::Receiver<bool>,
    life: watch::Receiver<Life>,
}

/// The ends of a session's channels that its task keeps.
#[derive(Debug)]
pub(crate) struct Ends {
    /// Requests.
    pub(crate) mailbox: mpsc::Receiver<Request>,
    /// What it shows of itself.
    pub(crate) status: watch::Sender<Status>,
    /// Set when nothing will follow: the session is closed and still, or its task ends.
    pub(crate) ended: watch::Sender<bool>,
}

impl SessionHandle {
    /// Makes the handle and the ends that the session's task keeps.
    pub(crate) fn new(
        id: SessionId,
        workspace: &str,
        feed: Arc<Feed>,
        status: Status,
        life: watch::Receiver<Life>,
    ) -> (Self, Ends) {
        let (mailbox, requests) = mpsc::channel(64);
        let (status_sender, status) = watch::channel(status);
        let (ended_sender, ended) = watch::channel(false);
        let handle = Self {
            id,
            workspace: workspace.into(),
            mailbox,
            feed,
            status,
            ended,
            life,
        };
        (
            handle,
            Ends {
                mailbox: requests,
                status: status_sender,
                ended: ended_sender,
            },
        )
    }

    /// Gives its entry in a list of sessions.
    #[must_use]
    pub fn info(&self) -> SessionInfo {
        let status = self.status.borrow();
        SessionInfo {
            session: self.id,
            workspace: self.workspace.to_string(),
            title: status.title.clone(),
            changed_at: status.changed_at,
            phase: Some(status.phase),
            turns: Some(status.turns),
            held_by: None,
        }
    }

    pub(crate) fn credentials(&self) -> Credentials {
        self.status.borrow().credentials
    }

    /// Says whether its task has ended, because of a shutdown or a full disk.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.mailbox.is_closed()
    }

    /// Runs a command. The receipt means that it is on disk; sending it again gives the same receipt.
    ///
    /// # Errors
    /// `busy` when the session is behind, `conflict` when the id was used with another body or the state forbids it.
    pub async fn command(&self, request: CommandRequest) -> Result<Receipt, ErrorBody> {
        let body = body_hash(&request);
        let (reply, answer) = oneshot::channel();
        self.mailbox
            .try_send(Request::Command { request, body, reply })
            .map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => ErrorBody {
                    retryable: true,
                    ..ErrorBody::new(ErrorCode::Busy, "the session is behind with its commands")
                },
                mpsc::error::TrySendError::Closed(_) => self.gone(),
            })?;
        answer.await.map_err(|_| self.gone())?
    }

    /// Has models asked with other credentials as soon as no turn runs, and waits until that is on disk or remembered.
    pub(crate) async fn change_credentials(
        &self,
        credentials: Credentials,
        provider: Option<Arc<dyn Provider>>,
    ) -> Result<(), ErrorBody> {
        let (reply, answer) = oneshot::channel();
        self.mailbox
            .send(Request::Credentials(credentials, provider, reply))
            .await
            .map_err(|_| self.gone())?;
        answer.await.map_err(|_| self.gone())
    }

    /// Gives the whole state, streamed text so far included.
    ///
    /// # Errors
    /// `internal` when the session's task has ended.
    pub async fn snapshot(&self) -> Result<Snapshot, ErrorBody> {
        let (reply, answer) = oneshot::channel();
        self.mailbox
            .send(Request::Snapshot(reply))
            .await
            .map_err(|_| self.gone())?;
        answer.await.map_err(|_| self.gone())
    }

    /// Gives up to `limit` events after number `after`, from disk.
    ///
    /// # Errors
    /// `internal` when the log cannot be read.
    pub async fn history(&self, after: u64, limit: usize) -> Result<HistoryPage, ErrorBody> {
        let newest = self.newest();
        let events = self.feed.read(after, limit.min(limits::HISTORY_PAGE)).await;
        let events = events.map_err(|error| {
            ErrorBody::new(
                ErrorCode::Internal,
                format!("could not read the log of session {}: {error}", self.id),
            )
        })?;
        Ok(HistoryPage { events, newest })
    }

    /// Gives the number of the newest event.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.feed.newest()
    }

    /// Follows the session from event `after` on.
    #[must_use]
    pub fn subscribe(&self, after: u64) -> Subscription {
        self.feed.subscribe(after, self.ended.clone())
    }

    fn gone(&self) -> ErrorBody {
        let life = self.life.borrow();
        if life.is_leaving() {
            return life.refusal();
        }
        ErrorBody {
            retryable: true,
            ..ErrorBody::new(
                ErrorCode::Internal,
                format!("session {} has ended in this daemon", self.id),
            )
            .hint("open it again: everything that was acknowledged is in its log")
        }
    }
}

/// Hashes the command without its id; serde writes the fields of a type in a fixed order, so equal commands hash
/// equal.
fn body_hash(request: &CommandRequest) -> String {
    let text = serde_json::to_vec(&request.command).unwrap_or_default();
    hex(&Sha256::digest(text))
}

/// Writes bytes as lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
            // Writing to a String cannot fail.
            let _ = write!(out, "{byte:02x}");
            out
        })
}
