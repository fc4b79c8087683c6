//! What the composer holds.

use std::sync::OnceLock;

use super::{
    buffer::TextBuffer,
    completion::Menu,
    fragment::Fragment,
    history::History,
    paste::{self, Paste},
    search::Search,
    wrap::Layout,
};
use crate::keymap::Keymap;

/// A text from elsewhere that is longer than this is shown as one block: such a text is sent again, not edited.
const EDITABLE: usize = 16 * 1024;
/// The columns of the sign before the text.
pub(super) const GUTTER: u16 = 2;
/// The width that rows have until the terminal's is known.
const WIDTH: u16 = 80;

/// The pane in which the person types. Its text outlives dialogs, lost links and other sessions.
#[derive(Debug)]
pub(crate) struct Composer {
    pub(super) buffer: TextBuffer,
    pub(super) history: History,
    /// Set while an older prompt is shown.
    pub(super) recall: Option<Recall>,
    pub(super) popup: Popup,
    pub(super) keymap: Keymap,
    /// The column that moves up and down aim at.
    pub(super) goal: Option<u16>,
    /// The width of the pane, for moves up and down.
    pub(super) width: u16,
    /// How many pastes this text has had.
    pub(super) pastes: usize,
    /// The rows for a width, computed when they are first asked for after a change.
    rows: OnceLock<(u16, Layout)>,
}

/// Where in the history one is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recall {
    /// The prompt shown.
    pub(super) at: usize,
    /// What stood in the composer before.
    pub(super) draft: Fragment,
}

/// What is drawn above the text and gets keys first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Popup {
    /// Nothing.
    None,
    /// The commands that may be meant.
    Menu(Menu),
    /// The menu was closed; it stays so until the text begins anew.
    Dismissed,
    /// The search of the history.
    Search(Search),
}

impl Composer {
    /// Makes an empty one.
    pub(crate) fn new(history: History) -> Self {
        Self {
            buffer: TextBuffer::default(),
            history,
            recall: None,
            popup: Popup::None,
            keymap: Keymap::default(),
            goal: None,
            width: WIDTH,
            pastes: 0,
            rows: OnceLock::new(),
        }
    }

    /// Puts a text in the place of the one that is there; undo brings that back.
    pub(crate) fn set_draft(&mut self, text: &str) {
        let draft = self.external(text);
        self.buffer.replace_all(&draft);
        self.recall = None;
        self.goal = None;
        self.popup = Popup::None;
        self.changed();
    }

    /// Tells whether nothing is typed.
    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.text().is_empty()
    }

    /// Empties it; undo brings the text back.
    pub(crate) fn clear(&mut self) {
        self.set_draft("");
    }

    /// Tells whether a menu or a search is open, which gets Esc, Enter and the arrows first.
    #[cfg(test)]
    pub(super) fn has_popup(&self) -> bool {
        matches!(self.popup, Popup::Menu(_) | Popup::Search(_))
    }

    /// Takes a text that a person did not type here: a draft, an older prompt.
    pub(super) fn external(&mut self, text: &str) -> Fragment {
        if text.len() > EDITABLE {
            self.block(text)
        } else {
            Fragment::plain(text)
        }
    }

    /// Makes one block of a text.
    pub(super) fn block(&mut self, text: &str) -> Fragment {
        self.pastes += 1;
        Fragment::paste(Paste::new(self.pastes, paste::clean(text)))
    }

    /// Forgets the rows after the text has changed.
    pub(super) fn changed(&mut self) {
        self.rows = OnceLock::new();
    }

    /// Gives the rows of the text in a pane of this width.
    pub(super) fn with_rows<R>(&self, width: u16, use_rows: impl FnOnce(&Layout) -> R) -> R {
        // One column stays free for the cursor behind a full row.
        let columns = width.saturating_sub(GUTTER + 1);
        let layout = || Layout::new(self.buffer.text(), columns);
        match self.rows.get_or_init(|| (columns, layout())) {
            (known, rows) if *known == columns => use_rows(rows),
            _ => use_rows(&layout()),
        }
    }
}
