//! Folding frames into the state of a session, and counting what came. No I/O.

use protocol::{Applied, ApplyError, Frame, Snapshot};

/// What a follower saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Durable events that were applied, each once.
    pub received: u64,
    /// Durable events that came again and were dropped.
    pub duplicates: u64,
    /// Times that an event or text came beyond what was known; each was mended by asking again.
    pub gaps: u64,
    /// Pieces of streamed text that were applied.
    pub deltas: u64,
    /// Events that were not received one by one because a snapshot contained them.
    pub in_snapshots: u64,
}

/// What applying a frame did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Step {
    /// The state changed.
    Changed,
    /// It was known already.
    Known,
    /// Something is missing before it; the state is unchanged. Ask for the events after [`Follower::at`] again, or
    /// for a snapshot.
    Behind(ApplyError),
}

/// The state of a session as far as its frames are known.
#[derive(Debug, Clone)]
pub struct Follower {
    snapshot: Snapshot,
    counts: Counts,
}

impl Follower {
    /// Starts from a state.
    #[must_use]
    pub fn new(snapshot: Snapshot) -> Self {
        Self {
            snapshot,
            counts: Counts::default(),
        }
    }

    /// Gives the state.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Gives the number of the last event that is folded in.
    #[must_use]
    pub fn at(&self) -> u64 {
        self.snapshot.at
    }

    /// Gives what was counted.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Folds in one frame.
    pub fn apply(&mut self, frame: &Frame) -> Step {
        match frame {
            Frame::Event(envelope) => match self.snapshot.apply(envelope) {
                Ok(Applied::Changed) => {
                    self.counts.received += 1;
                    Step::Changed
                }
                Ok(Applied::Known) => {
                    self.counts.duplicates += 1;
                    Step::Known
                }
                Err(error) => self.behind(error),
            },
            Frame::Delta(delta) => match self.snapshot.apply_delta(delta) {
                Ok(Applied::Changed) => {
                    self.counts.deltas += 1;
                    Step::Changed
                }
                Ok(Applied::Known) => Step::Known,
                Err(error) => self.behind(error),
            },
            Frame::Snapshot(snapshot) => {
                self.replace(Snapshot::clone(snapshot));
                Step::Changed
            }
            Frame::Unknown => Step::Known,
        }
    }

    /// Takes over a state that was asked for.
    pub fn replace(&mut self, snapshot: Snapshot) {
        self.counts.in_snapshots += snapshot.at.saturating_sub(self.snapshot.at);
        self.snapshot = snapshot;
    }

    /// Notes that a stream has a hole, found before its frame came here.
    pub(crate) fn missing(&mut self, expected: u64, got: u64) -> Step {
        self.behind(ApplyError::Gap { expected, got })
    }

    fn behind(&mut self, error: ApplyError) -> Step {
        self.counts.gaps += 1;
        Step::Behind(error)
    }
}
