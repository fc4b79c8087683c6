//! One row out of many.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::{buffer::Buffer, layout::Rect, text::Line};

use crate::theme::{Role, Theme};

/// One row.
#[derive(Debug, Clone)]
pub(crate) struct Row<T> {
    pub(crate) label: String,
    pub(crate) detail: String,
    pub(crate) value: T,
}

/// What a key did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome<T> {
    Open,
    Closed,
    Chosen(T),
}

/// The dialog.
#[derive(Debug)]
pub(crate) struct Picker<T> {
    title: String,
    rows: Vec<Row<T>>,
    at: usize,
}

impl<T: Clone> Picker<T> {
    pub(crate) fn new(title: impl Into<String>, rows: Vec<Row<T>>) -> Self {
        Self {
            title: title.into(),
            rows,
            at: 0,
        }
    }

    pub(crate) fn update(&mut self, key: KeyEvent) -> Outcome<T> {
        match key.code {
            KeyCode::Esc => return Outcome::Closed,
            KeyCode::Enter => {
                return self
                    .rows
                    .get(self.at)
                    .map_or(Outcome::Closed, |row| Outcome::Chosen(row.value.clone()));
            }
            KeyCode::Up => self.at = self.at.saturating_sub(1),
            KeyCode::Down => self.at = (self.at + 1).min(self.rows.len().saturating_sub(1)),
            _ => {}
        }
        Outcome::Open
    }

    pub(crate) fn view(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        let title = Line::styled(self.title.as_str(), theme.style(Role::Accent));
        buffer.set_line(area.x, area.y, &title, area.width);
        for (index, (row, place)) in self.rows.iter().zip(area.rows().skip(1)).enumerate() {
            let role = if index == self.at {
                Role::Selection
            } else {
                Role::Text
            };
            let line = Line::styled(format!("{}  {}", row.label, row.detail), theme.style(role));
            buffer.set_line(place.x, place.y, &line, place.width);
        }
    }
}
