//! One key with its modifiers, by a name that a person can read and write.

use std::{fmt, str::FromStr};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key as bindings name it: the same for every terminal protocol that can report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// A name that is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown key {0:?}")]
pub(crate) struct UnknownKey(String);

/// Names of keys that are no characters: as written, as shown.
const NAMED: [(&str, &str, KeyCode); 16] = [
    ("enter", "Enter", KeyCode::Enter),
    ("tab", "Tab", KeyCode::Tab),
    ("esc", "Esc", KeyCode::Esc),
    ("backspace", "Backspace", KeyCode::Backspace),
    ("delete", "Delete", KeyCode::Delete),
    ("insert", "Insert", KeyCode::Insert),
    ("up", "Up", KeyCode::Up),
    ("down", "Down", KeyCode::Down),
    ("left", "Left", KeyCode::Left),
    ("right", "Right", KeyCode::Right),
    ("home", "Home", KeyCode::Home),
    ("end", "End", KeyCode::End),
    ("pgup", "PgUp", KeyCode::PageUp),
    ("pgdn", "PgDn", KeyCode::PageDown),
    ("space", "Space", KeyCode::Char(' ')),
    ("plus", "Plus", KeyCode::Char('+')),
];

/// Modifiers in the order in which they are shown.
const MODIFIERS: [(&str, &str, KeyModifiers); 4] = [
    ("ctrl+", "Ctrl+", KeyModifiers::CONTROL),
    ("alt+", "Alt+", KeyModifiers::ALT),
    ("shift+", "Shift+", KeyModifiers::SHIFT),
    ("super+", "Super+", KeyModifiers::SUPER),
];

impl Key {
    /// Makes a key, with the differences between terminals taken out.
    fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        match code {
            KeyCode::BackTab => Self {
                code: KeyCode::Tab,
                modifiers: modifiers | KeyModifiers::SHIFT,
            },
            KeyCode::Char(char) => Self::char(char, modifiers),
            code => Self { code, modifiers },
        }
    }

    fn char(char: char, mut modifiers: KeyModifiers) -> Self {
        let mut code = char;
        if modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) && char.is_alphabetic() {
            // Some terminals report Ctrl+Shift+Z as a capital, some as a small letter with Shift.
            if char.is_uppercase() {
                modifiers |= KeyModifiers::SHIFT;
                code = char.to_lowercase().next().unwrap_or(char);
            }
        } else {
            // The character says already what Shift made of the key.
            modifiers -= KeyModifiers::SHIFT;
        }
        // Without an extended keyboard protocol the byte 0x1F is all that Ctrl+_, Ctrl+/ and Ctrl+7 send.
        if modifiers.contains(KeyModifiers::CONTROL) && matches!(code, '7' | '/') {
            code = '_';
        }
        Self {
            code: KeyCode::Char(code),
            modifiers,
        }
    }
}

#[cfg(any(test, feature = "testing"))]
impl Key {
    /// Gives an event of this key.
    pub(crate) fn event(self) -> KeyEvent {
        KeyEvent::new(self.code, self.modifiers)
    }
}

impl From<KeyEvent> for Key {
    fn from(event: KeyEvent) -> Self {
        Self::new(event.code, event.modifiers)
    }
}

impl FromStr for Key {
    type Err = UnknownKey;

    fn from_str(name: &str) -> Result<Self, UnknownKey> {
        let unknown = || UnknownKey(name.to_owned());
        let mut rest = name;
        let mut modifiers = KeyModifiers::NONE;
        while let Some((prefix, _, modifier)) = MODIFIERS.iter().find(|(prefix, ..)| starts(rest, prefix)) {
            modifiers |= *modifier;
            rest = &rest[prefix.len()..];
        }
        if let Some((.., code)) = NAMED.iter().find(|(name, ..)| name.eq_ignore_ascii_case(rest)) {
            return Ok(Self::new(*code, modifiers));
        }
        let mut chars = rest.chars();
        let first = chars.next().ok_or_else(unknown)?;
        if chars.as_str().is_empty() {
            // A capital in a name of several parts is only how it is written: Shift is said.
            let is_part = modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
            let char = if is_part {
                first.to_lowercase().next().unwrap_or(first)
            } else {
                first
            };
            return Ok(Self::new(KeyCode::Char(char), modifiers));
        }
        match chars.as_str().parse() {
            Ok(number @ 1..=24) if matches!(first, 'f' | 'F') => Ok(Self::new(KeyCode::F(number), modifiers)),
            _ => Err(unknown()),
        }
    }
}

fn starts(text: &str, prefix: &str) -> bool {
    text.len() > prefix.len() && text.is_char_boundary(prefix.len()) && {
        text[..prefix.len()].eq_ignore_ascii_case(prefix)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (_, shown, modifier) in MODIFIERS {
            if self.modifiers.contains(modifier) {
                f.write_str(shown)?;
            }
        }
        if let Some((_, shown, _)) = NAMED.iter().find(|(.., code)| *code == self.code) {
            return f.write_str(shown);
        }
        match self.code {
            KeyCode::F(number) => write!(f, "F{number}"),
            KeyCode::Char(char) if self.modifiers.is_empty() => write!(f, "{char}"),
            KeyCode::Char(char) => write!(f, "{}", char.to_uppercase()),
            other => write!(f, "{other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str) -> String {
        name.parse::<Key>().unwrap().to_string()
    }

    #[test]
    fn names_are_read_and_shown() {
        for (name, want) in [
            ("ctrl+r", "Ctrl+R"),
            ("CTRL+R", "Ctrl+R"),
            ("shift+tab", "Shift+Tab"),
            ("alt+enter", "Alt+Enter"),
            ("ctrl+shift+z", "Ctrl+Shift+Z"),
            ("pgup", "PgUp"),
            ("f1", "F1"),
            ("F12", "F12"),
            ("f", "f"),
            ("?", "?"),
            ("+", "Plus"),
            ("ctrl++", "Ctrl+Plus"),
            ("ctrl+plus", "Ctrl+Plus"),
            ("space", "Space"),
            ("é", "é"),
            ("ctrl+/", "Ctrl+_"),
        ] {
            assert_eq!(shown(name), want, "{name}");
            assert_eq!(shown(want), want, "the shown name reads back: {want}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused_by_name() {
        for name in ["", "ctrl+", "hyper+x", "f0", "f25", "f1x", "enterr", "ab", "汉字"] {
            let error = name.parse::<Key>().unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }

    #[test]
    fn terminals_that_report_differently_give_the_same_key() {
        let event = |code, modifiers| Key::from(KeyEvent::new(code, modifiers));
        let (ctrl, shift) = (KeyModifiers::CONTROL, KeyModifiers::SHIFT);
        let same = [
            (KeyCode::BackTab, KeyModifiers::NONE, "shift+tab"),
            (KeyCode::BackTab, shift, "shift+tab"),
            (KeyCode::Tab, shift, "shift+tab"),
            (KeyCode::Char('Z'), ctrl, "ctrl+shift+z"),
            (KeyCode::Char('z'), ctrl | shift, "ctrl+shift+z"),
            (KeyCode::Char('?'), shift, "?"),
            (KeyCode::Char('?'), KeyModifiers::NONE, "?"),
            (KeyCode::Char('A'), shift, "A"),
            (KeyCode::Char('7'), ctrl, "ctrl+_"),
            (KeyCode::Char('_'), ctrl | shift, "ctrl+_"),
        ];
        for (code, modifiers, name) in same {
            assert_eq!(event(code, modifiers), name.parse().unwrap(), "{name}");
        }
    }
}
