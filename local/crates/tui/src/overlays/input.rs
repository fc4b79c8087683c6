//! One line of typed text inside a dialog. It is wiped when it goes, since it may be a secret.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation as _;
use zeroize::Zeroizing;

/// The longest text, in bytes. The memory for it is taken at once, so that growing leaves no copies behind.
const LONGEST: usize = 16 * 1024;

/// The text.
pub(crate) struct Input(Zeroizing<String>);

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Input(***)")
    }
}

impl Input {
    pub(crate) fn new() -> Self {
        Self(Zeroizing::new(String::with_capacity(LONGEST)))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Gives the text and begins anew.
    pub(crate) fn take(&mut self) -> String {
        let text = self.0.as_str().to_owned();
        *self = Self::new();
        text
    }

    /// Takes a key that edits, and says whether it was one.
    pub(crate) fn update(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('u') if control => self.0.clear(),
            KeyCode::Char('w') if control => {
                let kept = self.0.trim_end().rfind(' ').map_or(0, |space| space + 1);
                self.0.truncate(kept);
            }
            KeyCode::Char('h') if control => self.erase(),
            KeyCode::Backspace => self.erase(),
            KeyCode::Char(char) if !control && !key.modifiers.contains(KeyModifiers::ALT) => {
                self.insert(char.encode_utf8(&mut [0; 4]));
            }
            _ => return false,
        }
        true
    }

    /// Adds pasted text: its first line.
    pub(crate) fn paste(&mut self, text: &str) {
        self.insert(text.lines().next().unwrap_or_default());
    }

    fn insert(&mut self, text: &str) {
        if self.0.len() + text.len() <= LONGEST {
            self.0.push_str(text);
        }
    }

    fn erase(&mut self) {
        let kept = self
            .0
            .grapheme_indices(true)
            .next_back()
            .map_or(0, |(start, _)| start);
        self.0.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_by_what_a_person_sees() {
        let mut input = Input::new();
        input.paste("one two e\u{301}\nrest");
        assert_eq!(input.text(), "one two e\u{301}");
        assert!(input.update(KeyCode::Backspace.into()));
        assert_eq!(input.text(), "one two ");
        assert!(input.update(KeyEvent::new(KeyCode::Char('w'), KeyModifiers::CONTROL)));
        assert_eq!(input.text(), "one ");
        assert!(!input.update(KeyCode::Tab.into()));
        assert_eq!((input.take().as_str(), input.text()), ("one ", ""));
        assert_eq!(format!("{input:?}"), "Input(***)");
    }
}
