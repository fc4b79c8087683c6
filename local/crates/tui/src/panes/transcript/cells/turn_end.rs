//! How a turn ended, in plain words, and what it used.

use protocol::{Outcome, TurnId, UsageView};
use ratatui::text::{Line, Span};

use crate::{panes::transcript::look::Look, theme::Role};

#[derive(Debug)]
pub(super) struct TurnEndCell {
    pub(super) turn: TurnId,
    outcome: Outcome,
    usage: UsageView,
}

impl TurnEndCell {
    pub(super) fn new(turn: TurnId, outcome: &Outcome, usage: UsageView) -> Self {
        Self {
            turn,
            outcome: outcome.clone(),
            usage,
        }
    }

    pub(super) fn set(&mut self, outcome: &Outcome, usage: UsageView) -> bool {
        let changed = self.outcome != *outcome || self.usage != usage;
        if changed {
            self.outcome = outcome.clone();
            self.usage = usage;
        }
        changed
    }

    pub(super) fn is_empty(&self) -> bool {
        self.outcome == Outcome::Completed && self.receipt().is_none()
    }

    pub(super) fn lines(&self, look: &Look) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        if let Some((marker, text, role)) = self.sentence() {
            let style = look.style(role);
            lines.extend(look.hanging(Span::styled(marker, style), &text, style));
        }
        let dim = look.style(Role::Dim);
        if let Outcome::Failed { hint: Some(hint), .. } = &self.outcome {
            lines.extend(look.hanging(Span::raw("  "), hint, dim));
        }
        if let Some(receipt) = self.receipt() {
            lines.extend(look.hanging(Span::styled("  ", dim), &receipt, dim));
        }
        lines
    }

    fn sentence(&self) -> Option<(&'static str, String, Role)> {
        let said = match &self.outcome {
            Outcome::Completed => return None,
            Outcome::Cancelled => ("■ ", "You stopped this turn.".to_owned(), Role::Warning),
            Outcome::Failed { message, .. } => ("✗ ", format!("This turn failed: {message}"), Role::Error),
            Outcome::Paused { reason } => (
                "‖ ",
                format!("Paused: {reason}. Write \"go on\" to continue."),
                Role::Warning,
            ),
            Outcome::Interrupted => (
                "! ",
                "The agent ended in the middle of this turn. Nothing is repeated by itself.".to_owned(),
                Role::Warning,
            ),
            Outcome::Unknown => (
                "· ",
                "This turn ended in a way that this version does not know.".to_owned(),
                Role::Dim,
            ),
        };
        Some(said)
    }

    fn receipt(&self) -> Option<String> {
        let usage = self.usage;
        if usage.is_empty() {
            return None;
        }
        let cached = match usage.cached {
            0 => String::new(),
            cached => format!(" ({} cached)", thousands(cached)),
        };
        Some(format!(
            "tokens: {} in{cached}, {} out",
            thousands(usage.input),
            thousands(usage.output)
        ))
    }
}

/// Writes a number with a comma between thousands.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
