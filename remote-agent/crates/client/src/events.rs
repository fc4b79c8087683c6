//! A stream of frames whose durable events have no holes.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use protocol::{Frame, limits};
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    agent::Agent,
    call::excerpt,
    connection::Connection,
    error::Error,
    sse::{Decoder, Message},
};

/// The frames of one session, from a number on.
///
/// Not reading it is harmless: the agent waits, and other requests go on.
#[derive(Debug)]
pub struct EventStream {
    opened: Opened,
    decoder: Decoder,
    ready: VecDeque<Message>,
    last: u64,
    heard: Instant,
    /// Since when a reader waits, kept when the waiting is interrupted so that silence adds up.
    waiting: Option<Instant>,
}

/// What a stream is made from.
#[derive(Debug)]
pub(crate) struct Opened {
    /// For error messages.
    pub(crate) what: String,
    /// Keeps the connection open as long as the stream.
    #[expect(
        dead_code,
        reason = "held, not used: the connection ends with the last handle"
    )]
    pub(crate) agent: Agent,
    pub(crate) connection: Connection,
    #[expect(dead_code, reason = "held, not used: given back when the stream ends")]
    pub(crate) permit: OwnedSemaphorePermit,
    pub(crate) body: Incoming,
    pub(crate) after: u64,
    pub(crate) silence: Duration,
}

impl EventStream {
    pub(crate) fn new(opened: Opened) -> Self {
        Self {
            last: opened.after,
            opened,
            decoder: Decoder::new(limits::EVENT),
            ready: VecDeque::new(),
            heard: stdx::clock::monotonic(),
            waiting: None,
        }
    }

    /// Gives the next frame; `None` when the agent ended the stream. Frames of a newer protocol are skipped; events
    /// that were given before are given again, for the follower to count.
    ///
    /// Dropping the future loses nothing.
    ///
    /// # Errors
    /// [`Error::Gap`] when durable events are missing, [`Error::Stalled`] when not a byte came for too long,
    /// [`Error::Connection`], [`Error::Protocol`]. The stream is of no use afterwards.
    pub async fn next(&mut self) -> Result<Option<Frame>, Error> {
        loop {
            while let Some(message) = self.ready.pop_front() {
                if let Some(frame) = self.accept(&message)? {
                    return Ok(Some(frame));
                }
            }
            match self.bytes().await? {
                Some(bytes) => self
                    .decoder
                    .push(&bytes, &mut self.ready)
                    .map_err(|error| Error::protocol(&self.opened.what, &error))?,
                None => return Ok(None),
            }
        }
    }

    /// Gives the number of the last durable event that was given; asking for events after it continues here.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Gives the monotonic time at which the last byte was read from this stream; keep-alive comments count.
    #[must_use]
    pub fn last_heard(&self) -> Instant {
        self.heard
    }

    async fn bytes(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let since = *self.waiting.get_or_insert_with(stdx::clock::monotonic);
            let deadline = since + self.opened.silence;
            // The time-out looks at the body first: what has arrived is never called silence.
            let frame = tokio::time::timeout_at(deadline.into(), self.opened.body.frame()).await;
            let frame = frame.map_err(|_| Error::Stalled {
                what: self.opened.what.clone(),
                after: self.opened.silence,
            })?;
            self.waiting = None;
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(self.opened.connection.failure(&self.opened.what, error)),
                Some(Ok(frame)) => {
                    // Trailers say nothing here.
                    if let Ok(bytes) = frame.into_data() {
                        self.heard = stdx::clock::monotonic();
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }

    fn accept(&mut self, message: &Message) -> Result<Option<Frame>, Error> {
        let nonsense = |why: String| Error::protocol(&self.opened.what, &why);
        let frame = serde_json::from_str(&message.data)
            .map_err(|error| nonsense(format!("{error} in {}", excerpt(message.data.as_bytes()))))?;
        match frame {
            Frame::Unknown => Ok(None),
            Frame::Event(envelope) => {
                if message.id != envelope.n.to_string() {
                    return Err(nonsense(format!("event {} has id {:?}", envelope.n, message.id)));
                }
                if envelope.n > self.last + 1 {
                    return Err(Error::Gap {
                        expected: self.last + 1,
                        got: envelope.n,
                    });
                }
                self.last = self.last.max(envelope.n);
                Ok(Some(Frame::Event(envelope)))
            }
            Frame::Snapshot(snapshot) => {
                if snapshot.at < self.last {
                    let why = format!("a snapshot at {} came after event {}", snapshot.at, self.last);
                    return Err(nonsense(why));
                }
                self.last = snapshot.at;
                Ok(Some(Frame::Snapshot(snapshot)))
            }
            Frame::Delta(delta) => Ok(Some(Frame::Delta(delta))),
        }
    }
}
