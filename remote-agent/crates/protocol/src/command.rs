//! What a client can ask a session to do: `POST /v1/sessions/{id}/commands`.

use serde::{Deserialize, Serialize};

use crate::{
    content::Preset,
    ids::{CommandId, PromptId, TurnId},
    limits,
    question::Reply,
};

/// One command with the id that makes repeating it harmless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRequest {
    /// Chosen by the client, fresh for every new intention, the same when it is sent again.
    pub id: CommandId,
    /// What to do.
    pub command: Command,
}

/// Everything a client can ask for, nested by topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "topic", rename_all = "snake_case")]
pub enum Command {
    /// About turns.
    Turn(TurnCommand),
    /// About open questions.
    Prompt(PromptCommand),
    /// About the session as a whole.
    Session(SessionCommand),
}

/// Commands about turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TurnCommand {
    /// Asks for something. Waits in the queue while a turn runs.
    Submit {
        /// The text as typed.
        #[serde(deserialize_with = "limits::text::<{limits::SUBMIT_TEXT}, _>")]
        text: String,
        /// Pause after this many tool rounds; 0 means no limit.
        #[serde(default)]
        max_steps: u32,
    },
    /// Stops a turn. It names the turn, so that a late repetition never stops another one.
    Cancel {
        /// The turn to stop.
        turn: TurnId,
    },
}

/// Commands about open questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PromptCommand {
    /// Answers a question. The first answer wins.
    Answer {
        /// The question.
        prompt: PromptId,
        /// The answer.
        answer: Answer,
    },
    /// Answers a question of the model. The first answer wins.
    Reply {
        /// The question.
        prompt: PromptId,
        /// One reply to each of its questions, in their order; those left out at the end are skipped.
        #[serde(deserialize_with = "limits::list::<{limits::QUESTIONS}, _, _>")]
        replies: Vec<Reply>,
    },
}

/// An answer to a request for approval, or how a question of the model was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Run this call.
    AllowOnce,
    /// Run it, and everything of the shown scope until the session ends.
    AllowSession,
    /// Do not run it. To a question of the model: the person does not want to answer.
    Deny,
    /// The question was answered with replies. Only told, never sent: a client sends [`PromptCommand::Reply`].
    Replied,
    /// No person can be asked here. A call is then refused; a question is left to the model.
    Nobody,
    /// An answer of a newer version; it counts as a refusal.
    #[serde(other)]
    Unknown,
}

impl Answer {
    /// Gives the name used on the wire and in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AllowOnce => "allow_once",
            Self::AllowSession => "allow_session",
            Self::Replied => "replied",
            Self::Nobody => "nobody",
            Self::Deny | Self::Unknown => "deny",
        }
    }
}

/// Commands about the session as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SessionCommand {
    /// Changes what may be done without asking, from the next call on.
    SetPreset {
        /// The new preset.
        preset: Preset,
    },
    /// Ends the session; a running turn is cancelled.
    Close,
}

/// The answer to a command: it is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The command.
    pub id: CommandId,
    /// The number of the event that it caused. A client that has applied this event has seen the effect.
    pub at: u64,
    /// The turn that the command concerns, for a submit the one that will answer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
}
