//! The state of a session as a front end shows it, and how events change it.
//!
//! A snapshot is the fold of the events up to its number. The agent keeps one up to date to answer
//! `GET …/snapshot`; a front end takes it and goes on folding. Both use [`Snapshot::apply`], so a screen that followed
//! events equals a fresh one.

mod fold;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::{
    broker::Credentials,
    content::{CallOutcome, Outcome, Preset, UsageView},
    ids::{PromptId, SessionId, TurnId},
    limits,
    meter::{ContextView, CostView},
    question::PromptKind,
};

/// Everything a fresh screen needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The number of the last event that is folded in.
    pub at: u64,
    /// What the session is.
    pub session: SessionHead,
    /// What it does now.
    pub phase: Phase,
    /// The transcript, oldest first, at most [`limits::SNAPSHOT_ITEMS`].
    pub items: VecDeque<Item>,
    /// How many older items were left out; they are in the history pages.
    #[serde(default)]
    pub items_before: u64,
    /// Questions that wait for a person.
    #[serde(default)]
    pub prompts: Vec<OpenPrompt>,
    /// Turns that were submitted and wait for the running one.
    #[serde(default)]
    pub queue: Vec<TurnId>,
    /// Tokens used by the session so far.
    #[serde(default)]
    pub usage: UsageView,
    /// How full the model's context window is.
    #[serde(default, skip_serializing_if = "ContextView::is_unknown")]
    pub context: ContextView,
    /// What the answers of the model cost so far.
    #[serde(default, skip_serializing_if = "CostView::is_empty")]
    pub cost: CostView,
    /// What the running turn waits for, other than a person's answer to a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Wait>,
    /// How often a request was asked again because who had the key went away in mid-answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub asked_again: u64,
}

/// What a turn waits for, other than a person's answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// Its request to the model is parked, and no broker is there to answer it.
    Credentials,
    /// Something of a newer version.
    #[serde(other)]
    Unknown,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What a session is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionHead {
    /// Its id.
    pub session: SessionId,
    /// Its workspace folder on the agent's machine.
    #[serde(deserialize_with = "limits::text::<{limits::PATH}, _>")]
    pub workspace: String,
    /// The model reference.
    #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
    pub model: String,
    /// What it may do without asking.
    pub preset: Preset,
    /// Whose credentials it asks models with.
    #[serde(default, skip_serializing_if = "Credentials::is_host")]
    pub credentials: Credentials,
}

/// What a session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// Nothing; the next submit starts a turn.
    #[default]
    Idle,
    /// A turn runs.
    Running {
        /// The turn.
        turn: TurnId,
    },
    /// A turn waits for an answer.
    Waiting {
        /// The turn.
        turn: TurnId,
    },
    /// A turn is being stopped.
    Cancelling {
        /// The turn.
        turn: TurnId,
    },
    /// It was closed.
    Closed,
    /// A phase of a newer version.
    #[serde(other)]
    Unknown,
}

impl Phase {
    /// Gives the turn in progress.
    #[must_use]
    pub fn turn(self) -> Option<TurnId> {
        match self {
            Self::Running { turn } | Self::Waiting { turn } | Self::Cancelling { turn } => Some(turn),
            Self::Idle | Self::Closed | Self::Unknown => None,
        }
    }
}

/// A question that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenPrompt {
    /// The question; an answer names it.
    pub id: PromptId,
    /// The turn that waits.
    pub turn: TurnId,
    /// The call that needs approval, or asks.
    #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
    pub call: String,
    /// The tool.
    #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
    pub tool: String,
    /// What it would act on: the command, or the paths. For a question of the model, its text.
    #[serde(deserialize_with = "limits::text::<{limits::TEXT}, _>")]
    pub subject: String,
    /// Why a person is asked.
    #[serde(deserialize_with = "limits::text::<{limits::LINE}, _>")]
    pub reason: String,
    /// What `allow_session` would permit, as a rule; `None` when there is no such choice.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "limits::maybe_text::<{limits::LINE}, _>"
    )]
    pub scope: Option<String>,
    /// What kind of answer it waits for, with the questions of the model.
    #[serde(default, skip_serializing_if = "PromptKind::is_approval")]
    pub kind: PromptKind,
}

/// One entry of the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "item", rename_all = "snake_case")]
pub enum Item {
    /// What a person asked.
    User {
        /// The turn that answers it.
        turn: TurnId,
        /// The text as typed.
        text: String,
    },
    /// What the model said.
    Assistant {
        /// The turn.
        turn: TurnId,
        /// The message's number.
        id: u64,
        /// The visible text, so far or in full.
        text: String,
        /// The reasoning, so far or in full.
        reasoning: String,
        /// Whether the message is complete.
        complete: bool,
        /// How many bytes of the text durable events vouch for. What was streamed beyond them is lost if the agent
        /// dies, and goes with the end of the turn.
        #[serde(default)]
        recorded: u64,
    },
    /// A tool call.
    Tool {
        /// The turn.
        turn: TurnId,
        /// The call.
        call: String,
        /// The tool.
        name: String,
        /// The arguments, as JSON text.
        arguments: String,
        /// How far it is.
        state: ToolState,
        /// The output, live or final.
        output: String,
    },
    /// The end of a turn.
    TurnEnd {
        /// The turn.
        turn: TurnId,
        /// How it ended.
        outcome: Outcome,
        /// What its requests used in all.
        #[serde(default, skip_serializing_if = "UsageView::is_empty")]
        usage: UsageView,
    },
    /// An entry of a newer version, to be skipped.
    #[serde(other)]
    Unknown,
}

impl Item {
    /// Gives the turn that it belongs to. The transcript is in the order of turns.
    #[must_use]
    pub fn turn(&self) -> Option<TurnId> {
        match self {
            Self::User { turn, .. }
            | Self::Assistant { turn, .. }
            | Self::Tool { turn, .. }
            | Self::TurnEnd { turn, .. } => Some(*turn),
            Self::Unknown => None,
        }
    }
}

/// How far a tool call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ToolState {
    /// Asked for, not started.
    Pending,
    /// Running.
    Running,
    /// Over.
    Done {
        /// How it ended.
        outcome: CallOutcome,
    },
    /// A state of a newer version.
    #[serde(other)]
    Unknown,
}

/// Why an event could not be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Events are missing in between; ask again from `expected - 1`, or take a snapshot.
    #[error("event {got} came where {expected} was expected")]
    Gap {
        /// The number that should come next.
        expected: u64,
        /// The number that came.
        got: u64,
    },
    /// A piece of text starts beyond what is known of its item; wait for the item's durable event.
    #[error("text of an item starts at byte {got}, known up to byte {known}")]
    TextGap {
        /// Bytes known.
        known: u64,
        /// Where the piece starts.
        got: u64,
    },
}

/// What applying did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Applied {
    /// The state changed.
    Changed,
    /// It was known already.
    Known,
}
