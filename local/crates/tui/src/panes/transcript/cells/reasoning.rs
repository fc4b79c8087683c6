//! What the model thought before it answered: its first line, or all of it.

use ratatui::{
    style::Modifier,
    text::{Line, Span},
};
use richtext::{safe_line, truncate};

use crate::{panes::transcript::look::Look, theme::Role};

const MARKER: &str = "∙ ";
/// Says how the rest is shown.
const KEY: &str = " (Ctrl+O)";
const MORE: &str = " … (Ctrl+O)";

pub(super) fn lines(reasoning: &str, look: &Look) -> Vec<Line<'static>> {
    let style = look.style(Role::Dim).add_modifier(Modifier::ITALIC);
    if look.folds.whole_reasoning {
        return look.hanging(Span::styled(MARKER, style), reasoning.trim_start(), style);
    }
    let mut text = reasoning.trim().lines();
    let first = safe_line(text.next().unwrap_or_default());
    let goes_on = text.next().is_some();
    let whole = format!("{MARKER}{first}");
    let shown = match (goes_on, richtext::width(&whole) <= look.width) {
        (false, true) => whole,
        (true, true) if richtext::width(&whole) + richtext::width(MORE) <= look.width => whole + MORE,
        // What is cut ends in an ellipsis already.
        _ => truncate(&whole, look.width.saturating_sub(richtext::width(KEY))).into_owned() + KEY,
    };
    vec![Line::styled(truncate(&shown, look.width).into_owned(), style)]
}
