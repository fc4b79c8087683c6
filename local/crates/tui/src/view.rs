//! Where things are on the screen. Layout only.

use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
    text::Span,
};

use crate::{
    model::Model,
    panes::status::{self, LinkLine},
    theme::Role,
};

/// The rows of the screen, from top to bottom.
#[derive(Debug, Clone, Copy)]
struct Areas {
    transcript: Rect,
    link: Rect,
    rule: Rect,
    /// The composer, or the dialog that is in its place.
    bottom: Rect,
    status: Rect,
}

fn areas(model: &Model, area: Rect) -> Areas {
    let dialog = model
        .overlays
        .top()
        .and_then(|overlay| overlay.height(area.width));
    let (bottom, rule, link) = match dialog {
        // A long dialog leaves some rows to read what it is about.
        Some(height) => {
            let most = area.height.saturating_sub(1 + area.height / 4).max(1);
            (height.min(most), 0, 0)
        }
        None => {
            // The composer grows up to two fifths, and the rest is for reading.
            let most = (area.height * 2 / 5).max(1);
            let composer = model.composer.height(area.width, most).clamp(1, most);
            let link = LinkLine::of(model).map_or(0, |line| line.height(area.width));
            (composer, u16::from(area.height >= 8), link)
        }
    };
    // From the bottom up, as far as the rows go: the status line stays longest.
    let mut left = area.height;
    let mut take = |rows: u16| {
        let rows = rows.min(left);
        left -= rows;
        Rect {
            y: area.y + left,
            height: rows,
            ..area
        }
    };
    Areas {
        status: take(1),
        bottom: take(bottom),
        rule: take(rule),
        link: take(link),
        transcript: take(u16::MAX),
    }
}

fn whole(model: &Model) -> Rect {
    let (width, height) = model.screen.size;
    Rect::new(0, 0, width, height)
}

/// Gives where the transcript is.
pub(crate) fn transcript_area(model: &Model) -> Rect {
    areas(model, whole(model)).transcript
}

/// Draws everything, and gives where the cursor is.
pub(crate) fn view(model: &Model, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    if area.is_empty() {
        return None;
    }
    let theme = &model.screen.theme;
    let areas = areas(model, area);
    model.transcript.view(theme, areas.transcript, buffer);
    if !areas.status.is_empty() {
        status::view(model, theme, areas.status, buffer);
    }
    if let Some(overlay) = model.overlays.top() {
        let all = Rect {
            height: area.height.saturating_sub(areas.status.height),
            ..area
        };
        let place = overlay.height(area.width).map_or(all, |_| areas.bottom);
        let cursor = overlay.view(theme, place, buffer);
        return cursor.filter(|position| place.contains(*position));
    }
    if let Some(line) = LinkLine::of(model) {
        line.view(theme, areas.link, buffer);
    }
    if !areas.rule.is_empty() {
        let rule = "─".repeat(usize::from(areas.rule.width));
        let rule = Span::styled(rule, theme.style(Role::Border));
        buffer.set_span(areas.rule.x, areas.rule.y, &rule, areas.rule.width);
    }
    model.composer.view(theme, areas.bottom, buffer);
    let cursor = model.composer.cursor(areas.bottom);
    cursor.filter(|position| areas.bottom.contains(*position))
}
