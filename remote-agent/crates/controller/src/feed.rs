//! How followers hear of a session: each pulls at its own pace from one shared, bounded state.
//!
//! The session publishes durable events into a ring and appends streamed text to its live items. A follower holds
//! two cursors, the number of the last event it gave out and the bytes of each live item it gave out, and takes what
//! is new when it is ready. So a slow follower costs nothing but its own delay, streamed text is merged by itself, a
//! late follower gets the item so far, and nothing is lost or doubled. What has left the ring is read from the log.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use protocol::{Delta, DeltaTarget, Event, EventEnvelope, Frame, ToolEvent, TurnEvent, TurnId};
use session_store::{LogReader, StoreError};
use tokio::sync::watch;

use crate::projection;

/// Durable events kept in memory; older ones are read from disk.
const RING: usize = 512;
/// Events read from disk at a time.
const PAGE: usize = 256;
/// Streamed text of one item is sent at most once in this time.
const MERGE: Duration = Duration::from_millis(16);

/// The shared state.
#[derive(Debug)]
pub(crate) struct Feed {
    state: Mutex<State>,
    /// Counts publications, so that followers know when to look. Closed when the session ends.
    changed: watch::Sender<u64>,
    log: LogReader,
}

#[derive(Debug, Default)]
struct State {
    newest: u64,
    /// The turn whose text is live.
    running: Option<TurnId>,
    ring: VecDeque<EventEnvelope>,
    live: Vec<Live>,
}

/// Text of an item that is not complete.
#[derive(Debug, Clone)]
struct Live {
    target: DeltaTarget,
    text: String,
}

impl Feed {
    /// Makes the feed of a session whose log holds `newest` records.
    pub(crate) fn new(newest: u64, log: LogReader) -> Arc<Self> {
        let state = State {
            newest,
            ..State::default()
        };
        Arc::new(Self {
            state: Mutex::new(state),
            changed: watch::channel(0).0,
            log,
        })
    }

    /// Gives the number of the newest event.
    pub(crate) fn newest(&self) -> u64 {
        self.state().newest
    }

    /// Shows a durable event to followers.
    pub(crate) fn publish(&self, envelope: EventEnvelope) {
        let mut state = self.state();
        state.newest = envelope.n;
        match &envelope.event {
            Event::Turn(TurnEvent::Started { turn }) => state.running = Some(*turn),
            // A turn that was cancelled while it waited ends beside the one that runs.
            Event::Turn(TurnEvent::Ended { turn, .. }) if state.running == Some(*turn) => state.live.clear(),
            event => state.live.retain(|live| !supersedes(event, &live.target)),
        }
        if state.ring.len() == RING {
            state.ring.pop_front();
        }
        state.ring.push_back(envelope);
        drop(state);
        self.wake();
    }

    /// Shows a piece of streamed text to followers.
    pub(crate) fn show(&self, delta: &Delta) {
        let mut state = self.state();
        match state.live.iter_mut().find(|live| live.target == delta.target) {
            Some(live) => live.text.push_str(&delta.text),
            None => state.live.push(Live {
                target: delta.target.clone(),
                text: delta.text.clone(),
            }),
        }
        drop(state);
        self.wake();
    }

    /// Gives the text of live items as deltas from their start.
    pub(crate) fn live(&self) -> Vec<Delta> {
        let whole = |live: &Live| Delta {
            target: live.target.clone(),
            offset: 0,
            text: live.text.clone(),
        };
        self.state().live.iter().map(whole).collect()
    }

    /// Starts following after event `after`.
    pub(crate) fn subscribe(self: &Arc<Self>, after: u64, ended: watch::Receiver<bool>) -> Subscription {
        Subscription {
            feed: Arc::clone(self),
            changed: self.changed.subscribe(),
            ended,
            after,
            sent: HashMap::new(),
            ready: VecDeque::new(),
            pause: false,
        }
    }

    /// Reads events from disk.
    pub(crate) async fn read(&self, after: u64, limit: usize) -> Result<Vec<EventEnvelope>, StoreError> {
        let log = self.log.clone();
        let stored = stdx::task::blocking(move || log.read(after, limit)).await?;
        Ok(stored
            .iter()
            .map(|stored| projection::event(stored.n, stored.at, &stored.record))
            .collect())
    }

    fn wake(&self) {
        self.changed.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says whether an event supersedes the streamed text of a target.
fn supersedes(event: &Event, target: &DeltaTarget) -> bool {
    match (event, target) {
        (
            Event::Turn(TurnEvent::Assistant { item: done, .. } | TurnEvent::Discarded { item: done, .. }),
            DeltaTarget::Text { item } | DeltaTarget::Reasoning { item },
        ) => done == item,
        (Event::Tool(ToolEvent::Finished { call: done, .. }), DeltaTarget::Output { call }) => done == call,
        _ => false,
    }
}

/// One follower of a session.
#[derive(Debug)]
pub struct Subscription {
    feed: Arc<Feed>,
    changed: watch::Receiver<u64>,
    ended: watch::Receiver<bool>,
    after: u64,
    /// Bytes given out of each live item.
    sent: HashMap<DeltaTarget, usize>,
    ready: VecDeque<Frame>,
    /// Whether streamed text was given out last, so that the next waits for [`MERGE`].
    pause: bool,
}

/// Bytes of text in one delta at most: a command may print faster than its followers read, and no frame may become too
/// long for them.
const PIECE: usize = 256 * 1024;

impl Subscription {
    /// Gives the next frame, waiting for it. `None` when the session or its daemon ends, or its log cannot be read;
    /// a follower then asks again from its last number.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            self.changed.mark_unchanged();
            if std::mem::take(&mut self.pause) {
                self.wait_for_merge().await;
            }
            if self.fill().await.is_err() {
                return None;
            }
            if !self.ready.is_empty() {
                continue;
            }
            if *self.ended.borrow() {
                return None;
            }
            tokio::select! {
                biased;
                // What was published before the end is given out first.
                ended = self.ended.wait_for(|ended| *ended) => {
                    if ended.is_err() {
                        return None;
                    }
                }
                changed = self.changed.changed() => {
                    if changed.is_err() {
                        return None;
                    }
                }
            }
        }
    }

    /// Waits so that streamed text is merged, but not past a durable event.
    async fn wait_for_merge(&mut self) {
        let deadline = tokio::time::sleep(MERGE);
        tokio::pin!(deadline);
        loop {
            tokio::select! {
                biased;
                changed = self.changed.changed() => {
                    if changed.is_err() || self.feed.newest() > self.after {
                        return;
                    }
                }
                () = &mut deadline => return,
            }
        }
    }

    /// Queues what is new: durable events first, then the text of live items.
    async fn fill(&mut self) -> Result<(), StoreError> {
        if self.fill_from_memory() {
            return Ok(());
        }
        for event in self.feed.read(self.after, PAGE).await? {
            self.after = event.n;
            self.ready.push_back(Frame::Event(event));
        }
        Ok(())
    }

    /// Queues what is new, unless some of it has left the ring.
    fn fill_from_memory(&mut self) -> bool {
        let feed = Arc::clone(&self.feed);
        let state = feed.state();
        let first = state.ring.front().map_or(state.newest + 1, |event| event.n);
        if self.after + 1 < first {
            return false;
        }
        for event in state.ring.iter().filter(|event| event.n > self.after) {
            self.ready.push_back(Frame::Event(event.clone()));
        }
        self.after = self.after.max(state.newest);
        self.sent
            .retain(|target, _| state.live.iter().any(|live| live.target == *target));
        for live in &state.live {
            let sent = self.sent.entry(live.target.clone()).or_default();
            let mut left = live.text.get(*sent..).unwrap_or_default();
            while !left.is_empty() {
                let (piece, rest) = left.split_at(stdx::bounded::prefix(left, PIECE).len());
                self.ready.push_back(Frame::Delta(Delta {
                    target: live.target.clone(),
                    offset: *sent as u64,
                    text: piece.to_owned(),
                }));
                self.pause = true;
                *sent += piece.len();
                left = rest;
            }
            *sent = live.text.len();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_follower_that_was_away_gets_long_text_in_pieces() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("log.jsonl"), "").unwrap();
        let (log, _) = LogReader::open(folder.path()).unwrap();
        let feed = Feed::new(0, log);
        let (_end, ended) = watch::channel(false);
        let mut follower = feed.subscribe(0, ended);
        let text = "aä€".repeat(PIECE / 2);
        let target = DeltaTarget::Text { item: 1 };
        feed.show(&Delta {
            target: target.clone(),
            offset: 0,
            text: text.clone(),
        });
        let mut got = String::new();
        while got.len() < text.len() {
            let Some(Frame::Delta(delta)) = follower.next().await else {
                panic!("no text at {}", got.len());
            };
            assert_eq!((&delta.target, delta.offset), (&target, got.len() as u64));
            assert!(delta.text.len() <= PIECE);
            got.push_str(&delta.text);
        }
        assert_eq!(got, text);
    }
}
