//! What is pasted: cleaned, and kept as one block when it is large.

use crossterm::event::{KeyCode, KeyEvent};

use crate::keymap::typed;

/// A paste of more lines than this is a block.
const LINES: usize = 10;
/// A paste of more characters than this is a block.
const CHARS: usize = 2_000;

/// A large paste.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paste {
    text: String,
    label: String,
}

impl Paste {
    /// Keeps a text as the paste of this number.
    pub(super) fn new(number: usize, text: String) -> Self {
        let lines = text.lines().count();
        let size = if lines > 1 {
            format!("{} lines", grouped(lines))
        } else {
            format!("{} characters", grouped(text.chars().count()))
        };
        Self {
            label: format!("[paste #{number}, {size}]"),
            text,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Gives what is shown in its place.
    pub(super) fn label(&self) -> &str {
        &self.label
    }
}

/// Tells whether a pasted text becomes one block.
pub(super) fn is_block(text: &str) -> bool {
    text.lines().nth(LINES).is_some() || text.chars().nth(CHARS).is_some()
}

/// Makes every line break a line feed and drops the other control characters but the tab.
///
/// A terminal would act on them, and an escape sequence in a prompt is never meant.
pub(super) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\r' => {
                out.push('\n');
                chars.next_if_eq(&'\n');
            }
            '\u{2028}' | '\u{2029}' => out.push('\n'),
            '\n' | '\t' => out.push(char),
            char if char.is_control() => {}
            char => out.push(char),
        }
    }
    out
}

/// Gives the pasted text when these keys, read at once, are a paste of a terminal that does not mark pastes.
///
/// A person does not type on within one read after Enter; so an Enter that is followed by a character is a line break
/// of a paste, and then every key of the read is text. A text and one Enter behind it are typing.
pub(crate) fn burst(keys: &[KeyEvent]) -> Option<String> {
    let mut text = String::with_capacity(keys.len());
    for key in keys {
        match (key.code, typed(*key)) {
            (KeyCode::Enter, _) if key.modifiers.is_empty() => text.push('\n'),
            (KeyCode::Tab, _) if key.modifiers.is_empty() => text.push('\t'),
            // A line feed of a paste; the terminal reports it as Ctrl-J.
            (KeyCode::Char('j'), None) => text.push('\n'),
            (_, Some(char)) => text.push(char),
            _ => return None,
        }
    }
    text.trim_end_matches('\n').contains('\n').then_some(text)
}

/// Writes a number with commas between its thousands.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;

    use super::*;

    #[test]
    fn breaks_become_line_feeds_and_controls_go() {
        assert_eq!(clean("a\r\nb\rc\nd\te\u{2028}f"), "a\nb\nc\nd\te\nf");
        assert_eq!(clean("\r\r\n\n\r"), "\n\n\n\n");
        assert_eq!(clean("\x1b[31mred\x07\x7f\u{9b}\0\x1a"), "[31mred");
        assert_eq!(clean("👩‍💻 é 汉"), "👩‍💻 é 汉");
    }

    #[test]
    fn large_is_over_ten_lines_or_two_thousand_characters() {
        let lines = |count| "x\n".repeat(count);
        assert!(!is_block(&lines(10)) && is_block(&lines(11)));
        assert!(!is_block(&"汉".repeat(2_000)) && is_block(&"汉".repeat(2_001)));
    }

    #[test]
    fn labels_say_how_large() {
        let label = |text: String| Paste::new(1, text).label().to_owned();
        assert_eq!(label("x\n".repeat(1_024)), "[paste #1, 1,024 lines]");
        assert_eq!(label("x".repeat(1_234_567)), "[paste #1, 1,234,567 characters]");
        assert_eq!(
            [0, 999, 1_000, 12_345].map(grouped),
            ["0", "999", "1,000", "12,345"]
        );
    }

    fn keys(text: &str) -> Vec<KeyEvent> {
        text.chars()
            .map(|char| match char {
                '\n' => KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE),
                '\t' => KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE),
                char => KeyEvent::new(KeyCode::Char(char), KeyModifiers::NONE),
            })
            .collect()
    }

    #[test]
    fn a_burst_is_a_paste_when_something_follows_an_enter() {
        for text in ["one\ntwo", "one\n\ttwo\n", "\nx"] {
            assert_eq!(burst(&keys(text)).as_deref(), Some(text));
        }
        for text in ["", "word", "word\n", "\n", "\n\n"] {
            assert_eq!(burst(&keys(text)), None, "{text:?}");
        }
        let mut mixed = keys("a\nb");
        mixed.push(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert_eq!(burst(&mixed), None, "a key that is no text is a key");
        let mut feeds = keys("a");
        feeds.push(KeyEvent::new(KeyCode::Char('j'), KeyModifiers::CONTROL));
        feeds.extend(keys("b"));
        assert_eq!(burst(&feeds).as_deref(), Some("a\nb"));
    }
}
