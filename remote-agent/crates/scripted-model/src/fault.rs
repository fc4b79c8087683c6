//! What goes wrong with a request.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A fault that one request meets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fault {
    /// An HTTP status instead of an answer.
    Status {
        /// The status code.
        status: u16,
        /// The value of the `Retry-After` header.
        #[serde(default)]
        retry_after: Option<String>,
        /// The body, where the standard error object will not do.
        #[serde(default)]
        body: Option<String>,
    },
    /// The connection closes without a response.
    Hangup,
    /// The request is read and nothing ever comes back.
    Silent,
    /// The connection closes after this many bytes of the answer's body.
    Drop {
        /// Bytes that still arrive.
        after: usize,
    },
    /// Nothing more comes after this many bytes of the answer's body; the connection stays open.
    Stall {
        /// Bytes that still arrive.
        after: usize,
    },
    /// Nothing but keep-alive comments comes, for ever.
    CommentsOnly {
        /// Milliseconds between comments.
        every_ms: u64,
    },
    /// The whole answer comes, in small pieces with pauses. This fault does not replace the reply.
    Trickle {
        /// Bytes in a piece.
        bytes: usize,
        /// Milliseconds between pieces.
        every_ms: u64,
    },
    /// Status 200 with a page that is no answer, as a captive portal or a wrong URL gives.
    WrongType {
        /// The content type.
        content_type: String,
        /// The page.
        body: String,
    },
    /// Status 200 and then an error object.
    ErrorInside {
        /// The error object.
        error: Value,
        /// Text that the model says before it.
        #[serde(default)]
        after_text: String,
        /// How the error is framed.
        #[serde(default)]
        framing: ErrorFraming,
    },
    /// A chunk in mid-stream is not JSON.
    MalformedJson,
}

/// How an error inside a 200 is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorFraming {
    /// `data: {"error": …}` and then `[DONE]`.
    #[default]
    Data,
    /// `event: error` with the error as data.
    Event,
    /// A plain JSON body without any SSE framing.
    Json,
}

impl Fault {
    /// Answers with this status and the standard error object.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::Status {
            status,
            retry_after: None,
            body: None,
        }
    }

    /// Answers 429 with `Retry-After`.
    #[must_use]
    pub fn rate_limited(retry_after: impl Into<String>) -> Self {
        Self::Status {
            status: 429,
            retry_after: Some(retry_after.into()),
            body: None,
        }
    }

    /// Answers 400 as a vendor does whose context window is exceeded.
    #[must_use]
    pub fn context_length() -> Self {
        let error = json!({"error": {
            "message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
            "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}});
        Self::Status {
            status: 400,
            retry_after: None,
            body: Some(error.to_string()),
        }
    }

    /// Puts an error with this message into a 200.
    #[must_use]
    pub fn error_inside(message: &str, code: impl Into<Value>) -> Self {
        let error = json!({"message": message, "code": code.into()});
        Self::ErrorInside {
            error,
            after_text: String::new(),
            framing: ErrorFraming::Data,
        }
    }

    /// Says whether the fault stands in for the answer, so that the reply is kept for the next attempt.
    #[must_use]
    pub fn replaces_reply(&self) -> bool {
        !matches!(self, Self::Trickle { .. })
    }
}
