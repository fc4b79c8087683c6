//! Questions of the model to a person, and what a person answers.
//!
//! A request for approval and a question of the model are both open prompts ([`crate::OpenPrompt`]); they differ in
//! their kind. A client that does not know the kind shows a question like a request for approval, and whatever it
//! answers means that the person chose nothing.

use serde::{Deserialize, Serialize};

use crate::limits;

/// What kind of answer an open prompt waits for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PromptKind {
    /// May this call run? Answered with [`crate::PromptCommand::Answer`].
    #[default]
    Approval,
    /// The model asks something. Answered with [`crate::PromptCommand::Reply`], or with
    /// [`crate::PromptCommand::Answer`] when there is no reply: [`crate::Answer::Deny`] when the person does not want
    /// to answer, [`crate::Answer::Nobody`] where no person can be asked.
    Question {
        /// What it asks, in order; never empty.
        #[serde(deserialize_with = "limits::list::<{limits::QUESTIONS}, _, _>")]
        questions: Vec<Question>,
    },
    /// A kind of a newer version. It can be refused.
    #[serde(other)]
    Unknown,
}

impl PromptKind {
    /// Says whether it is a request for approval, the kind of every prompt of older versions.
    #[must_use]
    pub fn is_approval(&self) -> bool {
        matches!(self, Self::Approval)
    }

    /// Gives the questions of the model; none for another kind.
    #[must_use]
    pub fn questions(&self) -> &[Question] {
        match self {
            Self::Question { questions } => questions,
            Self::Approval | Self::Unknown => &[],
        }
    }
}

/// One question with the answers it suggests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// A word or two that name it, unique among the questions of its prompt.
    #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
    pub header: String,
    /// The question.
    #[serde(deserialize_with = "limits::text::<{limits::LINE}, _>")]
    pub text: String,
    /// The suggested answers, in order.
    #[serde(default, deserialize_with = "limits::list::<{limits::OPTIONS}, _, _>")]
    pub options: Vec<QuestionOption>,
    /// Whether several options may be chosen.
    #[serde(default)]
    pub multi_select: bool,
    /// Whether an answer in the person's own words is welcome, instead of an option or beside it.
    #[serde(default)]
    pub free_text: bool,
}

/// One suggested answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionOption {
    /// The answer in a few words, unique in its question; a reply names it.
    #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
    pub label: String,
    /// What choosing it means; may be empty.
    #[serde(
        default,
        skip_serializing_if = "String::is_empty",
        deserialize_with = "limits::text::<{limits::LINE}, _>"
    )]
    pub description: String,
}

/// What a person answers to one question. Nothing at all skips the question.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reply {
    /// The labels of the chosen options; more than one only where the question allows it.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "limits::texts::<{limits::OPTIONS}, {limits::NAME}, _>"
    )]
    pub chosen: Vec<String>,
    /// An answer in the person's own words.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "limits::maybe_text::<{limits::REPLY}, _>"
    )]
    pub text: Option<String>,
}

impl Reply {
    /// Chooses one option.
    pub fn option(label: impl Into<String>) -> Self {
        Self {
            chosen: vec![label.into()],
            text: None,
        }
    }

    /// Answers in own words.
    pub fn words(text: impl Into<String>) -> Self {
        Self {
            chosen: Vec::new(),
            text: Some(text.into()),
        }
    }

    /// Says whether the question is skipped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty() && self.text.as_deref().is_none_or(|text| text.trim().is_empty())
    }
}
