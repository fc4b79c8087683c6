//! Where things are on the screen. Layout only.

use ratatui::{
    buffer::Buffer,
    layout::{Constraint, Layout, Position, Rect},
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
    composer: Rect,
    status: Rect,
}

fn areas(model: &Model, area: Rect) -> Areas {
    // The composer grows up to two fifths, and the rest is for reading.
    let most = (area.height * 2 / 5).max(1);
    let composer = model.composer.height(area.width, most).clamp(1, most);
    let link = LinkLine::of(model).map_or(0, |line| line.height(area.width));
    let rule = u16::from(area.height >= 8);
    let [transcript, link, rule, composer, status] = Layout::vertical([
        Constraint::Fill(1),
        Constraint::Length(link),
        Constraint::Length(rule),
        Constraint::Length(composer),
        Constraint::Length(1),
    ])
    .areas(area);
    Areas {
        transcript,
        link,
        rule,
        composer,
        status,
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
    if let Some(line) = LinkLine::of(model) {
        line.view(theme, areas.link, buffer);
    }
    let rule = "─".repeat(usize::from(areas.rule.width));
    if !areas.rule.is_empty() {
        let rule = Span::styled(rule, theme.style(Role::Border));
        buffer.set_span(areas.rule.x, areas.rule.y, &rule, areas.rule.width);
    }
    model.composer.view(theme, areas.composer, buffer);
    if !areas.status.is_empty() {
        status::view(model, theme, areas.status, buffer);
    }
    match model.overlays.top() {
        Some(overlay) => {
            let behind_status = Rect {
                height: area.height.saturating_sub(areas.status.height),
                ..area
            };
            overlay
                .view(theme, behind_status, buffer)
                .filter(|position| behind_status.contains(*position))
        }
        None => model
            .composer
            .cursor(areas.composer)
            // The search of older prompts has its cursor above the composer.
            .filter(|position| area.contains(*position)),
    }
}
