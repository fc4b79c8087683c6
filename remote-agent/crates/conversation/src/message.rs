//! Messages of a conversation.

use serde::{Deserialize, Serialize};

use crate::{Cost, Finish, ToolCall, ToolMessage, Usage};

/// One message of the conversation, in the order in which the model sees them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// What a person (or the program on their behalf) says.
    User(UserMessage),
    /// What the model says and asks for.
    Assistant(AssistantMessage),
    /// The result of one tool call.
    Tool(ToolMessage),
}

/// A message to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// The text as typed.
    pub text: String,
}

/// A complete answer of the model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// The visible text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The model's reasoning, where the vendor shows it; replayed where the vendor needs it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// The tools it wants to run, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Why the model stopped.
    pub finish: Finish,
    /// The tokens that the request used; `None` when the vendor did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What the request cost; `None` when no price is known, or no token counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

impl AssistantMessage {
    /// Says whether the message holds nothing at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.reasoning.is_empty() && self.calls.is_empty()
    }
}
