//! A session as a front end holds it: always a whole state, kept up to date over reconnects.

use std::io;

use protocol::{ErrorCode, Frame, Phase, Snapshot};

use crate::{
    error::Error,
    events::EventStream,
    follow::{Counts, Follower, Step},
    session::SessionClient,
};

/// What happened to a view.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// A frame was applied.
    Frame(Frame),
    /// The state was replaced as a whole; look at [`SessionView::snapshot`].
    Refreshed,
    /// The session was closed and nothing will follow.
    Closed,
}

/// The state of a session, and the stream that keeps it up to date.
#[derive(Debug)]
pub struct SessionView {
    client: SessionClient,
    follower: Follower,
    stream: Option<EventStream>,
    doubt: Doubt,
}

/// How far the way of mending a hole has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
    None,
    /// The events were asked for again and nothing was applied since.
    AskedAgain,
    /// That did not help: the whole state is needed.
    NeedsSnapshot,
}

impl SessionView {
    /// Asks for the state of a session.
    ///
    /// # Errors
    /// As for every request.
    pub async fn open(client: SessionClient) -> Result<Self, Error> {
        let snapshot = client.snapshot().await?;
        Ok(Self::from_snapshot(client, snapshot))
    }

    /// Starts from a state that is known, such as [`Snapshot::empty`] to get every event from the first on.
    #[must_use]
    pub fn from_snapshot(client: SessionClient, snapshot: Snapshot) -> Self {
        Self {
            client,
            follower: Follower::new(snapshot),
            stream: None,
            doubt: Doubt::None,
        }
    }

    /// Gives the state.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        self.follower.snapshot()
    }

    /// Gives what was counted over all streams of this view.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.follower.counts()
    }

    /// Gives the session, to send commands to.
    #[must_use]
    pub fn client(&self) -> &SessionClient {
        &self.client
    }

    /// Waits for the next change, and applies it. Dropping the future loses nothing.
    ///
    /// Holes are mended here: the missing events are asked for again, and where that does not help the whole state.
    ///
    /// # Errors
    /// As for every request. The view stays whole: after an error that [`Error::is_retryable`], call it again (how
    /// soon is the caller's decision) and it goes on after the last event that was applied.
    pub async fn next(&mut self) -> Result<Update, Error> {
        loop {
            if self.doubt == Doubt::NeedsSnapshot {
                let snapshot = self.client.snapshot().await?;
                self.follower.replace(snapshot);
                self.doubt = Doubt::None;
                return Ok(Update::Refreshed);
            }
            let stream = match &mut self.stream {
                Some(stream) => stream,
                None => match self.client.events(self.follower.at()).await {
                    Ok(stream) => self.stream.insert(stream),
                    // The agent's log is shorter than what we have seen: its machine lost the end of it.
                    Err(Error::Agent(body)) if body.code == ErrorCode::Conflict => {
                        self.doubt = Doubt::NeedsSnapshot;
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            };
            let received = stream.next().await;
            if let Some(update) = self.take(received)? {
                return Ok(update);
            }
        }
    }

    fn take(&mut self, received: Result<Option<Frame>, Error>) -> Result<Option<Update>, Error> {
        match received {
            Ok(Some(frame)) => Ok(self.apply(frame)),
            Ok(None) if self.snapshot().phase == Phase::Closed => {
                self.stream = None;
                Ok(Some(Update::Closed))
            }
            Ok(None) => {
                self.stream = None;
                let ended = io::Error::new(io::ErrorKind::UnexpectedEof, "the agent ended the stream");
                Err(Error::connection("follow the session", ended))
            }
            Err(Error::Gap { expected, got }) => {
                let step = self.follower.missing(expected, got);
                tracing::debug!(?step, "asking for events again");
                self.ask_again();
                Ok(None)
            }
            Err(error) => {
                self.stream = None;
                Err(error)
            }
        }
    }

    fn apply(&mut self, frame: Frame) -> Option<Update> {
        match self.follower.apply(&frame) {
            Step::Changed => {
                self.doubt = Doubt::None;
                match frame {
                    Frame::Snapshot(_) => Some(Update::Refreshed),
                    frame => Some(Update::Frame(frame)),
                }
            }
            Step::Known => None,
            Step::Behind(error) => {
                tracing::debug!(%error, "asking for events again");
                self.ask_again();
                None
            }
        }
    }

    fn ask_again(&mut self) {
        self.stream = None;
        self.doubt = match self.doubt {
            Doubt::None => Doubt::AskedAgain,
            Doubt::AskedAgain | Doubt::NeedsSnapshot => Doubt::NeedsSnapshot,
        };
    }
}
