//! What a program printed, as lines.

mod ansi;

use ratatui_core::text::Line;

use self::ansi::Painter;
use crate::{
    Styles,
    measure::truncate,
    wrap::{Breaking, Indent, wrap},
};

/// How much of a long output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folding {
    /// All of it.
    Whole,
    /// The first and the last lines, at most this many in all; a line between them counts the rest.
    Folded {
        /// Lines from the beginning.
        head: usize,
        /// Lines from the end.
        tail: usize,
    },
}

/// Shows what a program printed, in lines of at most `width` columns.
///
/// Of a line that was written over with carriage returns, the last state is shown. Colours stay; every other
/// instruction to a terminal goes.
#[must_use]
pub fn output(text: &str, width: usize, folding: Folding, styles: &Styles) -> Vec<Line<'static>> {
    let width = width.max(1);
    let text = text.trim_end_matches(['\n', '\r', ' ', '\t']);
    if text.is_empty() {
        return Vec::new();
    }
    let mut painter = Painter::new(styles.text);
    let Folding::Folded { head, tail } = folding else {
        return wrapped(&mut painter, text, width);
    };
    let (first, middle, last) = ends(text, head, tail);
    // A line that is cut here could not be seen whole anyway.
    let most = (head + tail).max(1).saturating_mul(width).saturating_mul(8);
    let mut lines = Vec::new();
    for line in first.split('\n').take(if head == 0 && last.is_some() {
        0
    } else {
        usize::MAX
    }) {
        lines.extend(wrapped(&mut painter, clipped(line, most), width));
    }
    let Some(last) = last else {
        let hidden = lines.len().saturating_sub(head + tail);
        if hidden > 0 {
            let end = lines.split_off(lines.len() - tail);
            lines.truncate(head);
            lines.push(remark(hidden, width, styles));
            lines.extend(end);
        }
        return lines;
    };
    let mut hidden = middle + lines.len().saturating_sub(head);
    lines.truncate(head);
    // Colours that began in what is left out are not known.
    let mut painter = Painter::new(styles.text);
    let mut end = Vec::new();
    for line in last.split('\n').take(if tail == 0 { 0 } else { usize::MAX }) {
        end.extend(wrapped(&mut painter, clipped(line, most), width));
    }
    let more = end.len().saturating_sub(tail);
    hidden += more;
    lines.push(remark(hidden, width, styles));
    lines.extend(end.split_off(more));
    lines
}

fn remark(hidden: usize, width: usize, styles: &Styles) -> Line<'static> {
    let plural = if hidden == 1 { "" } else { "s" };
    let text = format!("… {hidden} line{plural}");
    Line::styled(truncate(&text, width).into_owned(), styles.dim)
}

/// Gives the first lines, how many are left out, and the last lines. A text that is short enough is all first.
fn ends(text: &str, head: usize, tail: usize) -> (&str, usize, Option<&str>) {
    let total = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
    if total <= head + tail {
        return (text, 0, None);
    }
    let first = match head.checked_sub(1) {
        Some(before) => text
            .match_indices('\n')
            .nth(before)
            .map_or(text.len(), |(at, _)| at),
        None => 0,
    };
    let last = match tail.checked_sub(1) {
        Some(after) => text.rmatch_indices('\n').nth(after).map_or(0, |(at, _)| at + 1),
        None => text.len(),
    };
    (&text[..first], total - head - tail, Some(&text[last..]))
}

/// Keeps the end of a line that is very long: of progress in one line, that is its state.
fn clipped(line: &str, most: usize) -> &str {
    let mut start = line.len().saturating_sub(most);
    while !line.is_char_boundary(start) {
        start += 1;
    }
    &line[start..]
}

fn wrapped(painter: &mut Painter, text: &str, width: usize) -> Vec<Line<'static>> {
    text.split('\n')
        .flat_map(|line| wrap(&painter.line(line), width, &Indent::default(), Breaking::Anywhere))
        .collect()
}
