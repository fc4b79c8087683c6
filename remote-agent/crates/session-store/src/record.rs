//! What a session log can say.
//!
//! A record is a fact about the session. It projects to exactly one durable wire event with the same number
//! (settled details 2), so kinds are never removed and fields only added. `tests/it/golden/` holds one line of each
//! kind; a line written by any earlier version must go on decoding.

use conversation::{
    AssistantMessage, CallId, CallOutcome, ItemId, Question, Reply, ToolMessage, TurnId, TurnOutcome, Usage,
};
use serde::{Deserialize, Serialize};

/// The command that caused a record, so that a repeated command finds its receipt, also after a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CausedBy {
    /// The id that the client chose (UUIDv7, as text).
    pub id: String,
    /// SHA-256 of the canonical command body, in hex: the same id with another body is a conflict.
    pub body: String,
}

/// One fact, nested by topic. On disk `kind` is `<topic>.<variant>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// The session itself.
    Session(SessionRecord),
    /// A turn and what the model said in it.
    Turn(TurnRecord),
    /// A tool call.
    Call(CallRecord),
    /// A question to a person.
    Prompt(PromptRecord),
    /// A record of a newer version: its kind and its data are kept as they were read.
    Unknown {
        /// The kind as written.
        kind: String,
        /// The data as written.
        data: serde_json::Value,
    },
}

/// Facts about the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SessionRecord {
    /// The first record of every log.
    Opened {
        /// The session's id (UUIDv7, chosen by the client).
        id: String,
        /// SHA-256 of the canonical request that opened it: the same id with another request is a conflict.
        request: String,
        /// The absolute workspace folder on this machine.
        workspace: String,
        /// The model reference in use.
        model: String,
        /// The permission preset's name.
        preset: String,
        /// How many tokens fit into the model's context window; `None` when nobody said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_window: Option<u64>,
        /// The log and record from which this session was forked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Parent>,
    },
    /// The fixed prefix of every model request of this session.
    Prefix {
        /// The system text.
        system: String,
        /// The session-context message that precedes the first turn.
        context: String,
    },
    /// From here on another model answers, or something else is known of the same one.
    ModelChanged {
        /// The model reference in use.
        model: String,
        /// How many tokens fit into its context window; `None` when nobody said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_window: Option<u64>,
    },
    /// From here on its models are asked with these credentials; before the first such record with those of the host.
    CredentialsChanged {
        /// Whose: `host` or `broker`.
        credentials: String,
    },
    /// The permission preset changed.
    PresetChanged {
        /// The new preset's name.
        preset: String,
        /// The command that asked for it.
        by: CausedBy,
    },
    /// A command was accepted and had nothing to do; recorded so that repeating it later does nothing either.
    Ignored {
        /// The command.
        by: CausedBy,
        /// Why it had no effect, in words.
        reason: String,
    },
    /// A daemon took the session up again after another one ended.
    Resumed {
        /// The instance id of the daemon.
        instance: String,
    },
    /// The session was closed by a command.
    Closed {
        /// The command.
        by: CausedBy,
    },
}

/// The session and record from which another was forked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The parent session's id.
    pub session: String,
    /// The last record taken over.
    pub at: u64,
}

/// Facts about a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TurnRecord {
    /// A person asked for something. If a turn is running, it waits in the queue.
    Submitted {
        /// The turn that will answer it.
        turn: TurnId,
        /// The text as typed.
        text: String,
        /// Pause after this many tool rounds; 0 means no limit.
        #[serde(default, skip_serializing_if = "is_zero")]
        max_steps: u32,
        /// The command.
        by: CausedBy,
    },
    /// The turn began.
    Started {
        /// The turn.
        turn: TurnId,
    },
    /// A piece of streamed text, recorded so that a partial answer survives (settled details 4).
    Partial {
        /// The turn.
        turn: TurnId,
        /// The assistant message being streamed.
        item: ItemId,
        /// Where in the message's text this piece starts, in bytes.
        offset: u64,
        /// The piece.
        text: String,
    },
    /// A streamed message was thrown away because its request is tried again.
    Discarded {
        /// The turn.
        turn: TurnId,
        /// The message.
        item: ItemId,
        /// Why, in words.
        reason: String,
    },
    /// The turn waits for something other than a person's answer to a question.
    Waiting {
        /// The turn.
        turn: TurnId,
        /// What for: `credentials`.
        what: String,
    },
    /// What the turn waited for has come.
    WentOn {
        /// The turn.
        turn: TurnId,
    },
    /// A request to the model is asked again, since who had the key went away in mid-answer.
    AskedAgain {
        /// The turn.
        turn: TurnId,
        /// Why, in words.
        reason: String,
    },
    /// The model's message is complete.
    Assistant {
        /// The turn.
        turn: TurnId,
        /// The message's number.
        item: ItemId,
        /// The message.
        message: AssistantMessage,
    },
    /// A person asked the turn to stop.
    CancelRequested {
        /// The turn.
        turn: TurnId,
        /// The command.
        by: CausedBy,
    },
    /// The turn ended.
    Ended {
        /// The turn.
        turn: TurnId,
        /// How.
        outcome: TurnOutcome,
        /// Tokens used by all requests of the turn.
        usage: Usage,
    },
}

/// Facts about a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CallRecord {
    /// The tool is about to run. Written and synced before it starts.
    Started {
        /// The turn.
        turn: TurnId,
        /// The call.
        call: CallId,
    },
    /// The call has a result; there is exactly one for every call of a recorded message.
    Finished {
        /// The turn.
        turn: TurnId,
        /// The result as the model is shown it.
        result: ToolMessage,
    },
}

/// Facts about a question to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PromptRecord {
    /// A question was asked and waits.
    Opened {
        /// The question's number in the session, from 1.
        prompt: u64,
        /// The turn that waits.
        turn: TurnId,
        /// The call that needs approval, or asks.
        call: CallId,
        /// The tool's name.
        tool: String,
        /// What it would act on: the command, or the paths. For questions of the model, their texts.
        subject: String,
        /// Why a person is asked.
        reason: String,
        /// The wider permission that can be granted for the session, as a rule; `None` when there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<String>,
        /// What the model asks; empty for a request for approval.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        questions: Vec<Question>,
    },
    /// A person answered.
    Answered {
        /// The question.
        prompt: u64,
        /// The answer: `allow_once`, `allow_session`, `deny`, `nobody` or `replied`.
        answer: String,
        /// The replies to questions of the model, one for each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        replies: Vec<Reply>,
        /// The command.
        by: CausedBy,
    },
    /// The question is moot: its turn was cancelled or died.
    Withdrawn {
        /// The question.
        prompt: u64,
        /// Why, in words.
        reason: String,
    },
}

impl CallRecord {
    /// Makes the result record of a call.
    #[must_use]
    pub fn finished(turn: TurnId, call: CallId, outcome: CallOutcome, content: impl Into<String>) -> Self {
        Self::Finished {
            turn,
            result: ToolMessage {
                call,
                outcome,
                content: content.into(),
            },
        }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
