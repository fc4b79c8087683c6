//! Tool calls and their results.

use serde::{Deserialize, Serialize};

use crate::{CallId, CallOutcome};

/// A request of the model to run a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Pairs the call with its result.
    pub id: CallId,
    /// The tool's name as the model wrote it; it may be unknown.
    pub name: String,
    /// The arguments as JSON text. Always one valid JSON value: text that does not parse is stored as `{}` and the
    /// call is answered with a validation error.
    pub arguments: String,
    /// Why the arguments could not be used, in words for the model; `None` when they parsed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
}

/// The result of a tool call as the model is shown it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolMessage {
    /// The call this answers.
    pub call: CallId,
    /// How the call ended.
    pub outcome: CallOutcome,
    /// The text for the model, at most 32 KiB, computed once and then the same in every request.
    pub content: String,
}
