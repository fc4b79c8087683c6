//! Requests that no route takes.

use http::{Method, StatusCode, Uri};
use protocol::ErrorCode;

use crate::error::Failure;

/// Answers a path that nothing is at.
pub(crate) async fn not_found(uri: Uri) -> Failure {
    Failure::new(ErrorCode::NotFound, format!("there is nothing at {}", uri.path()))
}

/// Answers a method that a path does not take.
pub(crate) async fn wrong_method(method: Method, uri: Uri) -> Failure {
    let message = format!("{} does not take {method}", uri.path());
    Failure::new(ErrorCode::BadRequest, message).with_status(StatusCode::METHOD_NOT_ALLOWED)
}
