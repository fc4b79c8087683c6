//! What copying up and down have in common.

use std::{
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    Error, State,
    segments::{PIECE, Segments},
};

/// Asks a transfer to end. What it began is cleaned up before the transfer returns.
pub type Cancel = CancellationToken;

/// From this size on, in bytes, what is left of an interrupted transfer is worth going on with, and a file is carried
/// over several channels.
pub(crate) const BIG: u64 = 4 << 20;
/// A replaced file up to this size, in bytes, is on the disk before it takes the place of the old one.
pub(crate) const SYNCED: u64 = 4 << 20;
/// Files under way at a time in a tree.
pub(crate) const FILES: usize = 256;
/// Up to this size, in bytes, a file is read with one request and written with one: every server takes that.
pub(crate) const SMALL: u64 = 32 * 1024 - 1;
/// The most that is under way of one file on one channel, in bytes.
pub(crate) const UNDER_WAY: u64 = 2 << 20;
/// How long the removal of a half-written file may take.
pub(crate) const CLEANING: Duration = Duration::from_secs(10);

/// How to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Folders with all that is in them; else a folder is refused.
    pub recursive: bool,
    /// Keeps the time of the last change.
    pub times: bool,
    /// What other runs left half-written in the same folder is removed when nothing wrote to it for this long.
    pub stale: Duration,
}

impl Default for Transfer {
    fn default() -> Self {
        Self {
            recursive: false,
            times: true,
            stale: Duration::from_secs(3600),
        }
    }
}

/// What a transfer did. It is whole where `failed` is empty and `cancelled` is not set.
#[derive(Debug, Default)]
#[must_use = "parts of a tree may have failed"]
pub struct Outcome {
    /// Files in place.
    pub files: u64,
    /// Folders made or found.
    pub folders: u64,
    /// Links in place.
    pub links: u64,
    /// Bytes carried over.
    pub bytes: u64,
    /// Bytes that an earlier run had carried already.
    pub resumed: u64,
    /// What was left out, and why. At most 1,000 are kept.
    pub notes: Vec<Note>,
    /// What failed in a tree, while the rest went on. At most 1,000 are kept.
    pub failed: Vec<Error>,
    /// The user ended it.
    pub cancelled: bool,
    /// The state of a single file on the host: as it was read, or as it is now.
    pub state: Option<State>,
}

/// Something that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What it is about.
    pub path: Vec<u8>,
    /// Why, in a few words.
    pub text: &'static str,
}

/// The most that is kept of each kind of message.
const KEPT: usize = 1000;

impl Outcome {
    pub(crate) fn note(&mut self, path: &[u8], text: &'static str) {
        if self.notes.len() < KEPT {
            self.notes.push(Note {
                path: path.to_vec(),
                text,
            });
        }
    }

    /// Notes a failure of one file; a loss of the connection, or of the user's patience, ends all.
    pub(crate) fn fail(&mut self, error: Stop) -> Result<(), Stop> {
        match error {
            Stop::Failed(error) if !error.is_lost() => {
                if self.failed.len() < KEPT {
                    self.failed.push(error);
                }
                Ok(())
            }
            other => Err(other),
        }
    }
}

/// Why a piece of work ended before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    Cancelled,
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Ends a transfer: what was cancelled is an outcome.
pub(crate) fn ended(result: Result<(), Stop>, mut outcome: Outcome) -> Result<Outcome, Error> {
    match result {
        Ok(()) => Ok(outcome),
        Err(Stop::Cancelled) => {
            outcome.cancelled = true;
            Ok(outcome)
        }
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// What became of one file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) bytes: u64,
    pub(crate) resumed: u64,
    /// On the host.
    pub(crate) state: State,
}

/// Gives how a file is cut for one channel: bytes a request, and requests under way.
pub(crate) fn cut(most: u32) -> (u32, usize) {
    const PAGE: u64 = 4096;
    let most = u64::from(most).max(PAGE);
    // Pieces of equal length, so that none ends with a request of a few bytes.
    let count = PIECE.div_ceil(most);
    let chunk = PIECE.div_ceil(count).div_ceil(PAGE) * PAGE;
    let chunk = chunk.min(most);
    let depth = usize::try_from(UNDER_WAY / chunk).unwrap_or(16);
    (u32::try_from(chunk).unwrap_or(32 * 1024), depth.clamp(8, 64))
}

/// The pieces of a file that several channels work on.
#[derive(Debug)]
pub(crate) struct Shared {
    segments: Mutex<Segments>,
    changed: Notify,
}

impl Shared {
    pub(crate) fn new(size: u64, from: u64) -> Self {
        Self {
            segments: Mutex::new(Segments::new(size, from)),
            changed: Notify::new(),
        }
    }

    pub(crate) fn take(&self) -> Option<(u64, Range<u64>)> {
        self.segments().take()
    }

    /// Notes that a piece is done, and wakes who waits for that.
    pub(crate) fn finish(&self, piece: u64) {
        self.segments().finish(piece);
        self.changed.notify_waiters();
    }

    /// Waits until a piece may begin; `None` when all have begun.
    pub(crate) async fn next(&self) -> Option<(u64, Range<u64>)> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
            changed.as_mut().enable();
            {
                let mut segments = self.segments();
                if let Some(piece) = segments.take() {
                    return Some(piece);
                }
                if segments.all_begun() {
                    return None;
                }
            }
            changed.await;
        }
    }

    /// Waits until every piece is done.
    pub(crate) async fn all_done(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.segments().all_done() {
                return;
            }
            changed.await;
        }
    }

    /// Gives how many bytes from the start are whole.
    pub(crate) fn front(&self) -> u64 {
        self.segments().front()
    }

    fn segments(&self) -> MutexGuard<'_, Segments> {
        self.segments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs the workers of a file until every piece is done or one of them fails.
pub(crate) async fn together<'a>(
    shared: &Shared,
    workers: impl Iterator<Item = BoxFuture<'a, Result<(), Stop>>>,
) -> Result<(), Stop> {
    let mut workers: FuturesUnordered<_> = workers.collect();
    let done = shared.all_done();
    tokio::pin!(done);
    loop {
        tokio::select! {
            biased;
            // A channel that is still being opened is not waited for.
            () = &mut done => return Ok(()),
            Some(ended) = workers.next() => ended?,
        }
    }
}

/// Runs `work` until `cancel`.
pub(crate) async fn until<T>(
    cancel: &Cancel,
    work: impl Future<Output = Result<T, Stop>>,
) -> Result<T, Stop> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Stop::Cancelled),
        result = work => result,
    }
}
