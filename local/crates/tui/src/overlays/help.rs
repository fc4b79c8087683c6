//! Keys and commands, made from the tables that are in force.

use std::cell::Cell;

use crossterm::event::KeyEvent;
use ratatui::{
    buffer::Buffer,
    layout::{Margin, Position, Rect},
    text::Span,
    widgets::{Block, BorderType, Clear, Widget as _},
};
use unicode_width::UnicodeWidthStr as _;

use super::{OverlayOutcome, input::Input};
use crate::{
    keymap::{Context, Keymap, ListKey},
    slash::COMMANDS,
    theme::{Role, Theme},
};

/// The widest it gets.
const MAX_WIDTH: u16 = 100;
/// The widest the column of keys and names gets.
const MAX_LEFT: usize = 40;

/// Between the columns.
const GAP: usize = 2;
/// Before what stands below its keys.
const INDENT: usize = 4;

/// What can be typed beside commands.
const HINTS: [(&str, &str); 2] = [
    ("exit", "The same as /quit"),
    (
        " /text",
        "A space in front sends what looks like a command as text",
    ),
];

/// The dialog.
#[derive(Debug)]
pub(crate) struct Help {
    keymap: Keymap,
    entries: Vec<Entry>,
    filter: Input,
    scroll: Cell<usize>,
    /// Rows that were seen, known once it was drawn.
    seen: Cell<usize>,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    section: &'static str,
    left: String,
    about: &'static str,
}

/// One row as drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
enum HelpRow<'a> {
    Blank,
    Section(&'static str),
    /// Keys or a command, and what they do beside it.
    Entry(&'a str, &'a str),
    /// What they do, on a row of its own.
    About(&'a str),
}

impl Help {
    pub(crate) fn new() -> Self {
        let keymap = Keymap::default();
        Self {
            entries: entries(&keymap),
            keymap,
            filter: Input::new(),
            scroll: Cell::new(0),
            seen: Cell::new(0),
        }
    }

    /// Takes a key: it scrolls, filters or closes.
    pub(crate) fn update(&mut self, key: KeyEvent) -> OverlayOutcome {
        let page = self.seen.get().max(1);
        let at = self.scroll.get();
        let at = match self.keymap.list(key) {
            Some(ListKey::Close | ListKey::Accept) => return OverlayOutcome::Closed,
            Some(ListKey::Up) => at.saturating_sub(1),
            Some(ListKey::Down) => at.saturating_add(1),
            Some(ListKey::PageUp) => at.saturating_sub(page),
            Some(ListKey::PageDown) => at.saturating_add(page),
            Some(ListKey::First) => 0,
            Some(ListKey::Last) => usize::MAX,
            None if self.filter.update(key) => 0,
            None => at,
        };
        // Drawing knows how many rows there are, and takes back what is too much.
        self.scroll.set(at);
        OverlayOutcome::Open
    }

    /// Takes pasted text: its first line is filtered by.
    pub(crate) fn paste(&mut self, text: &str) {
        self.filter.paste(text);
        self.scroll.set(0);
    }

    /// Draws it over the whole height of the area.
    pub(crate) fn view(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        let frame = frame(area);
        Clear.render(frame, buffer);
        Block::bordered()
            .border_type(BorderType::Rounded)
            .border_style(theme.style(Role::Border))
            .title(Span::styled(" Help ", theme.style(Role::Accent)))
            .render(frame, buffer);
        let inner = frame.inner(Margin::new(2, 1));
        if inner.is_empty() {
            return;
        }
        self.draw_filter(theme, inner, buffer);
        let list = Rect {
            y: inner.y + 1,
            height: inner.height - 1,
            ..inner
        };
        let left = self.left().min(usize::from(list.width) / 2);
        let rows = self.rows(left, usize::from(list.width));
        let height = usize::from(list.height);
        self.seen.set(height);
        self.scroll
            .set(self.scroll.get().min(rows.len().saturating_sub(height)));
        for (row, place) in rows.iter().skip(self.scroll.get()).zip(list.rows()) {
            row.draw(left, theme, place, buffer);
        }
        let below = rows.len().saturating_sub(self.scroll.get() + height);
        draw_note(below, theme, frame, buffer);
    }

    /// Gives where the cursor stands: behind the filter.
    pub(crate) fn cursor(&self, area: Rect) -> Option<Position> {
        let inner = frame(area).inner(Margin::new(2, 1));
        let behind = u16::try_from(self.filter.text().width() + 2).unwrap_or(u16::MAX);
        let last = inner.width.checked_sub(1)?;
        Some(Position::new(inner.x + behind.min(last), inner.y))
    }

    fn draw_filter(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        let width = usize::from(area.width);
        let (x, _) = buffer.set_stringn(area.x, area.y, "› ", width, theme.style(Role::Accent));
        let (text, role) = match self.filter.text() {
            "" => ("type to filter, Esc closes", Role::Dim),
            text => (text, Role::Text),
        };
        buffer.set_stringn(x, area.y, text, usize::from(area.right() - x), theme.style(role));
    }

    /// Gives the width of the column of keys and commands.
    fn left(&self) -> usize {
        let widths = self.entries.iter().map(|entry| entry.left.width());
        widths.filter(|width| *width <= MAX_LEFT).max().unwrap_or(0)
    }

    /// Gives the rows of the entries that fit the filter. What has no room beside its keys goes below them.
    fn rows(&self, left: usize, width: usize) -> Vec<HelpRow<'_>> {
        let wanted = self.filter.text().to_lowercase();
        let words: Vec<&str> = wanted.split_whitespace().collect();
        let mut rows = Vec::new();
        let mut section = "";
        for entry in self.entries.iter().filter(|entry| entry.fits(&words)) {
            if entry.section != section {
                section = entry.section;
                rows.extend([HelpRow::Blank, HelpRow::Section(section)]);
            }
            let room = width.saturating_sub(left + GAP);
            if entry.left.width() <= left && entry.about.width() <= room {
                rows.push(HelpRow::Entry(&entry.left, entry.about));
            } else {
                rows.extend([HelpRow::Entry(&entry.left, ""), HelpRow::About(entry.about)]);
            }
        }
        rows
    }
}

impl Entry {
    fn fits(&self, words: &[&str]) -> bool {
        let (left, about) = (self.left.to_lowercase(), self.about.to_lowercase());
        words
            .iter()
            .all(|word| left.contains(word) || about.contains(word))
    }
}

impl HelpRow<'_> {
    fn draw(&self, left: usize, theme: &Theme, row: Rect, buffer: &mut Buffer) {
        let mut put = |column: usize, text: &str, role: Role| {
            let column = u16::try_from(column).unwrap_or(u16::MAX).min(row.width);
            let room = usize::from(row.width - column);
            buffer.set_stringn(row.x + column, row.y, text, room, theme.style(role));
        };
        match self {
            Self::Blank => {}
            Self::Section(name) => put(0, name, Role::Accent),
            Self::Entry(keys, about) => {
                put(0, keys, Role::Code);
                put(left + GAP, about, Role::Text);
            }
            Self::About(about) => put(INDENT, about, Role::Text),
        }
    }
}

fn frame(area: Rect) -> Rect {
    Rect {
        width: area.width.min(MAX_WIDTH),
        ..area
    }
}

fn draw_note(below: usize, theme: &Theme, frame: Rect, buffer: &mut Buffer) {
    if below == 0 {
        return;
    }
    let note = format!(" {below} more, ↑ ↓ PgUp PgDn ");
    let wide = u16::try_from(note.width()).unwrap_or(u16::MAX);
    let x = frame.right().saturating_sub(wide.saturating_add(2));
    if x > frame.x {
        let style = theme.style(Role::Warning);
        buffer.set_stringn(x, frame.bottom() - 1, note, wide.into(), style);
    }
}

fn entries(keymap: &Keymap) -> Vec<Entry> {
    let mut entries: Vec<Entry> = COMMANDS
        .iter()
        .map(|command| Entry {
            section: "Commands",
            left: command
                .aliases
                .iter()
                .fold(command.usage(), |usage, alias| format!("{usage}, /{alias}")),
            about: command.about,
        })
        .collect();
    entries.extend(HINTS.map(|(left, about)| Entry {
        section: "Commands",
        left: left.to_owned(),
        about,
    }));
    entries.extend(keymap.help().into_iter().map(|help| Entry {
        section: match help.context {
            Context::Main | Context::Overlay => "Keys",
            Context::Composer => "Keys while typing",
            Context::List => "Keys in lists",
        },
        left: help.keys,
        about: help.about,
    }));
    entries
}

#[cfg(test)]
mod tests;
