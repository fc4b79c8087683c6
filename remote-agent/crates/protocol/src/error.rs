//! What an agent answers when it cannot do as asked.

use serde::{Deserialize, Serialize};

use crate::limits;

/// Why a request failed. A code exists because a client acts differently on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The request does not parse or has a wrong value (400).
    BadRequest,
    /// A limit of `protocol::limits` was passed (413).
    TooLarge,
    /// The caller may not do this (401, 403).
    Denied,
    /// There is no such session, route or question (404).
    NotFound,
    /// The id was used before with another body, or the state forbids it (409).
    Conflict,
    /// Another daemon holds the session; the message names its socket (409).
    HeldElsewhere,
    /// The mailbox is full; try again (429).
    Busy,
    /// The workspace is missing or cannot be entered (422).
    Workspace,
    /// The model or its key is not configured (422).
    ModelAccess,
    /// The configuration on the agent's machine is broken (422).
    Configuration,
    /// The daemon is going away and takes no new work (503).
    Draining,
    /// What a stream was to lead to cannot be reached from the agent's machine (502).
    Unreachable,
    /// A defect or an environment problem on the agent's side (500).
    Internal,
    /// A code of a newer version.
    #[serde(other)]
    Unknown,
}

/// The body of every failed answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorResponse {
    /// The error.
    pub error: ErrorBody,
}

/// One error, for a program and for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// For programs.
    pub code: ErrorCode,
    /// What happened and where.
    #[serde(deserialize_with = "limits::text::<{limits::LINE}, _>")]
    pub message: String,
    /// What to do next.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "limits::maybe_text::<{limits::LINE}, _>"
    )]
    pub hint: Option<String>,
    /// Whether the same request may succeed later.
    #[serde(default)]
    pub retryable: bool,
    /// The socket of the daemon on the same machine that has what was asked for.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "limits::maybe_text::<{limits::PATH}, _>"
    )]
    pub socket: Option<String>,
}

impl ErrorBody {
    /// Makes an error without a hint that trying again will not mend.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            retryable: false,
            socket: None,
        }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
