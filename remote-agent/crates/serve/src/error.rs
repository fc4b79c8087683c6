//! What can go wrong here, and what clients are told.

use std::{io, path::PathBuf};

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use protocol::{ErrorBody, ErrorCode, ErrorResponse, limits};

use crate::forward::Elsewhere;

/// Why the socket could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The path has no folder or does not fit into a socket address.
    #[error("{} cannot be a socket: {why}", .path.display())]
    Path {
        /// The socket.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The socket's folder is not this user's alone.
    #[error("the folder {} is not safe for a socket: {why}", .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Another process listens there.
    #[error("another process listens on {}", .path.display())]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// The system refused.
    #[error("could not {doing} {}", .path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A failed answer: an error body under its status.
#[derive(Debug)]
pub(crate) struct Failure {
    status: StatusCode,
    body: ErrorBody,
}

impl Failure {
    /// Answers with the status that belongs to the code.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        ErrorBody::new(code, message).into()
    }

    /// Answers with a status that says more than the code.
    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }
}

impl From<ErrorBody> for Failure {
    fn from(body: ErrorBody) -> Self {
        Self {
            status: status(body.code),
            body,
        }
    }
}

/// The one table from code to status.
fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::BadRequest => StatusCode::BAD_REQUEST,
        ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::Denied => StatusCode::FORBIDDEN,
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::Conflict | ErrorCode::HeldElsewhere => StatusCode::CONFLICT,
        ErrorCode::Busy => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::Workspace | ErrorCode::ModelAccess | ErrorCode::Configuration => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        ErrorCode::Draining => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::Unreachable => StatusCode::BAD_GATEWAY,
        ErrorCode::Internal | ErrorCode::Unknown => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let Self { status, mut body } = self;
        // The other side refuses lines that are longer.
        body.message = stdx::bounded::prefix(&body.message, limits::LINE).to_owned();
        body.hint = body
            .hint
            .map(|hint| stdx::bounded::prefix(&hint, limits::LINE).to_owned());
        if status.is_server_error() {
            tracing::warn!(code = ?body.code, message = body.message, "request failed");
        }
        let elsewhere = body.socket.clone();
        let mut response = (status, crate::body::json(&ErrorResponse { error: body })).into_response();
        if let Some(socket) = elsewhere {
            response.extensions_mut().insert(Elsewhere(socket));
        }
        response
    }
}

/// The media type of every answer that is not an event stream.
pub(crate) const JSON: (header::HeaderName, HeaderValue) =
    (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
