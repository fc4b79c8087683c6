//! What an edit changes, from its arguments.

use ratatui::text::{Line, Span};
use richtext::{Diff, FileDiff, LineNumbers};

use super::arguments::Arguments;
use crate::panes::transcript::look::Look;

/// Lines around a change.
const CONTEXT: usize = 3;
/// Lines of a diff that are shown unless all are wanted.
pub(super) const FOLDED: usize = 24;

/// Makes the diff of an edit or of a file that is written.
pub(super) fn of_call(arguments: &Arguments) -> Option<Diff> {
    if let Some(content) = arguments.text("content") {
        return Some(Diff::between("", "", content, CONTEXT, LineNumbers::Shown));
    }
    let files: Vec<FileDiff> = arguments
        .edits()
        .iter()
        .flat_map(|edit| Diff::between("", edit.old, edit.new, CONTEXT, LineNumbers::Hidden).files)
        .collect();
    (!files.is_empty()).then_some(Diff { files })
}

/// Draws a diff under a card.
pub(super) fn lines(diff: &Diff, look: &Look) -> Vec<Line<'static>> {
    let most = if look.folds.whole_output {
        usize::MAX
    } else {
        FOLDED
    };
    let width = look.width.saturating_sub(2).max(1);
    let lines = diff.lines(width, most, &look.styles());
    lines.into_iter().map(indented).collect()
}

/// Puts a line under the head of its card.
pub(super) fn indented(mut line: Line<'static>) -> Line<'static> {
    line.spans.insert(0, Span::raw("  "));
    line
}
