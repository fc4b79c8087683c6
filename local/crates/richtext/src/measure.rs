//! How wide text is on a screen, in columns.

use std::borrow::Cow;

use ratatui_core::{
    buffer::CellWidth as _,
    text::{Line, Span},
};
use unicode_segmentation::UnicodeSegmentation as _;

/// The longest piece of text that is drawn in one place, in bytes. The longest emoji sequences are shorter; a heap of
/// combining marks is not.
const MAX_GRAPHEME: usize = 64;
/// Ends what was cut.
const ELLIPSIS: &str = "…";

/// Splits text into what is drawn in one place each, with its columns. What takes no column is left out, and what is
/// longer than 64 bytes is cut.
pub fn graphemes(text: &str) -> impl Iterator<Item = (&str, usize)> {
    text.graphemes(true).filter_map(|grapheme| {
        let grapheme = cut(grapheme);
        match columns(grapheme) {
            0 => None,
            columns => Some((grapheme, columns)),
        }
    })
}

/// Gives the columns that a text takes on one line; control characters take none.
#[must_use]
pub fn width(text: &str) -> usize {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return text.len();
    }
    graphemes(text).map(|(_, columns)| columns).sum()
}

/// Gives the columns of a line.
pub(crate) fn width_of(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|span| width(&span.content)).sum()
}

/// Cuts a text to at most `max` columns; what was cut ends in an ellipsis.
#[must_use]
pub fn truncate(text: &str, max: usize) -> Cow<'_, str> {
    if width(text) <= max {
        return Cow::Borrowed(text);
    }
    if max == 0 {
        return Cow::Borrowed("");
    }
    let mut kept = String::new();
    let mut used = 0;
    for (grapheme, columns) in graphemes(text) {
        if used + columns > max - 1 {
            break;
        }
        used += columns;
        kept.push_str(grapheme);
    }
    kept.push_str(ELLIPSIS);
    Cow::Owned(kept)
}

/// Cuts a line to at most `max` columns; what was cut ends in an ellipsis.
#[must_use]
pub fn truncate_line(line: Line<'static>, max: usize) -> Line<'static> {
    if width_of(&line.spans) <= max {
        return line;
    }
    let mut kept = Line::default().style(line.style);
    let mut left = max;
    for span in line.spans {
        let columns = width(&span.content);
        if columns < left {
            left -= columns;
            kept.spans.push(span);
            continue;
        }
        // This span ends the line: either it is too long, or more comes after it.
        let text = format!("{}{ELLIPSIS}", span.content);
        kept.spans
            .push(Span::styled(truncate(&text, left).into_owned(), span.style));
        break;
    }
    kept
}

/// Gives the columns of one grapheme.
fn columns(grapheme: &str) -> usize {
    if grapheme.contains(char::is_control) {
        return 0;
    }
    usize::from(grapheme.cell_width())
}

fn cut(grapheme: &str) -> &str {
    let mut end = grapheme.len().min(MAX_GRAPHEME);
    while !grapheme.is_char_boundary(end) {
        end -= 1;
    }
    &grapheme[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_a_terminal() {
        for (text, columns) in [
            ("", 0),
            ("abc", 3),
            ("汉字", 4),
            ("e\u{301}", 1),
            ("👩‍💻", 2),
            ("👍🏽", 2),
            ("\u{200d}", 0),
            ("\x1b\n", 0),
        ] {
            assert_eq!(width(text), columns, "{text:?}");
        }
    }

    #[test]
    fn cutting_never_halves_a_character() {
        assert_eq!(truncate("汉字", 4), "汉字");
        assert_eq!(truncate("汉字", 3), "汉…");
        assert_eq!(truncate("汉字", 2), "…");
        assert_eq!(truncate("汉字", 0), "");
        let line = Line::from(vec![Span::raw("ab"), Span::raw("cd")]);
        assert_eq!(truncate_line(line.clone(), 4), line);
        assert_eq!(truncate_line(line.clone(), 3).to_string(), "ab…");
        assert_eq!(truncate_line(line, 2).to_string(), "a…");
    }

    #[test]
    fn a_heap_of_marks_is_cut() {
        let zalgo = format!("a{}", "\u{301}".repeat(10_000));
        assert_eq!(width(&zalgo), 1);
        assert_eq!(graphemes(&zalgo).map(|(text, _)| text.len()).sum::<usize>(), 63);
    }
}
