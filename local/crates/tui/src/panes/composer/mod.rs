//! Where the person types: a text of several lines, its history, and the menu of commands.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | change what a key does | `keymap/defaults.rs` |
//! | change moving, deleting, undoing | [`buffer`], [`undo`] |
//! | change how text is broken into rows | [`wrap`] |
//! | change what happens to pasted text | [`paste`] |
//! | change what is remembered, and where | [`history`] |
//! | change the menu of commands | [`completion`] |

mod buffer;
mod completion;
mod fragment;
mod graphemes;
mod history;
mod model;
mod paste;
mod search;
mod undo;
mod update;
mod view;
mod wrap;

use crossterm::event::KeyEvent;

pub(crate) use self::{
    history::{History, remember},
    model::Composer,
    paste::burst,
};
use crate::slash;

/// What the composer is told.
#[derive(Debug, Clone)]
pub(crate) enum ComposerMsg {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted. It is never sent by this.
    Paste(String),
    /// The pane has this width now, in cells.
    Width(u16),
}

/// What comes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ComposerEffect {
    /// Send this.
    Submit(String),
    /// A command of the screen.
    Slash(slash::Call),
    /// Add this prompt to the history file, with [`remember`].
    Remember(String),
    /// Tell the person this; the text is still there.
    Notice(String),
}
