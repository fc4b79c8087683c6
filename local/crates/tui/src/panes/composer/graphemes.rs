//! Characters as a person counts them (UAX 29 extended grapheme clusters): where they begin, end, and what they are.

use ratatui::buffer::CellWidth as _;
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation as _};

use super::fragment::MARK;

/// Gives the border after the one at `at`; at the end of the text, that.
pub(super) fn next(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    match (bytes.get(at), bytes.get(at + 1)) {
        (None, _) => text.len(),
        // Nothing joins two ASCII characters but CR and LF, and there is no CR in a composer.
        (Some(first), None) if first.is_ascii() => text.len(),
        (Some(first), Some(second)) if first.is_ascii() && second.is_ascii() => at + 1,
        _ => at + text[at..].graphemes(true).next().map_or(0, str::len),
    }
}

/// Gives the border before the one at `at`; at the start of the text, that.
pub(super) fn previous(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    if at == 0 {
        return 0;
    }
    if bytes[at - 1].is_ascii() && (at == 1 || bytes[at - 2].is_ascii()) {
        return at - 1;
    }
    let border = GraphemeCursor::new(at, text.len(), true).prev_boundary(text, 0);
    border.ok().flatten().unwrap_or(0)
}

/// Tells whether a character begins or ends here.
pub(super) fn is_border(text: &str, at: usize) -> bool {
    // With the whole text at hand the cursor never asks for more of it.
    text.is_char_boundary(at)
        && GraphemeCursor::new(at, text.len(), true)
            .is_boundary(text, 0)
            .unwrap_or(true)
}

/// Gives `at`, or the next border after it.
pub(super) fn snap(text: &str, at: usize) -> usize {
    if is_border(text, at) {
        return at;
    }
    let border = GraphemeCursor::new(at, text.len(), true).next_boundary(text, 0);
    border.ok().flatten().unwrap_or(text.len())
}

/// What a character is, for moves by words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A blank or a line break.
    Blank,
    /// A letter, a digit, an underscore.
    Word,
    /// Anything else.
    Sign,
    /// A paste.
    Paste,
}

/// Gives what the character at `at` is.
pub(super) fn class(text: &str, at: usize) -> Class {
    match text[at..].chars().next() {
        Some(MARK) => Class::Paste,
        Some(char) if char.is_whitespace() => Class::Blank,
        Some(char) if char.is_alphanumeric() || char == '_' => Class::Word,
        Some(_) => Class::Sign,
        None => Class::Blank,
    }
}

/// Gives how many cells a character takes when it is drawn by itself: at least one, so that every border has a place
/// of its own. Characters without a width are drawn as a sign.
pub(super) fn width(grapheme: &str) -> u16 {
    grapheme.cell_width().max(1)
}

/// Tells whether a terminal shows nothing for this character.
pub(super) fn is_invisible(grapheme: &str) -> bool {
    grapheme.cell_width() == 0
}
