//! The text that is being typed, with a cursor and its changes. Pure.

use std::ops::Range;

use super::{
    fragment::Fragment,
    graphemes::{self, Class},
    undo::{Change, Kind, Undo},
};
use crate::keymap::Move;

/// Text, cursor, changes, and what was cut last.
///
/// The cursor is a byte offset and always stands between two characters as a person counts them.
#[derive(Debug, Default)]
pub(super) struct TextBuffer {
    text: Fragment,
    cursor: usize,
    undo: Undo,
    cut: Fragment,
}

impl TextBuffer {
    pub(super) fn text(&self) -> &Fragment {
        &self.text
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Types a text at the cursor.
    pub(super) fn insert(&mut self, text: &Fragment, kind: Kind) {
        if !text.is_empty() {
            self.replace(self.cursor..self.cursor, text, kind);
        }
    }

    /// Puts another text in the place of everything, as one change; the cursor goes to its end.
    pub(super) fn replace_all(&mut self, text: &Fragment) {
        if *text != self.text {
            self.replace(0..self.text.len(), text, Kind::Whole);
        }
        self.move_to(self.text.len());
    }

    /// Gives the text and begins anew, without a past.
    pub(super) fn take(&mut self) -> Fragment {
        self.undo = Undo::default();
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    /// Moves the cursor to the border at or after `at`.
    pub(super) fn move_to(&mut self, at: usize) {
        self.undo.close();
        self.cursor = graphemes::snap(self.text.as_str(), at.min(self.text.len()));
    }

    pub(super) fn go(&mut self, to: Move) {
        self.move_to(self.target(to));
    }

    /// Deletes from the cursor to where the move would go.
    pub(super) fn delete(&mut self, to: Move) {
        let kind = if to == Move::Left {
            Kind::Erase
        } else {
            Kind::Whole
        };
        let range = self.range(to);
        if !range.is_empty() {
            self.replace(range, &Fragment::default(), kind);
        }
    }

    /// Cuts from the cursor to where the move would go. At the end of a line that is the line break.
    pub(super) fn kill(&mut self, to: Move) {
        let range = match (self.range(to), to) {
            (range, Move::LineEnd) if range.is_empty() => self.range(Move::Right),
            (range, Move::LineStart) if range.is_empty() => self.range(Move::Left),
            (range, _) => range,
        };
        if !range.is_empty() {
            self.cut = self.replace(range, &Fragment::default(), Kind::Whole);
        }
    }

    /// Inserts what was cut last.
    pub(super) fn yank(&mut self) {
        let cut = self.cut.clone();
        self.insert(&cut, Kind::Whole);
    }

    /// Takes the last change back; tells whether there was one.
    pub(super) fn undo(&mut self) -> bool {
        let Some(change) = self.undo.undo() else {
            return false;
        };
        let range = change.at..change.at + change.inserted.len();
        self.text.splice(range, &change.removed);
        self.cursor = change.before;
        true
    }

    /// Makes the last change again that was taken back; tells whether there was one.
    pub(super) fn redo(&mut self) -> bool {
        let Some(change) = self.undo.redo() else {
            return false;
        };
        let range = change.at..change.at + change.removed.len();
        self.text.splice(range, &change.inserted);
        self.cursor = change.after;
        true
    }

    fn replace(&mut self, range: Range<usize>, with: &Fragment, kind: Kind) -> Fragment {
        let before = self.cursor;
        let at = range.start;
        let removed = self.text.splice(range, with);
        // What was inserted or is left may have joined its neighbours.
        self.cursor = graphemes::snap(self.text.as_str(), at + with.len());
        self.undo.push(Change {
            at,
            removed: removed.clone(),
            inserted: with.clone(),
            before,
            after: self.cursor,
            kind,
        });
        removed
    }

    fn range(&self, to: Move) -> Range<usize> {
        let target = self.target(to);
        self.cursor.min(target)..self.cursor.max(target)
    }

    fn target(&self, to: Move) -> usize {
        let text = self.text.as_str();
        match to {
            Move::Left => graphemes::previous(text, self.cursor),
            Move::Right => graphemes::next(text, self.cursor),
            Move::WordLeft => self.left(|class| class == Class::Word),
            Move::BlankLeft => self.left(|class| class != Class::Blank && class != Class::Paste),
            Move::WordRight => self.right(),
            Move::LineStart => text[..self.cursor].rfind('\n').map_or(0, |at| at + 1),
            Move::LineEnd => text[self.cursor..]
                .find('\n')
                .map_or(text.len(), |at| self.cursor + at),
            Move::Start => 0,
            Move::End => text.len(),
        }
    }

    /// Goes left over what belongs to no word and then over the word; a paste is a word of its own.
    fn left(&self, is_word: impl Fn(Class) -> bool) -> usize {
        let text = self.text.as_str();
        let mut at = self.cursor;
        let mut in_word = false;
        while at > 0 {
            let to = graphemes::previous(text, at);
            let class = graphemes::class(text, to);
            match (class, in_word) {
                (Class::Paste, false) => return to,
                (class, false) => in_word = is_word(class),
                (class, true) if !is_word(class) => return at,
                _ => {}
            }
            at = to;
        }
        0
    }

    fn right(&self) -> usize {
        let text = self.text.as_str();
        let mut at = self.cursor;
        let mut in_word = false;
        while at < text.len() {
            let to = graphemes::next(text, at);
            match (graphemes::class(text, at), in_word) {
                (Class::Paste, false) => return to,
                (class, false) => in_word = class == Class::Word,
                (class, true) if class != Class::Word => return at,
                _ => {}
            }
            at = to;
        }
        text.len()
    }
}

#[cfg(test)]
mod tests;
