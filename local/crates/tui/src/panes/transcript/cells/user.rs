//! What a person asked.

use protocol::{Phase, Snapshot, TurnId};
use ratatui::{
    style::Style,
    text::{Line, Span},
};

use crate::{panes::transcript::look::Look, theme::Role};

/// Before what a person wrote.
const MARKER: &str = "› ";

/// Of a longer text, only so many lines and bytes are shown unless all are wanted.
const FOLDED: (usize, usize) = (20, 4000);

#[derive(Debug)]
pub(super) struct UserCell {
    pub(super) turn: TurnId,
    text: String,
    waits: Waits,
}

/// What a request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    No,
    /// The running turn has to end.
    ForTurn,
    /// No turn runs: the one before it was cut off, and the agent holds back what follows until a person says more.
    ForPerson,
}

impl Waits {
    pub(super) fn of(turn: TurnId, snapshot: &Snapshot) -> Self {
        if !snapshot.queue.contains(&turn) {
            return Self::No;
        }
        match snapshot.phase {
            Phase::Idle => Self::ForPerson,
            _ => Self::ForTurn,
        }
    }

    fn words(self) -> Option<&'static str> {
        match self {
            Self::No => None,
            Self::ForTurn => Some("waits for the running turn"),
            Self::ForPerson => Some("held back; what you send next lets it go on"),
        }
    }
}

impl UserCell {
    pub(super) fn new(turn: TurnId, text: &str) -> Self {
        Self {
            turn,
            text: text.to_owned(),
            waits: Waits::No,
        }
    }

    pub(super) fn set_waits(&mut self, waits: Waits) -> bool {
        std::mem::replace(&mut self.waits, waits) != waits
    }

    pub(super) fn lines(&self, look: &Look) -> Vec<Line<'static>> {
        let style = look.style(Role::User);
        let mut lines = written(&self.text, style, look);
        if let Some(words) = self.waits.words() {
            let dim = look.style(Role::Dim);
            lines.extend(look.hanging(Span::raw("  "), words, dim));
        }
        lines
    }
}

/// Shows what a person wrote; of a long text, its beginning.
pub(super) fn written(text: &str, style: Style, look: &Look) -> Vec<Line<'static>> {
    let text = text.trim_end();
    let marker = Span::styled(MARKER, style);
    let shown = beginning(text);
    if look.folds.whole_output || shown.len() == text.len() {
        return look.hanging(marker, text, style);
    }
    let mut lines = look.hanging(marker, shown, style);
    let left = text.len() - shown.len();
    let more = format!("… {left} more bytes (Ctrl+B)");
    lines.extend(look.hanging(Span::raw("  "), &more, look.style(Role::Dim)));
    lines
}

fn beginning(text: &str) -> &str {
    let line_end = text
        .match_indices('\n')
        .nth(FOLDED.0 - 1)
        .map_or(text.len(), |(at, _)| at);
    if line_end <= FOLDED.1 {
        return &text[..line_end];
    }
    let mut end = FOLDED.1;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
