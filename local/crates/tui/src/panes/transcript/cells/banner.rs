//! The first lines of a screen.

use ratatui::text::{Line, Span};

use crate::{panes::transcript::look::Look, theme::Role};

/// Shows a name, and below it what is said of it.
pub(super) fn lines(text: &str, look: &Look) -> Vec<Line<'static>> {
    let (name, about) = text.split_once('\n').unwrap_or((text, ""));
    let mut lines = look.hanging(Span::raw(""), name, look.style(Role::Accent));
    if !about.trim().is_empty() {
        lines.extend(look.hanging(Span::raw(""), about, look.style(Role::Dim)));
    }
    lines
}
