//! How a picker looks: filter, rows in columns, keys.

use ratatui::{
    buffer::Buffer,
    layout::{Margin, Position, Rect},
    style::Style,
    text::Span,
    widgets::{Block, BorderType, Clear, Widget as _},
};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::{Picker, Row, SEPARATOR, fuzzy::Fit};
use crate::theme::{Role, Theme};

/// The widest it gets.
const MAX_WIDTH: u16 = 100;
/// The most rows it shows at once.
const MAX_ROWS: usize = 20;
/// The widest a column but the first gets.
const MAX_COLUMN: u16 = 40;
/// What the first column keeps before others go.
const MIN_FIRST: u16 = 20;
/// Between columns.
const GAP: u16 = 2;

/// Measures the columns behind the first.
pub(super) fn widths<T>(rows: &[Row<T>]) -> Vec<u16> {
    let mut widths = Vec::new();
    for row in rows {
        for (index, cell) in row.cells.iter().skip(1).enumerate() {
            if widths.len() <= index {
                widths.push(0);
            }
            let width = u16::try_from(cell.width()).unwrap_or(u16::MAX);
            widths[index] = width.min(MAX_COLUMN).max(widths[index]);
        }
    }
    widths
}

impl<T: Clone> Picker<T> {
    /// Draws it at the bottom of the area.
    pub(crate) fn view(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        let frame = self.frame(area);
        Clear.render(frame, buffer);
        let title = Span::styled(format!(" {} ", self.title), theme.style(Role::Accent));
        Block::bordered()
            .border_type(BorderType::Rounded)
            .border_style(theme.style(Role::Border))
            .title(title)
            .render(frame, buffer);
        let inner = frame.inner(Margin::new(2, 1));
        if inner.is_empty() {
            return;
        }
        self.draw_filter(theme, inner, buffer);
        let list = Rect {
            y: inner.y + 1,
            height: inner.height.saturating_sub(2),
            ..inner
        };
        self.draw_rows(theme, list, buffer);
        if inner.height > 1 {
            self.draw_keys(theme, inner, buffer);
        }
    }

    /// Gives where the cursor stands: behind the filter.
    pub(crate) fn cursor(&self, area: Rect) -> Option<Position> {
        let inner = self.frame(area).inner(Margin::new(2, 1));
        let behind = u16::try_from(self.filter.text().width() + 2).unwrap_or(u16::MAX);
        let last = inner.width.checked_sub(1)?;
        Some(Position::new(inner.x + behind.min(last), inner.y))
    }

    fn frame(&self, area: Rect) -> Rect {
        // Filtering does not change the size: a dialog that jumps cannot be read.
        let rows = u16::try_from(self.rows.len().clamp(1, MAX_ROWS)).unwrap_or(u16::MAX);
        let height = (rows + 4).min(area.height);
        Rect {
            x: area.x,
            y: area.bottom() - height,
            width: area.width.min(MAX_WIDTH),
            height,
        }
    }

    fn draw_filter(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        let width = usize::from(area.width);
        let (x, _) = buffer.set_stringn(area.x, area.y, "› ", width, theme.style(Role::Accent));
        let room = usize::from(area.right() - x);
        match self.filter.text() {
            "" => buffer.set_stringn(x, area.y, "type to filter", room, theme.style(Role::Dim)),
            text => buffer.set_stringn(x, area.y, text, room, theme.style(Role::Text)),
        };
    }

    fn draw_rows(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        let height = usize::from(area.height);
        let last_first = self.shown.len().saturating_sub(height);
        let first = self.window.first.get().min(self.at).min(last_first);
        let first = first.max((self.at + 1).saturating_sub(height));
        self.window.first.set(first);
        self.window.rows.set(height);
        if self.shown.is_empty() && height > 0 {
            let words = if self.rows.is_empty() {
                "there is nothing here"
            } else {
                "nothing fits; Backspace widens the search"
            };
            buffer.set_stringn(area.x, area.y, words, area.width.into(), theme.style(Role::Dim));
        }
        let seen = self.shown.iter().enumerate().skip(first);
        for ((place, (index, fit)), line) in seen.zip(area.rows()) {
            self.draw_row(*index, fit, theme, line, buffer);
            if place == self.at {
                buffer.set_style(line, theme.style(Role::Selection));
            }
        }
    }

    fn draw_row(&self, index: usize, fit: &Fit, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        let columns = columns(&self.widths, area);
        let mut from = 0;
        for (number, cell) in self.rows[index].cells.iter().enumerate() {
            if let Some(column) = columns.get(number) {
                let role = if number == 0 { Role::Text } else { Role::Dim };
                let style = theme.style(role);
                let found = theme.style(Role::Accent);
                draw_cell(cell, *column, buffer, |at| {
                    let is_found = fit.at.binary_search(&(from + at)).is_ok();
                    if is_found { found } else { style }
                });
            }
            from += cell.len() + SEPARATOR.len();
        }
    }

    fn draw_keys(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        let y = area.bottom() - 1;
        let width = usize::from(area.width);
        let style = theme.style(Role::Dim);
        let (x, _) = buffer.set_stringn(area.x, y, "Enter open   Esc close", width, style);
        let count = format!("{} of {}", self.shown.len(), self.rows.len());
        let wide = u16::try_from(count.len()).unwrap_or(u16::MAX);
        let at = area.right().saturating_sub(wide);
        if at > x {
            buffer.set_stringn(at, y, count, width, style);
        }
    }
}

/// Gives the place of each column that has room; the last ones go first.
fn columns(widths: &[u16], area: Rect) -> Vec<Rect> {
    let mut kept = widths.len();
    let behind = |kept: usize| -> u16 { widths[..kept].iter().map(|width| width + GAP).sum() };
    while kept > 0 && area.width < MIN_FIRST.saturating_add(behind(kept)) {
        kept -= 1;
    }
    let first = area.width - behind(kept).min(area.width);
    let mut places = vec![Rect { width: first, ..area }];
    let mut x = area.x + first;
    for width in &widths[..kept] {
        places.push(Rect {
            x: x + GAP,
            width: *width,
            ..area
        });
        x += width + GAP;
    }
    places
}

/// Draws a cell; what does not fit ends in `…`.
fn draw_cell(cell: &str, area: Rect, buffer: &mut Buffer, style: impl Fn(usize) -> Style) {
    let is_cut = cell.width() > usize::from(area.width);
    let end = area.right() - u16::from(is_cut).min(area.width);
    let mut x = area.x;
    for (at, grapheme) in cell.grapheme_indices(true) {
        let width = u16::try_from(grapheme.width()).unwrap_or(u16::MAX);
        if width > end - x {
            break;
        }
        (x, _) = buffer.set_stringn(x, area.y, grapheme, width.into(), style(at));
    }
    if is_cut && x < area.right() {
        buffer.set_stringn(x, area.y, "…", 1, style(usize::MAX / 2));
    }
}
