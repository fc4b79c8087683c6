//! What the model asks a person, and what a person answers.

use serde::{Deserialize, Serialize};

/// One question with the answers it suggests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// A word or two that name it.
    pub header: String,
    /// The question.
    pub text: String,
    /// The suggested answers, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<QuestionOption>,
    /// Whether several options may be chosen.
    #[serde(default)]
    pub multi_select: bool,
    /// Whether an answer in the person's own words is welcome.
    #[serde(default)]
    pub free_text: bool,
}

/// One suggested answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionOption {
    /// The answer in a few words, unique in its question.
    pub label: String,
    /// What choosing it means; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// What a person answers to one question; nothing at all skips it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reply {
    /// The labels of the chosen options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chosen: Vec<String>,
    /// An answer in the person's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What came of asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response {
    /// A person answered: one reply for each question, in their order.
    Replied(Vec<Reply>),
    /// A person saw the questions and chose no answer.
    Declined,
    /// No person can be asked.
    Nobody,
}
