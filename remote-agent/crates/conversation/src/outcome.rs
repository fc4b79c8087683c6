//! How answers, calls and turns end.

use serde::{Deserialize, Serialize};

/// Why the model stopped writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It had said what it wanted to say.
    #[default]
    Stop,
    /// It waits for the results of its tool calls.
    ToolCalls,
    /// It ran into the output limit.
    Length,
    /// The vendor's filter stopped it.
    ContentFilter,
    /// The vendor gave another reason.
    Other,
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// It ran and succeeded.
    Ok,
    /// It ran and failed, or its arguments were wrong.
    Failed,
    /// Policy or a person refused it; it did not run.
    Denied,
    /// It was never started: the turn was cancelled, or the daemon died first.
    Cancelled,
    /// It was running when the turn was cancelled.
    Interrupted,
    /// It was started and the daemon died before a result was recorded: it may have run.
    Unknown,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum TurnOutcome {
    /// The model finished.
    Completed,
    /// A person stopped it.
    Cancelled,
    /// Something failed that the model cannot mend.
    Failed(Failure),
    /// A limit was reached; continuing is possible.
    Paused {
        /// Which limit.
        reason: PauseReason,
    },
    /// The daemon died in mid-turn; the turn can be resumed.
    Interrupted,
}

/// Which limit paused a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseReason {
    /// `--max-steps` tool rounds were used.
    MaxSteps,
}

/// What failed, for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind of failure, for exit codes and hints.
    pub kind: FailureKind,
    /// What happened and where, in one or two sentences.
    pub message: String,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Kinds of failure that somebody acts differently on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// There is no key, the key was refused, or the quota is used up.
    ModelAccess,
    /// The model's endpoint could not be reached or kept failing.
    ModelUnreachable,
    /// The endpoint answered with something that makes no sense.
    ModelProtocol,
    /// The request was refused (400 and the like).
    ModelRefused,
    /// A defect or an environment problem on the agent's side.
    Internal,
}
