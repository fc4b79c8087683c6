//! What the model said.

use ratatui::text::Line;

use super::reasoning;
use crate::panes::transcript::look::Look;

/// A message of the model. Its text is rendered as it grows, by who keeps the lines.
#[derive(Debug)]
pub(in crate::panes::transcript) struct AnswerCell {
    pub(super) message: u64,
    /// The text so far.
    pub(in crate::panes::transcript) text: String,
    reasoning: String,
    /// Grows when the text changes in another way than at its end.
    pub(in crate::panes::transcript) rewritten: u64,
}

impl AnswerCell {
    pub(super) fn new(message: u64) -> Self {
        Self {
            message,
            text: String::new(),
            reasoning: String::new(),
            rewritten: 0,
        }
    }

    pub(super) fn set(&mut self, text: &str, reasoning: &str) -> bool {
        let before = (self.text.len(), self.rewritten, self.reasoning.len());
        if !grow(&mut self.text, text) {
            self.rewritten += 1;
        }
        let rethought = !grow(&mut self.reasoning, reasoning);
        rethought || before != (self.text.len(), self.rewritten, self.reasoning.len())
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.has_text() && !self.has_reasoning()
    }

    pub(in crate::panes::transcript) fn has_text(&self) -> bool {
        !self.text.trim().is_empty()
    }

    fn has_reasoning(&self) -> bool {
        !self.reasoning.trim().is_empty()
    }

    /// Gives the lines before the text.
    pub(super) fn lines(&self, look: &Look) -> Vec<Line<'static>> {
        if !self.has_reasoning() {
            return Vec::new();
        }
        let mut lines = reasoning::lines(&self.reasoning, look);
        if self.has_text() {
            lines.push(Line::default());
        }
        lines
    }
}

/// Makes a text equal to another one, and says whether it only had to be continued.
pub(super) fn grow(known: &mut String, text: &str) -> bool {
    if let Some(more) = text.strip_prefix(known.as_str()) {
        known.push_str(more);
        return true;
    }
    text.clone_into(known);
    false
}
