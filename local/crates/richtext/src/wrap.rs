//! Breaks text into lines.

use ratatui_core::{
    style::Style,
    text::{Line, Span},
};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::measure::{graphemes, width, width_of};

/// Stands for what is wider than the whole line.
const TOO_WIDE: &str = "\u{fffd}";
/// Columns between tab stops.
const TAB: usize = 4;
/// Characters that must not begin a line where it could be broken before them.
const CLOSING: &str = "、。，．：；？！）］｝」』】》〉〕…‥ー々％";
/// Characters that must not end a line where it could be broken after them.
const OPENING: &str = "（［｛「『【《〈〔";

/// Where a line may be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Breaking {
    /// At blanks and between wide characters; a word that is too long, anywhere.
    #[default]
    Words,
    /// Anywhere, and every blank stays: for code and output.
    Anywhere,
}

/// What stands before the text of a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Indent {
    /// Before the first line.
    pub first: Vec<Span<'static>>,
    /// Before the others.
    pub rest: Vec<Span<'static>>,
}

/// Breaks styled text into lines of at most `width` columns. Line ends in the text end lines; tabs become blanks.
///
/// An indent that would leave no room for text is left out. There is at least one line.
#[must_use]
pub fn wrap(text: &[Span<'_>], width: usize, indent: &Indent, breaking: Breaking) -> Vec<Line<'static>> {
    let width = width.max(1);
    let mut wrapper = Wrapper {
        width,
        first: fitting(&indent.first, width),
        rest: fitting(&indent.rest, width),
        breaking,
        lines: Vec::new(),
    };
    let mut paragraph = Paragraph::default();
    for span in text {
        for (index, piece) in span.content.split('\n').enumerate() {
            if index > 0 {
                wrapper.paragraph(&paragraph.cells);
                paragraph = Paragraph::default();
            }
            paragraph.push(piece, span.style);
        }
    }
    wrapper.paragraph(&paragraph.cells);
    wrapper.lines
}

/// What is drawn in one place.
struct Cell<'a> {
    text: &'a str,
    style: Style,
    columns: usize,
}

impl Cell<'_> {
    fn is_blank(&self) -> bool {
        let is_glue = |c| matches!(c, '\u{a0}' | '\u{202f}' | '\u{2007}');
        self.text.chars().all(|c| c.is_whitespace() && !is_glue(c))
    }

    /// Says whether a line may be broken beside it: scripts that have no blanks are drawn in wide characters.
    fn is_wide(&self) -> bool {
        self.columns == 2
    }
}

/// The text up to a line end.
#[derive(Default)]
struct Paragraph<'a> {
    cells: Vec<Cell<'a>>,
    column: usize,
}

impl<'a> Paragraph<'a> {
    fn push(&mut self, text: &'a str, style: Style) {
        for (index, piece) in text.split('\t').enumerate() {
            if index > 0 {
                let blanks = TAB - self.column % TAB;
                self.cells.extend((0..blanks).map(|_| Cell {
                    text: " ",
                    style,
                    columns: 1,
                }));
                self.column += blanks;
            }
            for (text, columns) in graphemes(piece) {
                self.column += columns;
                self.cells.push(Cell { text, style, columns });
            }
        }
    }
}

struct Wrapper {
    width: usize,
    first: Vec<Span<'static>>,
    rest: Vec<Span<'static>>,
    breaking: Breaking,
    lines: Vec<Line<'static>>,
}

impl Wrapper {
    fn paragraph(&mut self, cells: &[Cell<'_>]) {
        let mut start = 0;
        loop {
            let end = self.end_of_line(cells, start);
            let next = self.start_of_next(cells, start, end);
            self.line(&cells[start..end], next < cells.len());
            if next >= cells.len() {
                return;
            }
            start = next;
        }
    }

    fn indent(&self) -> &[Span<'static>] {
        if self.lines.is_empty() {
            &self.first
        } else {
            &self.rest
        }
    }

    /// Finds where the line that begins at `start` ends.
    fn end_of_line(&self, cells: &[Cell<'_>], start: usize) -> usize {
        let room = self.width.saturating_sub(width_of(self.indent())).max(1);
        let mut used = 0;
        let mut break_at = None;
        for (at, cell) in cells.iter().enumerate().skip(start) {
            if at > start && self.may_break(&cells[at - 1], cell) {
                break_at = Some(at);
            }
            used += cell.columns.min(room);
            if used > room {
                let at_blank = self.breaking == Breaking::Words && cell.is_blank();
                return if at_blank { at } else { break_at.unwrap_or(at) };
            }
        }
        cells.len()
    }

    fn may_break(&self, before: &Cell<'_>, after: &Cell<'_>) -> bool {
        if self.breaking == Breaking::Anywhere || after.is_blank() {
            return false;
        }
        if before.is_blank() {
            return true;
        }
        (before.is_wide() || after.is_wide())
            && !CLOSING.contains(after.text)
            && !OPENING.contains(before.text)
    }

    /// Skips the blanks at which a line was broken.
    fn start_of_next(&self, cells: &[Cell<'_>], start: usize, end: usize) -> usize {
        if self.breaking == Breaking::Anywhere || end >= cells.len() {
            return end;
        }
        let skipped = cells[end..].iter().take_while(|cell| cell.is_blank()).count();
        (end + skipped).max(start + 1)
    }

    fn line(&mut self, cells: &[Cell<'_>], broken: bool) {
        let indent = self.indent();
        let room = self.width.saturating_sub(width_of(indent)).max(1);
        let mut spans = indent.to_vec();
        let trimmed = match self.breaking {
            Breaking::Words if broken => cells
                .iter()
                .rposition(|cell| !cell.is_blank())
                .map_or(0, |at| at + 1),
            Breaking::Words | Breaking::Anywhere => cells.len(),
        };
        let mut run = String::new();
        let mut style = None;
        for cell in &cells[..trimmed] {
            if style.is_some_and(|style| style != cell.style) {
                flush(&mut spans, &mut run, style);
            }
            style = Some(cell.style);
            run.push_str(if cell.columns > room { TOO_WIDE } else { cell.text });
        }
        flush(&mut spans, &mut run, style);
        self.lines.push(Line::from(spans));
    }
}

fn flush(spans: &mut Vec<Span<'static>>, run: &mut String, style: Option<Style>) {
    if !run.is_empty() {
        spans.push(Span::styled(std::mem::take(run), style.unwrap_or_default()));
    }
}

/// Gives the indent, or nothing where it would leave less than two columns.
fn fitting(indent: &[Span<'static>], width: usize) -> Vec<Span<'static>> {
    if width_of(indent) + 2 > width {
        return Vec::new();
    }
    indent.to_vec()
}

/// Replaces the tabs of one line by blanks up to the next tab stop.
pub(crate) fn expand_tabs(line: &str) -> String {
    let mut expanded = String::with_capacity(line.len());
    let mut column = 0;
    for grapheme in line.graphemes(true) {
        if grapheme == "\t" {
            let blanks = TAB - column % TAB;
            expanded.extend(std::iter::repeat_n(' ', blanks));
            column += blanks;
        } else {
            expanded.push_str(grapheme);
            column += width(grapheme);
        }
    }
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, width: usize, breaking: Breaking) -> Vec<String> {
        wrap(&[Span::raw(text)], width, &Indent::default(), breaking)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn words() {
        for (text, width, expected) in [
            ("", 5, &[""][..]),
            ("one two", 7, &["one two"]),
            ("one two", 6, &["one", "two"]),
            ("one   two", 5, &["one", "two"]),
            ("one two ", 7, &["one two"]),
            ("a\n\nb", 9, &["a", "", "b"]),
            ("https://example.org/a", 8, &["https://", "example.", "org/a"]),
            (
                "to https://example.org",
                8,
                &["to", "https://", "example.", "org"],
            ),
            ("汉字汉字", 5, &["汉字", "汉字"]),
            ("你好，世界", 4, &["你", "好，", "世界"]),
            ("a汉", 1, &["a", "\u{fffd}"]),
            ("  in", 9, &["  in"]),
            ("one two\nthree four", 5, &["one", "two", "three", "four"]),
            ("a\u{a0}b c", 3, &["a\u{a0}b", "c"]),
        ] {
            assert_eq!(
                lines(text, width, Breaking::Words),
                expected,
                "{text:?} in {width}"
            );
        }
    }

    #[test]
    fn anywhere() {
        for (text, width, expected) in [
            ("one two", 5, &["one t", "wo"][..]),
            ("a  \n", 2, &["a ", " ", ""]),
            ("\tx", 3, &["   ", " x"]),
            ("a\tb", 9, &["a   b"]),
        ] {
            assert_eq!(
                lines(text, width, Breaking::Anywhere),
                expected,
                "{text:?} in {width}"
            );
        }
    }

    #[test]
    fn the_indent_hangs() {
        let indent = Indent {
            first: vec![Span::raw("- ")],
            rest: vec![Span::raw("  ")],
        };
        let shown = |width| -> Vec<_> {
            wrap(&[Span::raw("one two\nthree")], width, &indent, Breaking::Words)
                .iter()
                .map(ToString::to_string)
                .collect()
        };
        assert_eq!(shown(7), ["- one", "  two", "  three"]);
        assert_eq!(shown(3), ["one", "two", "thr", "ee"], "no room for an indent");
    }
}
