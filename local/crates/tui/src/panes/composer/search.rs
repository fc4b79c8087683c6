//! Searching the prompts typed before.

use super::{graphemes, history::History};

/// The search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Search {
    /// What is looked for.
    pub(super) wanted: String,
    /// Indices into the history, the newest first.
    pub(super) found: Vec<usize>,
    /// The chosen one of them.
    pub(super) at: usize,
}

impl Search {
    /// Begins with everything.
    pub(super) fn new(history: &History) -> Self {
        Self {
            wanted: String::new(),
            found: history.matches(""),
            at: 0,
        }
    }

    /// Looks for more.
    pub(super) fn push(&mut self, text: &str, history: &History) {
        self.wanted.push_str(text);
        self.look(history);
    }

    /// Takes the last character away.
    pub(super) fn erase(&mut self, history: &History) {
        let end = graphemes::previous(&self.wanted, self.wanted.len());
        self.wanted.truncate(end);
        self.look(history);
    }

    /// Goes to a newer or an older prompt.
    pub(super) fn go(&mut self, older: bool) {
        self.at = if older {
            (self.at + 1).min(self.found.len().saturating_sub(1))
        } else {
            self.at.saturating_sub(1)
        };
    }

    /// Gives the chosen prompt's index.
    pub(super) fn chosen(&self) -> Option<usize> {
        self.found.get(self.at).copied()
    }

    fn look(&mut self, history: &History) {
        self.found = history.matches(&self.wanted);
        self.at = 0;
    }
}
