//! Where the person types.

use std::path::PathBuf;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
    text::Line,
};

use crate::{
    slash,
    theme::{Role, Theme},
};

/// What was typed before.
#[derive(Debug, Default)]
pub(crate) struct History {
    file: Option<PathBuf>,
}

impl History {
    pub(crate) fn new(file: Option<PathBuf>) -> Self {
        Self { file }
    }
}

/// What the composer is told.
#[derive(Debug, Clone)]
pub(crate) enum ComposerMsg {
    Key(KeyEvent),
    Paste(String),
}

/// What comes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ComposerEffect {
    /// Send this.
    Submit(String),
    /// Send this to the running turn.
    Steer(String),
    /// A command of the screen.
    Slash(slash::Call),
    /// Write this line to the history file.
    Remember(String),
}

/// The pane.
#[derive(Debug)]
pub(crate) struct Composer {
    text: String,
    history: History,
}

impl Composer {
    pub(crate) fn new(history: History) -> Self {
        Self {
            text: String::new(),
            history,
        }
    }

    pub(crate) fn update(&mut self, msg: ComposerMsg) -> Vec<ComposerEffect> {
        match msg {
            ComposerMsg::Paste(text) => self.text.push_str(&text),
            ComposerMsg::Key(key) => match key.code {
                KeyCode::Enter if !self.text.trim().is_empty() => {
                    tracing::trace!(history = ?self.history.file, "not kept");
                    return vec![ComposerEffect::Submit(std::mem::take(&mut self.text))];
                }
                KeyCode::Backspace => drop(self.text.pop()),
                KeyCode::Char(char) if !key.modifiers.contains(KeyModifiers::CONTROL) => self.text.push(char),
                _ => {}
            },
        }
        Vec::new()
    }

    pub(crate) fn set_draft(&mut self, text: &str) {
        text.clone_into(&mut self.text);
    }

    /// Gives how many rows it wants at this width, at most `max`.
    pub(crate) fn height(&self, _width: u16, max: u16) -> u16 {
        1.min(max)
    }

    pub(crate) fn view(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        let line = Line::styled(format!("› {}", self.text), theme.style(Role::Text));
        buffer.set_line(area.x, area.y, &line, area.width);
    }

    pub(crate) fn cursor(&self, area: Rect) -> Option<Position> {
        let width = unicode_width::UnicodeWidthStr::width(self.text.as_str()) + 2;
        let x = area.x
            + u16::try_from(width)
                .unwrap_or(u16::MAX)
                .min(area.width.saturating_sub(1));
        Some(Position::new(x, area.y))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
    }
}
