//! Which piece of a big file is carried next, by several channels at once.
//!
//! Pieces begin in order, and none begins before all that lie [`AHEAD`] pieces in front of it are done. So the length of
//! a file that was left half-written says how much of its front is whole: [`whole_front`].

use std::ops::Range;

/// Size of a piece, in bytes.
pub(crate) const PIECE: u64 = 1 << 20;
/// How many pieces may be under way, counted from the first that is not done.
pub(crate) const AHEAD: u64 = 16;

/// Which pieces are to do, under way and done.
#[derive(Debug)]
pub(crate) struct Segments {
    size: u64,
    next: u64,
    /// All pieces before this one are done.
    front: u64,
    /// Done behind the front.
    done: Vec<u64>,
}

impl Segments {
    /// Begins at `from`, which is a multiple of [`PIECE`].
    pub(crate) fn new(size: u64, from: u64) -> Self {
        Self {
            size,
            next: from / PIECE,
            front: from / PIECE,
            done: Vec::new(),
        }
    }

    /// Gives the next piece, where one may begin now.
    pub(crate) fn take(&mut self) -> Option<(u64, Range<u64>)> {
        let piece = self.next;
        let start = piece * PIECE;
        if start >= self.size || piece >= self.front + AHEAD {
            return None;
        }
        self.next += 1;
        Some((piece, start..self.size.min(start + PIECE)))
    }

    /// Notes that a piece is done.
    pub(crate) fn finish(&mut self, piece: u64) {
        self.done.push(piece);
        while let Some(at) = self.done.iter().position(|done| *done == self.front) {
            self.done.swap_remove(at);
            self.front += 1;
        }
    }

    /// Says whether every piece has begun.
    pub(crate) fn all_begun(&self) -> bool {
        self.next * PIECE >= self.size
    }

    /// Says whether every piece is done.
    pub(crate) fn all_done(&self) -> bool {
        self.front * PIECE >= self.size
    }

    /// Gives how many bytes from the start are whole.
    pub(crate) fn front(&self) -> u64 {
        self.size.min(self.front * PIECE)
    }
}

/// Gives how many bytes from the start are whole in a file that was left with this length.
pub(crate) fn whole_front(length: u64) -> u64 {
    let Some(last) = length.checked_sub(1) else {
        return 0;
    };
    (last / PIECE + 1).saturating_sub(AHEAD) * PIECE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_length_promises_is_whole_in_any_order_of_ends() {
        for turn in 0..50_u64 {
            let size = 60 * PIECE + 5;
            let mut segments = Segments::new(size, 0);
            let (mut under_way, mut done, mut length) = (Vec::new(), vec![false; 61], 0);
            let mut random = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            while !segments.all_begun() || !under_way.is_empty() {
                while let Some((piece, range)) = segments.take() {
                    under_way.push(piece);
                    length = range.end;
                }
                let front = usize::try_from(whole_front(length) / PIECE).unwrap_or(0);
                assert!(done.iter().take(front).all(|done| *done), "turn {turn}");
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let at = usize::try_from(random).unwrap_or(0) % under_way.len();
                let piece: u64 = under_way.swap_remove(at);
                segments.finish(piece);
                if let Some(done) = usize::try_from(piece).ok().and_then(|at| done.get_mut(at)) {
                    *done = true;
                }
            }
            assert_eq!(segments.front(), size);
        }
    }
}
