//! What wakes a session, and what a session causes.

use std::time::Duration;

use agent_loop::{Approval, Inquiry, TurnEvent, Verdict};
use conversation::{Message, Response, TurnId};
use permission::{Grants, Preset};
use protocol::{Command, CommandId, Credentials, Delta, ErrorBody, PromptId, Receipt};
use session_store::record::Record;

/// Everything that can wake a session. Closed on purpose.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Input {
    /// A client wants something.
    Command {
        /// The id that the client chose.
        id: CommandId,
        /// SHA-256 of the canonical command, in hex.
        body: String,
        /// What it wants.
        command: Command,
    },
    /// The running turn reports something.
    Turn(TurnId, TurnEvent),
    /// The model asks a person something.
    Inquiry(TurnId, Inquiry),
    /// The running turn needs a person's approval.
    Ask(TurnId, Approval),
    /// The task of the turn ended without [`TurnEvent::Ended`]: it panicked, or did not stop within its grace.
    TurnLost(TurnId, String),
    /// A timer that was armed has fired.
    Timer(Timer),
    /// A client opened the session with these credentials.
    Credentials(Credentials),
    /// The session was opened by this daemon; waiting submits may start.
    Opened,
    /// The daemon ends.
    ShutDown,
}

/// Timers of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Timer {
    /// Streamed text has waited long enough to be made durable.
    Checkpoint,
}

/// Everything a session can cause. Run in order by `effects`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    /// Write the record, then publish the event that it projects to.
    Append(Record),
    /// Wait until everything written is on disk.
    Sync,
    /// Answer the command that is being handled.
    Reply(Result<Receipt, ErrorBody>),
    /// Show a piece of text that is not durable yet.
    Show(Delta),
    /// Start the model loop.
    StartTurn(TurnPlan),
    /// Tell the running turn to stop.
    CancelTurn(TurnId),
    /// Give the running turn the verdict it waits for.
    Answer(PromptId, Verdict),
    /// Give the running turn what came of the model's questions; `None` when they are withdrawn.
    Respond(PromptId, Option<Response>),
    /// The policy for the next calls changed.
    SetPolicy(Posture),
    /// Ask models with these credentials from the next turn on.
    UseCredentials(Credentials),
    /// Fire a timer after a while; arming again starts anew.
    Arm(Timer, Duration),
}

/// What a turn starts from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TurnPlan {
    /// The turn.
    pub(crate) turn: TurnId,
    /// The conversation so far, the request of this turn last.
    pub(crate) messages: Vec<Message>,
    /// The number of the next streamed message.
    pub(crate) next_item: u64,
    /// Pause after this many tool rounds; 0 means no limit.
    pub(crate) max_steps: u32,
}

/// What the session may do without asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Posture {
    /// The preset.
    pub(crate) preset: Preset,
    /// What a person granted until the session ends. Grants are not in the log: they end with the daemon.
    pub(crate) grants: Grants,
}
