//! The vocabulary of a conversation: messages, tool calls, usage and how things end.
//!
//! Every crate of the agent speaks in these types. They are neither the wire (`protocol`) nor a vendor's format
//! (`provider`): both are translated from and to here, so that each can change alone.

mod call;
mod ids;
mod message;
mod outcome;
mod question;
mod tool;
mod usage;

pub use call::{ToolCall, ToolMessage};
pub use ids::{CallId, ItemId, TurnId};
pub use message::{AssistantMessage, Message, UserMessage};
pub use outcome::{CallOutcome, Failure, FailureKind, Finish, PauseReason, TurnOutcome};
pub use question::{Question, QuestionOption, Reply, Response};
pub use tool::{Effect, ToolSpec};
pub use usage::{Cost, Usage};
