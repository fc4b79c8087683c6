//! What only this screen knows: remarks, warnings, failures.

use ratatui::text::{Line, Span};

use crate::{
    panes::transcript::{Level, Notice, look::Look},
    theme::Role,
};

pub(super) fn lines(notice: &Notice, look: &Look) -> Vec<Line<'static>> {
    let (marker, role) = match notice.level {
        Level::Banner | Level::Info => ("· ", Role::Dim),
        Level::Warning => ("! ", Role::Warning),
        Level::Error => ("✗ ", Role::Error),
    };
    let style = look.style(role);
    look.hanging(Span::styled(marker, style), &notice.text, style)
}
