//! How the composer looks: a sign, the text, and above it the menu or the search.

use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
    widgets::{Clear, Widget as _},
};

use super::{
    Composer, graphemes,
    model::{GUTTER, Popup},
    wrap::{Layout, Unit},
};
use crate::theme::{Role, Theme};

/// Rows of the menu and of the search.
const POPUP_ROWS: usize = 8;
/// What stands in an empty composer.
const PLACEHOLDER: &str = "Ask for something   / commands   ? help";

impl Composer {
    /// Gives how many rows it wants at this width, at most `max`.
    pub(crate) fn height(&self, width: u16, max: u16) -> u16 {
        let rows = self.with_rows(width, Layout::row_count);
        u16::try_from(rows).unwrap_or(u16::MAX).min(max).max(1)
    }

    /// Draws it into its area; the menu and the search are drawn above that, over what is there.
    pub(crate) fn view(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        self.with_rows(area.width, |rows| self.draw_text(rows, theme, area, buffer));
        match &self.popup {
            Popup::None | Popup::Dismissed => {}
            Popup::Menu(menu) => {
                let wide = menu
                    .rows
                    .iter()
                    .map(|row| row.label.chars().count())
                    .max()
                    .unwrap_or(0);
                let rows = menu
                    .rows
                    .iter()
                    .map(|row| format!("{:wide$}  {}", row.label, row.about));
                draw_popup(None, &rows.collect::<Vec<_>>(), menu.at, theme, area, buffer);
            }
            Popup::Search(search) => {
                let head = format!("search: {}", search.wanted);
                let rows = search.found.iter().filter_map(|index| self.history.get(*index));
                let rows: Vec<_> = rows
                    .map(|entry| stdx::bounded::one_line(entry, 4 * usize::from(area.width)))
                    .collect();
                draw_popup(Some(&head), &rows, search.at, theme, area, buffer);
            }
        }
    }

    /// Gives where the cursor stands.
    pub(crate) fn cursor(&self, area: Rect) -> Option<Position> {
        if area.is_empty() {
            return None;
        }
        if let Popup::Search(search) = &self.popup
            && let Some(rows) = popup_height(search.found.len().max(1), true, area)
        {
            let head = unicode_width::UnicodeWidthStr::width(search.wanted.as_str()) + 8;
            let x = area
                .x
                .saturating_add(GUTTER + u16::try_from(head).unwrap_or(u16::MAX / 2));
            return Some(Position::new(x.min(area.right() - 1), area.y - rows));
        }
        self.with_rows(area.width, |rows| {
            let place = rows.place(self.buffer.text(), self.buffer.cursor());
            let top = self.top(rows, area.height);
            let y = area.y + u16::try_from(place.row - top).unwrap_or(0);
            let x = area.x.saturating_add(GUTTER + place.column);
            Some(Position::new(x.min(area.right() - 1), y))
        })
    }

    /// Gives the first row that is seen: the cursor's stays in the middle when not all have room.
    fn top(&self, rows: &Layout, height: u16) -> usize {
        let height = usize::from(height);
        let cursor = rows.place(self.buffer.text(), self.buffer.cursor()).row;
        cursor
            .saturating_sub(height / 2)
            .min(rows.row_count().saturating_sub(height))
    }

    fn draw_text(&self, rows: &Layout, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        let top = self.top(rows, area.height);
        let more_below = rows.row_count() > top + usize::from(area.height);
        for (index, line) in area.rows().enumerate() {
            let is_last = index + 1 == usize::from(area.height);
            let (sign, role) = match index {
                0 if top > 0 => ("↑", Role::Dim),
                _ if is_last && more_below => ("↓", Role::Dim),
                0 => ("›", Role::Accent),
                _ => ("", Role::Dim),
            };
            buffer.set_stringn(line.x, line.y, sign, line.width.into(), theme.style(role));
            for unit in rows.units(self.buffer.text(), top + index) {
                self.draw_unit(unit, theme, line, buffer);
            }
        }
        if self.is_empty() && area.width > GUTTER {
            let room = usize::from(area.width - GUTTER);
            let style = theme.style(Role::Dim);
            buffer.set_stringn(area.x + GUTTER, area.y, PLACEHOLDER, room, style);
        }
    }

    fn draw_unit(&self, unit: Unit, theme: &Theme, line: Rect, buffer: &mut Buffer) {
        let x = line.x.saturating_add(GUTTER + unit.column);
        if x >= line.right() {
            return;
        }
        let room = usize::from(unit.width.min(line.right() - x));
        let text = self.buffer.text();
        let grapheme = &text.as_str()[unit.start..unit.end];
        let (shown, role) = match (grapheme, text.paste_at(unit.start)) {
            (_, Some(paste)) => (paste.label(), Role::Accent),
            ("\t", None) => return,
            (other, None) if graphemes::is_invisible(other) => ("·", Role::Dim),
            (other, None) => (other, Role::Text),
        };
        buffer.set_stringn(x, line.y, shown, room, theme.style(role));
    }
}

/// Gives how many rows a list above the composer gets; `None` when there is no room.
fn popup_height(rows: usize, has_head: bool, area: Rect) -> Option<u16> {
    let wanted = rows.min(POPUP_ROWS) + usize::from(has_head);
    let height = u16::try_from(wanted).unwrap_or(u16::MAX).min(area.y);
    (height > u16::from(has_head)).then_some(height)
}

fn draw_popup(
    head: Option<&str>,
    rows: &[String],
    at: usize,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) {
    let Some(height) = popup_height(rows.len().max(1), head.is_some(), area) else {
        return;
    };
    let place = Rect {
        y: area.y - height,
        height,
        ..area
    };
    Clear.render(place, buffer);
    let mut lines = place.rows();
    let room = usize::from(area.width.saturating_sub(GUTTER));
    if let (Some(head), Some(line)) = (head, head.and_then(|_| lines.next())) {
        buffer.set_stringn(line.x + GUTTER, line.y, head, room, theme.style(Role::Accent));
    }
    let seen = usize::from(height) - usize::from(head.is_some());
    if rows.is_empty() {
        if let Some(line) = lines.next() {
            buffer.set_stringn(
                line.x + GUTTER,
                line.y,
                "nothing found",
                room,
                theme.style(Role::Dim),
            );
        }
        return;
    }
    let first = (at + 1).saturating_sub(seen);
    for ((index, row), line) in rows.iter().enumerate().skip(first).zip(lines) {
        buffer.set_stringn(line.x + GUTTER, line.y, row, room, theme.style(Role::Text));
        if index == at {
            buffer.set_style(line, theme.style(Role::Selection));
        }
    }
}
