//! The entries of the transcript: data, and the lines that it is shown as.

mod answer;
mod arguments;
mod banner;
mod diff;
mod notice;
mod queued;
mod reasoning;
mod shell;
mod tool;
mod turn_end;
mod user;

use protocol::{Item, Snapshot};
use ratatui::text::Line;

pub(super) use self::answer::AnswerCell;
use self::{
    queued::QueuedCell,
    tool::ToolCell,
    turn_end::TurnEndCell,
    user::{UserCell, Waits},
};
use super::{Level, Notice, QueuedSubmit, look::Look};

/// An entry.
#[derive(Debug)]
pub(super) struct Cell {
    /// Its identity on this screen; it stays when cells before it come or go.
    pub(super) id: u64,
    /// Grows with each change, so that kept lines are known to be old.
    pub(super) revision: u64,
    content: Content,
}

#[derive(Debug)]
enum Content {
    User(UserCell),
    Answer(AnswerCell),
    Tool(Box<ToolCell>),
    TurnEnd(TurnEndCell),
    Notice(Notice),
    Queued(QueuedCell),
    /// An item of a newer version: nothing is shown.
    Unknown,
}

impl Cell {
    /// Makes the cell of an item of the session.
    pub(super) fn of_item(id: u64, item: &Item, snapshot: Option<&Snapshot>) -> Self {
        let content = match item {
            Item::User { turn, text } => Content::User(UserCell::new(*turn, text)),
            Item::Assistant { id, .. } => Content::Answer(AnswerCell::new(*id)),
            Item::Tool {
                call,
                name,
                arguments,
                ..
            } => Content::Tool(Box::new(ToolCell::new(call, name, arguments))),
            Item::TurnEnd { turn, outcome, usage } => {
                Content::TurnEnd(TurnEndCell::new(*turn, outcome, *usage))
            }
            Item::Unknown => Content::Unknown,
        };
        let mut cell = Self::new(id, content);
        cell.take_over(item, snapshot);
        cell
    }

    pub(super) fn of_notice(id: u64, notice: Notice) -> Self {
        Self::new(id, Content::Notice(notice))
    }

    pub(super) fn of_queued(id: u64, queued: &QueuedSubmit) -> Self {
        Self::new(id, Content::Queued(QueuedCell::new(queued)))
    }

    fn new(id: u64, content: Content) -> Self {
        Self {
            id,
            revision: 0,
            content,
        }
    }

    /// Says whether only this screen knows it.
    pub(super) fn is_own(&self) -> bool {
        matches!(self.content, Content::Notice(_) | Content::Queued(_))
    }

    pub(super) fn is_banner(&self) -> bool {
        matches!(&self.content, Content::Notice(notice) if notice.level == Level::Banner)
    }

    /// Says whether it shows this item.
    pub(super) fn shows(&self, item: &Item) -> bool {
        match (&self.content, item) {
            (Content::User(cell), Item::User { turn, .. }) => cell.turn == *turn,
            (Content::Answer(cell), Item::Assistant { id, .. }) => cell.message == *id,
            (Content::Tool(cell), Item::Tool { call, .. }) => cell.call == *call,
            (Content::TurnEnd(cell), Item::TurnEnd { turn, .. }) => cell.turn == *turn,
            (Content::Unknown, Item::Unknown) => true,
            _ => false,
        }
    }

    /// Takes over what changed of the item that it shows.
    pub(super) fn take_over(&mut self, item: &Item, snapshot: Option<&Snapshot>) {
        let changed = match (&mut self.content, item) {
            (Content::User(cell), Item::User { turn, .. }) => {
                cell.set_waits(snapshot.map_or(Waits::No, |snapshot| Waits::of(*turn, snapshot)))
            }
            (Content::Answer(cell), Item::Assistant { text, reasoning, .. }) => cell.set(text, reasoning),
            (
                Content::Tool(cell),
                Item::Tool {
                    call, state, output, ..
                },
            ) => {
                let mut prompts = snapshot.iter().flat_map(|snapshot| &snapshot.prompts);
                cell.set(*state, output, prompts.any(|prompt| prompt.call == *call))
            }
            (Content::TurnEnd(cell), Item::TurnEnd { outcome, usage, .. }) => cell.set(outcome, *usage),
            _ => false,
        };
        self.revision += u64::from(changed);
    }

    /// Gives the answer, where it is one.
    pub(super) fn answer(&self) -> Option<&AnswerCell> {
        match &self.content {
            Content::Answer(cell) => Some(cell),
            _ => None,
        }
    }

    /// Says whether it shows nothing, as a message that only calls tools.
    pub(super) fn is_empty(&self) -> bool {
        match &self.content {
            Content::Answer(cell) => cell.is_empty(),
            Content::TurnEnd(cell) => cell.is_empty(),
            Content::Unknown => true,
            Content::User(_) | Content::Tool(_) | Content::Notice(_) | Content::Queued(_) => false,
        }
    }

    /// Says whether it stands without a blank line under `before`: tools that are one line each.
    pub(super) fn joins(&self, before: &Self) -> bool {
        match (&before.content, &self.content) {
            (Content::Tool(before), Content::Tool(cell)) => before.is_one_line() && cell.is_one_line(),
            (Content::Queued(_), Content::Queued(_)) => true,
            _ => false,
        }
    }

    /// Gives its lines; of an answer, those before its text.
    pub(super) fn lines(&self, look: &Look) -> Vec<Line<'static>> {
        match &self.content {
            Content::User(cell) => cell.lines(look),
            Content::Answer(cell) => cell.lines(look),
            Content::Tool(cell) => cell.lines(look),
            Content::TurnEnd(cell) => cell.lines(look),
            Content::Notice(cell) if cell.level == Level::Banner => banner::lines(&cell.text, look),
            Content::Notice(cell) => notice::lines(cell, look),
            Content::Queued(cell) => cell.lines(look),
            Content::Unknown => Vec::new(),
        }
    }
}
