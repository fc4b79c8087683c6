//! Changes that can be taken back.

use super::fragment::Fragment;

/// Changes that are remembered.
const STEPS: usize = 1_000;
/// Bytes of text that are remembered; the newest change always is.
const BYTES: usize = 8 * 1024 * 1024;
/// Bytes of typing that are one change.
const RUN: usize = 1_024;

/// What kind of change it was; like ones in a row are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A character was typed.
    Type,
    /// A character was deleted backwards.
    Erase,
    /// Anything else: a step of its own.
    Whole,
}

/// One change: at `at` stood `removed` and stands `inserted`.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) at: usize,
    pub(super) removed: Fragment,
    pub(super) inserted: Fragment,
    /// Where the cursor was.
    pub(super) before: usize,
    /// Where the cursor went.
    pub(super) after: usize,
    pub(super) kind: Kind,
}

/// The changes of a text.
#[derive(Debug, Default)]
pub(super) struct Undo {
    done: Vec<Change>,
    undone: Vec<Change>,
    /// Bytes of `done`.
    bytes: usize,
    /// Whether the next change may join the last one.
    is_open: bool,
}

impl Undo {
    /// Ends the run of typing: the next change is a step of its own.
    pub(super) fn close(&mut self) {
        self.is_open = false;
    }

    /// Remembers a change that was made.
    pub(super) fn push(&mut self, change: Change) {
        self.undone.clear();
        self.bytes += change.bytes();
        match self.done.last_mut() {
            Some(last) if self.is_open && last.takes(&change) => last.join(change),
            _ => self.done.push(change),
        }
        self.is_open = true;
        let mut first = 0;
        while self.done.len() - first > STEPS || (self.bytes > BYTES && self.done.len() - first > 1) {
            self.bytes -= self.done[first].bytes();
            first += 1;
        }
        self.done.drain(..first);
    }

    /// Gives the change to take back.
    pub(super) fn undo(&mut self) -> Option<&Change> {
        let change = self.done.pop()?;
        self.bytes -= change.bytes();
        self.close();
        self.undone.push(change);
        self.undone.last()
    }

    /// Gives the change to make again.
    pub(super) fn redo(&mut self) -> Option<&Change> {
        let change = self.undone.pop()?;
        self.bytes += change.bytes();
        self.close();
        self.done.push(change);
        self.done.last()
    }
}

impl Change {
    fn bytes(&self) -> usize {
        self.removed.expanded_len() + self.inserted.expanded_len()
    }

    /// Tells whether `next` goes on with what this change began.
    fn takes(&self, next: &Self) -> bool {
        if self.kind != next.kind || self.after != next.before || self.bytes() > RUN {
            return false;
        }
        match self.kind {
            Kind::Type => {
                let blank = |text: &Fragment| text.as_str().ends_with(char::is_whitespace);
                let begins_word = blank(&self.inserted) && !blank(&next.inserted);
                next.removed.is_empty() && next.at == self.at + self.inserted.len() && !begins_word
            }
            Kind::Erase => next.inserted.is_empty() && next.at + next.removed.len() == self.at,
            Kind::Whole => false,
        }
    }

    fn join(&mut self, mut next: Self) {
        self.after = next.after;
        if self.kind == Kind::Type {
            self.inserted.append(&next.inserted);
        } else {
            next.removed.append(&self.removed);
            self.removed = next.removed;
            self.at = next.at;
        }
    }
}
