//! What a person asked and the agent has not confirmed.

use ratatui::text::{Line, Span};

use super::user::written;
use crate::{
    panes::transcript::{QueuedSubmit, look::Look},
    theme::Role,
};

#[derive(Debug)]
pub(super) struct QueuedCell {
    text: String,
    is_sent: bool,
}

impl QueuedCell {
    pub(super) fn new(queued: &QueuedSubmit) -> Self {
        Self {
            text: queued.text.clone(),
            is_sent: queued.is_sent,
        }
    }

    pub(super) fn lines(&self, look: &Look) -> Vec<Line<'static>> {
        let dim = look.style(Role::Dim);
        let state = if self.is_sent {
            "sending"
        } else {
            "queued: goes out when the connection is back"
        };
        let mut lines = written(&self.text, dim, look);
        lines.extend(look.hanging(Span::raw("  "), state, look.style(Role::Warning)));
        lines
    }
}
