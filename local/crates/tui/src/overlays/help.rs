//! Keys and commands.

use crossterm::event::KeyEvent;
use ratatui::{buffer::Buffer, layout::Rect, text::Line};

use super::OverlayOutcome;
use crate::theme::{Role, Theme};

/// The dialog.
#[derive(Debug, Default)]
pub(crate) struct Help;

impl Help {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn update(&mut self, _key: KeyEvent) -> OverlayOutcome {
        OverlayOutcome::Closed
    }

    pub(crate) fn view(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        let line = Line::styled("help", theme.style(Role::Text));
        buffer.set_line(area.x, area.y, &line, area.width);
    }
}
