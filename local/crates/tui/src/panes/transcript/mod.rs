//! What was said and done, oldest first, with its own scrolling.

use std::collections::VecDeque;

use protocol::{CommandId, Frame, Item, Snapshot};
use ratatui::{buffer::Buffer, layout::Rect, text::Line};

use crate::theme::{Role, Theme};

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// The banner and what goes with it.
    Banner,
    /// Good to know.
    Info,
    /// Needs attention.
    Warning,
    /// Something failed.
    Error,
}

/// A line or more that only this screen knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) level: Level,
    pub(crate) text: String,
}

/// A submit that the agent has not confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueuedSubmit {
    pub(crate) id: CommandId,
    pub(crate) text: String,
    /// Whether it is on its way at this moment.
    pub(crate) is_sent: bool,
}

/// What can be done with the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TranscriptMsg {
    LineUp,
    LineDown,
    PageUp,
    PageDown,
    Top,
    Bottom,
    WheelUp,
    WheelDown,
    ToggleReasoning,
    ToggleOutput,
    Resize { width: u16, height: u16 },
}

/// The pane. (Plain text until its cells are there.)
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    items: VecDeque<Item>,
    notices: Vec<Notice>,
    queued: Vec<QueuedSubmit>,
}

impl Transcript {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Shows another state.
    pub(crate) fn replace(&mut self, snapshot: &Snapshot) {
        self.items = snapshot.items.clone();
    }

    /// Takes over what `frame` changed; the snapshot has it folded in already.
    pub(crate) fn apply(&mut self, snapshot: &Snapshot, _frame: &Frame) {
        self.replace(snapshot);
    }

    /// Says which submits wait for their receipt.
    pub(crate) fn set_queued(&mut self, queued: &[QueuedSubmit]) {
        self.queued = queued.to_vec();
    }

    /// Adds a line that only this screen knows.
    pub(crate) fn push(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    /// Adds older history before everything else.
    pub(crate) fn prepend(&mut self, items: Vec<Item>) {
        for item in items.into_iter().rev() {
            self.items.push_front(item);
        }
    }

    pub(crate) fn update(&mut self, _msg: TranscriptMsg) {}

    /// Says whether older history should be fetched: the top is in sight.
    pub(crate) fn wants_older(&self) -> bool {
        false
    }

    pub(crate) fn view(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        let lines = self.lines();
        let skip = lines.len().saturating_sub(usize::from(area.height));
        for (line, row) in lines.iter().skip(skip).zip(area.rows()) {
            buffer.set_line(
                row.x,
                row.y,
                &Line::styled(line.as_str(), theme.style(Role::Text)),
                row.width,
            );
        }
    }

    /// Gives the end as plain lines, for the normal screen.
    pub(crate) fn tail(&self, _width: u16, max_lines: usize) -> Vec<String> {
        let mut lines = self.lines();
        lines.split_off(lines.len().saturating_sub(max_lines))
    }

    /// Gives the newest answer in full.
    pub(crate) fn last_answer(&self) -> Option<&str> {
        self.items.iter().rev().find_map(|item| match item {
            Item::Assistant { text, .. } => Some(text.as_str()),
            _ => None,
        })
    }

    fn lines(&self) -> Vec<String> {
        let notices = self.notices.iter().map(|notice| notice.text.clone());
        let items = self.items.iter().map(|item| match item {
            Item::User { text, .. } => format!("> {text}"),
            Item::Assistant { text, .. } => text.clone(),
            Item::Tool { name, output, .. } => format!("* {name}\n{output}"),
            Item::TurnEnd { outcome, .. } => format!("- {outcome:?}"),
            Item::Unknown => String::new(),
        });
        let queued = self
            .queued
            .iter()
            .map(|queued| format!("> {} (queued)", queued.text));
        let texts: Vec<String> = notices.chain(items).chain(queued).collect();
        texts
            .iter()
            .flat_map(|text| text.lines())
            .map(str::to_owned)
            .collect()
    }
}
