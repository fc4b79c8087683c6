//! Draws what is in sight.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
};

use super::{
    model::Transcript,
    scroll::{Place, Scroll},
};
use crate::theme::{Role, Theme};

impl Transcript {
    pub(crate) fn view(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        self.drawn.size.set((area.width, area.height));
        self.set_look(area.width, *theme);
        self.drawn.cache.borrow_mut().begin_drawing();
        let top = self.top(usize::from(area.height));
        let is_following = matches!(self.scroll, Scroll::Follow);
        // The last row says what is below, unless that is nothing.
        let rows = if is_following || area.height < 2 {
            area.height
        } else {
            area.height - 1
        };
        let end = self.draw(top, Rect { height: rows, ..area }, buffer);
        if rows < area.height {
            let row = Rect::new(area.x, area.y + rows, area.width, 1);
            self.draw_below(end, theme, row, buffer);
        }
    }

    /// Draws from a place on, and gives the place after the last line.
    fn draw(&self, top: Place, area: Rect, buffer: &mut Buffer) -> Place {
        let Place { mut index, mut line } = top;
        for row in area.rows() {
            while index < self.len() && line >= self.height(index) {
                index += 1;
                line = 0;
            }
            let Some(cell) = self.cell(index) else { break };
            if let Some(at) = line.checked_sub(self.gap(index)) {
                let mut cache = self.drawn.cache.borrow_mut();
                if let Some(drawn) = cache.laid(cell).and_then(|laid| laid.line(at)) {
                    buffer.set_line(row.x, row.y, drawn, row.width);
                }
            }
            line += 1;
        }
        self.after(Place { index, line }, 0)
    }

    fn draw_below(&self, end: Place, theme: &Theme, row: Rect, buffer: &mut Buffer) {
        let below = self.below(end);
        let has_news = matches!(self.scroll, Scroll::At { has_news: true, .. });
        let at_least = if below.is_all { "" } else { "more than " };
        let new = if has_news { "new " } else { "" };
        let plural = if below.lines == 1 { "" } else { "s" };
        let text = format!("↓ {at_least}{} {new}line{plural} below (Ctrl+End)", below.lines);
        let role = if has_news { Role::Accent } else { Role::Dim };
        let line = Line::from(Span::styled(text, theme.style(role)));
        let line = richtext::truncate_line(line, usize::from(row.width));
        buffer.set_line(row.x, row.y, &line, row.width);
    }
}
