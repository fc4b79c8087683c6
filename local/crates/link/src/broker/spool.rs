//! Bytes of an answer between the vendor and the host, kept until the host has confirmed them.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use tokio::sync::{Notify, watch};

/// How large a piece is.
const PIECE: usize = 64 * 1024;

/// How many bytes are kept; who would write more waits.
pub(crate) const ROOM: u64 = 64 * 1024 * 1024;

/// The bytes from one offset on (pure).
#[derive(Debug, Default)]
struct Kept {
    /// The offset of the first byte kept, a multiple of [`PIECE`].
    start: u64,
    /// All of [`PIECE`] bytes but the last.
    pieces: VecDeque<Vec<u8>>,
    /// The offset after the last byte.
    end: u64,
    is_complete: bool,
}

/// What a reader finds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// The next bytes.
    Bytes(Bytes),
    /// More will come.
    NotYet,
    /// Nothing will come any more.
    End,
    /// These bytes are not kept any more.
    Gone,
}

impl Kept {
    fn append(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.pieces.back().is_none_or(|last| last.len() == PIECE) {
                self.pieces.push_back(Vec::new());
            }
            let Some(last) = self.pieces.back_mut() else {
                return;
            };
            let (now, later) = bytes.split_at(bytes.len().min(PIECE - last.len()));
            last.extend_from_slice(now);
            self.end += now.len() as u64;
            bytes = later;
        }
    }

    fn read(&self, at: u64) -> Read {
        let Some(skip) = at.checked_sub(self.start) else {
            return Read::Gone;
        };
        if at >= self.end {
            return if self.is_complete { Read::End } else { Read::NotYet };
        }
        let place = usize::try_from(skip).unwrap_or(usize::MAX);
        let piece = self.pieces.get(place / PIECE);
        let bytes = piece.and_then(|piece| piece.get(place % PIECE..));
        Read::Bytes(Bytes::copy_from_slice(bytes.unwrap_or_default()))
    }

    fn confirm(&mut self, to: u64) {
        while self.start + PIECE as u64 <= to && self.pieces.pop_front().is_some() {
            self.start += PIECE as u64;
        }
    }

    fn has_room(&self) -> bool {
        self.end - self.start < ROOM
    }
}

/// The bytes of one answer: one writer, and one reader that counts. A reader of a delivery that is over may still be there.
#[derive(Debug, Default)]
pub(crate) struct Spool {
    kept: Mutex<Kept>,
    grown: watch::Sender<()>,
    shrunk: Notify,
}

impl Spool {
    fn with<T>(&self, look: impl FnOnce(&mut Kept) -> T) -> T {
        look(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for room and appends.
    pub(crate) async fn write(&self, bytes: &[u8]) {
        while !self.with(|kept| kept.has_room()) {
            self.shrunk.notified().await;
        }
        self.with(|kept| kept.append(bytes));
        self.grown.send_replace(());
    }

    /// Appends the last bytes, for which there is always room.
    pub(crate) fn complete(&self, bytes: &[u8]) {
        self.with(|kept| {
            kept.append(bytes);
            kept.is_complete = true;
        });
        self.grown.send_replace(());
    }

    /// Waits for the bytes at an offset; `None` at the end, or where they are not kept any more.
    pub(crate) async fn read(&self, at: u64) -> Option<Bytes> {
        let mut grown = self.grown.subscribe();
        loop {
            match self.with(|kept| kept.read(at)) {
                Read::Bytes(bytes) => return Some(bytes),
                // The sender is part of this value.
                Read::NotYet => grown.changed().await.ok()?,
                Read::End | Read::Gone => return None,
            }
        }
    }

    /// Forgets what lies before an offset: the host has it.
    pub(crate) fn confirm(&self, to: u64) {
        self.with(|kept| kept.confirm(to));
        self.shrunk.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(from: u64, to: u64) -> Vec<u8> {
        (from..to)
            .map(|at| u8::try_from(at.wrapping_mul(31) % 251).unwrap())
            .collect()
    }

    fn all(kept: &Kept, mut at: u64) -> Vec<u8> {
        let mut found = Vec::new();
        while let Read::Bytes(bytes) = kept.read(at) {
            at += bytes.len() as u64;
            found.extend_from_slice(&bytes);
        }
        found
    }

    #[test]
    fn gives_the_same_bytes_from_every_offset_that_is_kept() {
        let mut kept = Kept::default();
        let total = 3 * PIECE as u64 + 77;
        let mut at = 0;
        for size in [1, 17, 64 * 1024 - 18, 5, 64 * 1024 + 9].into_iter().cycle() {
            let to = total.min(at + size);
            kept.append(&bytes(at, to));
            at = to;
            if at == total {
                break;
            }
        }
        kept.is_complete = true;
        for from in [0, 1, 65_535, 65_536, 65_537, total - 1] {
            assert_eq!(all(&kept, from), bytes(from, total), "{from}");
        }
        assert_eq!(kept.read(total), Read::End);
        kept.confirm(2 * PIECE as u64 + 5);
        assert_eq!(kept.read(PIECE as u64), Read::Gone);
        let from = 2 * PIECE as u64 + 5;
        assert_eq!(all(&kept, from), bytes(from, total));
    }

    #[test]
    fn is_full_until_something_is_confirmed() {
        let mut kept = Kept::default();
        let piece = vec![0; PIECE];
        while kept.has_room() {
            kept.append(&piece);
        }
        assert_eq!(kept.end, ROOM);
        kept.confirm(PIECE as u64 - 1);
        assert!(!kept.has_room());
        kept.confirm(PIECE as u64);
        assert!(kept.has_room());
        assert_eq!(kept.read(ROOM), Read::NotYet);
    }

    #[tokio::test]
    async fn a_reader_gets_what_comes_later() {
        let spool = std::sync::Arc::new(Spool::default());
        let writer = std::sync::Arc::clone(&spool);
        let write = async move {
            writer.write(b"one").await;
            tokio::task::yield_now().await;
            writer.complete(b"two");
        };
        let read = async {
            let mut found = Vec::new();
            while let Some(bytes) = spool.read(found.len() as u64).await {
                found.extend_from_slice(&bytes);
            }
            found
        };
        let ((), found) = tokio::join!(write, read);
        assert_eq!(found, b"onetwo");
    }
}
