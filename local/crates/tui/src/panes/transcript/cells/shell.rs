//! What a command is and what it printed.

use ratatui::{
    style::Style,
    text::{Line, Span},
};
use richtext::{Diff, Folding, output, sanitize};

use super::diff;
use crate::{panes::transcript::look::Look, theme::Role};

/// Lines of an output that are shown unless all are wanted: from its beginning, and from its end.
const FOLDED: Folding = Folding::Folded { head: 3, tail: 7 };
/// Lines of a command that are shown unless all are wanted.
const COMMAND_LINES: usize = 8;

/// Shows a command that does not fit in the head of its card.
pub(super) fn command(text: &str, look: &Look) -> Vec<Line<'static>> {
    let style = look.style(Role::Code);
    let mut lines = look.hanging(
        Span::styled("  $ ", look.style(Role::Dim)),
        &sanitize(text),
        style,
    );
    let hidden = lines.len().saturating_sub(COMMAND_LINES);
    if hidden > 0 && !look.folds.whole_output {
        lines.truncate(COMMAND_LINES);
        lines.push(more(
            &format!("    … {hidden} more lines of the command (Ctrl+B)"),
            look,
        ));
    }
    lines
}

/// Shows what a tool printed; a diff in its colours.
pub(super) fn printed(text: &str, look: &Look) -> Vec<Line<'static>> {
    if let Some(parsed) = Diff::parse(text) {
        return diff::lines(&parsed, look);
    }
    let folding = if look.folds.whole_output {
        Folding::Whole
    } else {
        FOLDED
    };
    let width = look.width.saturating_sub(2).max(1);
    let lines = output(text, width, folding, &look.styles());
    let dim = look.style(Role::Dim);
    // Output is beside the point as long as it says nothing by its own colours.
    let quiet = |mut line: Line<'static>| {
        for span in &mut line.spans {
            if span.style == Style::default() {
                span.style = dim;
            }
        }
        diff::indented(line)
    };
    lines.into_iter().map(quiet).collect()
}

fn more(text: &str, look: &Look) -> Line<'static> {
    Line::styled(
        richtext::truncate(text, look.width).into_owned(),
        look.style(Role::Dim),
    )
}
