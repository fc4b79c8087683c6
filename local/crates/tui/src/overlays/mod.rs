//! Dialogs in front of the panes, as one stack. Adding one adds a file and a variant.

pub(crate) mod help;
pub(crate) mod picker;

use crossterm::event::KeyEvent;
use protocol::SessionId;
use ratatui::{buffer::Buffer, layout::Rect};

use self::{help::Help, picker::Picker};
use crate::theme::Theme;

/// A dialog.
#[derive(Debug)]
pub(crate) enum Overlay {
    /// The sessions of the agent.
    Sessions(Picker<SessionId>),
    /// The keys and commands.
    Help(Help),
}

/// What a key did to a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OverlayOutcome {
    /// It stays.
    Open,
    /// It goes, and nothing follows.
    Closed,
    /// It goes, and this was decided.
    Decided(Decision),
}

/// What a person decided in a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Show this session.
    Session(SessionId),
}

impl Overlay {
    /// Takes a key.
    pub(crate) fn update(&mut self, key: KeyEvent) -> OverlayOutcome {
        match self {
            Self::Sessions(picker) => match picker.update(key) {
                picker::Outcome::Open => OverlayOutcome::Open,
                picker::Outcome::Closed => OverlayOutcome::Closed,
                picker::Outcome::Chosen(session) => OverlayOutcome::Decided(Decision::Session(session)),
            },
            Self::Help(help) => help.update(key),
        }
    }

    /// Draws it into the whole area of the screen.
    pub(crate) fn view(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        match self {
            Self::Sessions(picker) => picker.view(theme, area, buffer),
            Self::Help(help) => help.view(theme, area, buffer),
        }
    }
}
