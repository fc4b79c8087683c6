//! What a client is told: `GET /v1/sessions/{id}/events?after=N`.
//!
//! *Durable* events are numbered from 1 without holes and were on disk before they were sent. *Deltas* are pieces of
//! text that belong to an item and say at which offset they start; they may be merged, repeated or left out, and the
//! item's durable event supersedes them.

mod delta;
mod prompt;
mod session;
mod tool;
mod turn;

use serde::{Deserialize, Serialize};

pub use delta::{Delta, DeltaTarget};
pub use prompt::PromptEvent;
pub use session::SessionEvent;
pub use tool::ToolEvent;
pub use turn::TurnEvent;

use crate::snapshot::Snapshot;

/// One entry of an event stream. The SSE `event:` field is the tag in lower case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "frame", rename_all = "snake_case")]
pub enum Frame {
    /// A durable event; the SSE `id:` is its number.
    Event(EventEnvelope),
    /// A piece of text.
    Delta(Delta),
    /// The whole state at a number, where that is cheaper than the events up to it; events go on after it.
    Snapshot(Box<Snapshot>),
    /// A frame of a newer version, to be skipped.
    #[serde(other)]
    Unknown,
}

/// A durable event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventEnvelope {
    /// Its number in the session, from 1 without holes; also the number of the log record behind it.
    pub n: u64,
    /// When it was recorded, in milliseconds since the Unix epoch.
    pub at: u64,
    /// What happened.
    pub event: Event,
}

/// What happened, nested by topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "topic", rename_all = "snake_case")]
pub enum Event {
    /// To the session.
    Session(SessionEvent),
    /// To a turn.
    Turn(TurnEvent),
    /// To a tool call.
    Tool(ToolEvent),
    /// To a question.
    Prompt(PromptEvent),
    /// An event of a newer version; it counts, and changes nothing here.
    #[serde(other)]
    Unknown,
}
