//! What comes out of a stream.

use std::time::Duration;

use conversation::{Finish, Usage};

/// One decoded piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamItem {
    /// Visible text.
    Text(String),
    /// Reasoning.
    Reasoning(String),
    /// A complete tool call. Calls come after all text, in order, and only from a complete answer.
    Call(Call),
    /// What the request used; at most once.
    Usage(Usage),
    /// Why the model stopped; the last item.
    Finish(Finish),
    /// The attempt failed and another one follows: everything before this item is void.
    Retrying {
        /// The number of the attempt that follows; the first one was 1.
        attempt: u32,
        /// How long the stream waits before it.
        wait: Duration,
        /// What went wrong, in words.
        cause: String,
    },
    /// Who had the key went away in mid-answer, and the same request is asked again: everything before this item is void.
    /// No attempt was spent.
    AskedAgain {
        /// Why, in words.
        reason: String,
    },
    /// Nobody with the key is there to ask; the stream goes on when somebody is.
    Waiting,
    /// Somebody with the key is there again.
    WentOn,
}

/// A complete tool call as the model made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its place among the calls of the answer, from 0 without holes.
    pub index: usize,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// One JSON object; `{}` when the model gave nothing or something unusable.
    pub arguments: String,
    /// Why the arguments were unusable, in words for the model.
    pub malformed: Option<String>,
}
