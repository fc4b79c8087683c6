//! The frame that dialogs share: title, text that scrolls when it is long, and the keys at the bottom.

use std::cell::Cell;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::{
    buffer::Buffer,
    layout::{Margin, Rect},
    text::{Line, Span},
    widgets::{Block, BorderType, Clear, Widget as _},
};
use richtext::{Breaking, Indent};

use crate::theme::{Role, Theme};

/// The widest a dialog gets.
const MAX_WIDTH: u16 = 100;

/// What a dialog shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dialog {
    /// Names what it is about. Ours.
    pub(crate) title: String,
    /// What it says; lines of others were made safe by [`Dialog::say`] and [`Dialog::quote`].
    pub(crate) body: Vec<(Role, String, Breaking)>,
    /// The keys and what they do.
    pub(crate) keys: Vec<(&'static str, String)>,
    /// How a dialog that matters more than others looks.
    pub(crate) role: Role,
}

impl Dialog {
    pub(crate) fn new(title: &str, role: Role) -> Self {
        Self {
            title: richtext::safe_line(title),
            body: Vec::new(),
            keys: Vec::new(),
            role,
        }
    }

    /// Adds a paragraph.
    #[must_use]
    pub(crate) fn say(mut self, role: Role, text: &str) -> Self {
        if !text.is_empty() {
            let text = richtext::sanitize(text).into_owned();
            self.body.push((role, text, Breaking::Words));
        }
        self
    }

    /// Adds text in which every blank counts, such as a command.
    #[must_use]
    pub(crate) fn quote(mut self, role: Role, text: &str) -> Self {
        if !text.is_empty() {
            let text = richtext::sanitize(text).into_owned();
            self.body.push((role, text, Breaking::Anywhere));
        }
        self
    }

    /// Adds an empty line.
    #[must_use]
    pub(crate) fn gap(mut self) -> Self {
        self.body.push((Role::Text, String::new(), Breaking::Words));
        self
    }

    /// Adds a key.
    #[must_use]
    pub(crate) fn key(mut self, key: &'static str, does: &str) -> Self {
        self.keys.push((key, richtext::safe_line(does)));
        self
    }

    /// Gives how many rows it wants at a width.
    pub(crate) fn height(&self, width: u16) -> u16 {
        let theme = Theme::default();
        let inside = width.min(MAX_WIDTH).saturating_sub(4);
        let rows = self.lines(&theme, inside).len() + self.key_lines(&theme, inside).len() + 3;
        u16::try_from(rows).unwrap_or(u16::MAX)
    }

    /// Draws it at the bottom of the area, and gives where its text is.
    pub(crate) fn view(&self, scroll: &Scroll, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Drawn {
        let width = area.width.min(MAX_WIDTH);
        let inside = width.saturating_sub(4);
        let body = self.lines(theme, inside);
        let keys = self.key_lines(theme, inside);
        let wanted = body.len() + keys.len() + 3;
        let height = u16::try_from(wanted).unwrap_or(u16::MAX).min(area.height);
        let frame = Rect {
            x: area.x,
            y: area.bottom() - height,
            width,
            height,
        };
        Clear.render(frame, buffer);
        let title = format!(" {} ", self.title);
        Block::bordered()
            .border_type(BorderType::Rounded)
            .border_style(theme.style(self.role))
            .title(Span::styled(title, theme.style(self.role)))
            .render(frame, buffer);
        let inner = frame.inner(Margin::new(2, 1));
        let key_rows = u16::try_from(keys.len()).unwrap_or(u16::MAX).min(inner.height);
        let gap = u16::from(inner.height > key_rows + 1);
        let text = Rect {
            height: inner.height - key_rows - gap,
            ..inner
        };
        let keys_area = Rect {
            y: inner.bottom() - key_rows,
            height: key_rows,
            ..inner
        };
        let hidden = body.len().saturating_sub(usize::from(text.height));
        scroll.max.set(u16::try_from(hidden).unwrap_or(u16::MAX));
        let skip = usize::from(scroll.at).min(hidden);
        draw(&body[skip..], text, buffer);
        draw(&keys, keys_area, buffer);
        if hidden > 0 && frame.height > 1 {
            let note = format!(" {} more lines, ↑ ↓ ", hidden - skip);
            let note = Span::styled(note, theme.style(Role::Warning));
            let x = frame
                .right()
                .saturating_sub(u16::try_from(note.width()).unwrap_or(u16::MAX) + 2);
            if x > frame.x {
                buffer.set_span(x, frame.bottom() - 1, &note, frame.right() - x);
            }
        }
        Drawn {
            text,
            rows: body.len() - skip,
        }
    }

    fn lines(&self, theme: &Theme, width: u16) -> Vec<Line<'static>> {
        let wrap = |(role, text, breaking): &(Role, String, Breaking)| {
            let span = Span::styled(text.clone(), theme.style(*role));
            richtext::wrap(&[span], usize::from(width.max(1)), &Indent::default(), *breaking)
        };
        self.body.iter().flat_map(wrap).collect()
    }

    /// Sets the keys beside each other, as many as fit in a line.
    fn key_lines(&self, theme: &Theme, width: u16) -> Vec<Line<'static>> {
        let mut lines: Vec<Line<'static>> = Vec::new();
        for (key, does) in &self.keys {
            let item = [
                Span::styled(*key, theme.style(Role::Accent)),
                Span::styled(format!(" {does}"), theme.style(Role::Text)),
            ];
            let wide: usize = item.iter().map(Span::width).sum();
            match lines.last_mut() {
                Some(line) if line.width() + 3 + wide <= usize::from(width) => {
                    line.push_span(Span::raw("   "));
                    item.into_iter().for_each(|span| line.push_span(span));
                }
                _ => lines.push(Line::from(item.to_vec())),
            }
        }
        lines
    }
}

/// How far the text of a dialog is scrolled.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scroll {
    at: u16,
    /// How far it can be, known once it was drawn.
    max: Cell<u16>,
}

impl Scroll {
    /// Takes a key that scrolls, and says whether it was one.
    pub(crate) fn update(&mut self, key: KeyEvent) -> bool {
        let at = self.at.min(self.max.get());
        self.at = match key.code {
            KeyCode::Up => at.saturating_sub(1),
            KeyCode::Down => at.saturating_add(1),
            KeyCode::PageUp => at.saturating_sub(10),
            KeyCode::PageDown => at.saturating_add(10),
            KeyCode::Home => 0,
            KeyCode::End => u16::MAX,
            _ => return false,
        };
        true
    }
}

/// Where the text of a dialog is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drawn {
    /// Where the text is.
    pub(crate) text: Rect,
    /// How many of its rows are from the top of that on, seen or not.
    pub(crate) rows: usize,
}

fn draw(lines: &[Line<'static>], area: Rect, buffer: &mut Buffer) {
    for (line, row) in lines.iter().zip(area.rows()) {
        buffer.set_line(row.x, row.y, line, row.width);
    }
}
