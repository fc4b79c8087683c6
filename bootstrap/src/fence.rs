//! Random markers that tell answers from noise.

use std::fmt;

/// A random word that a host's start-up output cannot contain.
///
/// It appears in a script only in two halves, so that a shell that echoes its input does not forge an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence(String);

impl Fence {
    /// Makes a new one with 122 random bits.
    #[must_use]
    pub fn random() -> Self {
        Self(format!("rx{}", uuid::Uuid::new_v4().simple()))
    }

    /// Takes a given word, for tests and for the side that receives `--fence`.
    #[must_use]
    pub fn from_word(word: impl Into<String>) -> Self {
        Self(word.into())
    }

    /// Gives the word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Gives the word in two parts.
    pub(crate) fn halves(&self) -> (&str, &str) {
        let mut middle = self.0.len() / 2;
        while !self.0.is_char_boundary(middle) {
            middle += 1;
        }
        self.0.split_at(middle)
    }

    /// Gives what follows the fence in a line, without the line's end.
    pub(crate) fn strip<'a>(&self, line: &'a [u8]) -> Option<&'a [u8]> {
        let needle = [self.0.as_bytes(), b" "].concat();
        let at = line
            .windows(needle.len())
            .position(|window| window == needle.as_slice())?;
        line.get(at + needle.len()..).map(<[u8]>::trim_ascii_end)
    }

    /// Gives the content of a line written as `FENCE content FENCE`.
    pub(crate) fn between<'a>(&self, line: &'a [u8]) -> Option<&'a [u8]> {
        self.strip(line)?
            .strip_suffix(self.0.as_bytes())
            .map(<[u8]>::trim_ascii)
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
