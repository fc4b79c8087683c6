//! Decoding of requests: every mistake is answered with an error body that names it.

use std::str::FromStr;

use axum::{
    extract::{FromRequest, FromRequestParts, Path, Query, Request, rejection::BytesRejection},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header, request::Parts};
use protocol::{ErrorCode, SessionId, limits};
use serde::{Serialize, de::DeserializeOwned};

use crate::error::{Failure, JSON};

/// A JSON body of at most [`limits::REQUEST_BODY`] bytes.
pub(crate) struct Json<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        require_json(request.headers())?;
        let bytes = Bytes::from_request(request, state)
            .await
            .map_err(|rejection| unreadable(&rejection))?;
        serde_json::from_slice(&bytes).map(Self).map_err(|error| {
            // serde_json adds line and column.
            Failure::new(
                ErrorCode::BadRequest,
                format!("the request body does not parse: {error}"),
            )
        })
    }
}

fn require_json(headers: &HeaderMap) -> Result<(), Failure> {
    let kind = headers.get(header::CONTENT_TYPE);
    let text = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let message = format!("the body must be application/json, not {text:?}");
    Err(Failure::new(ErrorCode::BadRequest, message).with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE))
}

pub(crate) fn unreadable(rejection: &BytesRejection) -> Failure {
    let status = rejection.status();
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        let message = format!("the request body is over {} bytes", limits::REQUEST_BODY);
        Failure::new(ErrorCode::TooLarge, message)
    } else {
        let message = format!("the request body could not be read: {rejection}");
        Failure::new(ErrorCode::BadRequest, message)
    }
}

/// The session named in the path.
pub(crate) struct SessionInPath(pub(crate) SessionId);

impl<S: Send + Sync> FromRequestParts<S> for SessionInPath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let bad = |why: String| Failure::new(ErrorCode::BadRequest, why);
        let Path(text) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|error| bad(format!("the path does not name a session: {error}")))?;
        let id = SessionId::from_str(&text);
        id.map(Self)
            .map_err(|error| bad(format!("{text:?} is not a session id: {error}")))
    }
}

/// The parameters after `?`.
pub(crate) struct Parameters<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Parameters<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let Query(value) = Query::<T>::from_request_parts(parts, state)
            .await
            .map_err(|error| Failure::new(ErrorCode::BadRequest, error.body_text()))?;
        Ok(Self(value))
    }
}

/// Makes a successful answer.
pub(crate) fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => ([JSON], body).into_response(),
        // Wire types always encode; should one not, the client still learns that something failed.
        Err(error) => {
            tracing::error!(%error, "an answer does not encode");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
