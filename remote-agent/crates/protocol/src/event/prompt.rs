//! Events of questions to a person.

use serde::{Deserialize, Serialize};

use crate::{
    command::Answer,
    ids::{CommandId, PromptId},
    limits,
    question::Reply,
    snapshot::OpenPrompt,
};

/// What happened to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PromptEvent {
    /// It was asked; the turn waits for the answer.
    Opened {
        /// The question.
        prompt: OpenPrompt,
    },
    /// It was answered.
    Answered {
        /// The question.
        prompt: PromptId,
        /// The answer.
        answer: Answer,
        /// The replies to a question of the model, in the order of its questions.
        #[serde(
            default,
            skip_serializing_if = "Vec::is_empty",
            deserialize_with = "limits::list::<{limits::QUESTIONS}, _, _>"
        )]
        replies: Vec<Reply>,
        /// The command that carried it.
        command: CommandId,
    },
    /// It is moot.
    Withdrawn {
        /// The question.
        prompt: PromptId,
        /// Why.
        #[serde(deserialize_with = "limits::text::<{limits::LINE}, _>")]
        reason: String,
    },
    /// An event of a newer version.
    #[serde(other)]
    Unknown,
}
