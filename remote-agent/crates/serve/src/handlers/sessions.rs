//! Opening, listing and looking at sessions.

use axum::{extract::State, response::Response};
use http::HeaderMap;
use protocol::OpenSession;

use crate::{
    body::{self, Json, SessionInPath},
    error::Failure,
    forward,
    router::Shared,
};

/// `GET /v1/sessions`: the sessions on disk.
pub(crate) async fn list(State(shared): State<Shared>, headers: HeaderMap) -> Result<Response, Failure> {
    let mut list = shared.manager.list().await?;
    if !forward::is_passed_on(&headers) {
        forward::confirm(&mut list).await;
    }
    Ok(body::json(&list))
}

/// `POST /v1/sessions`: opens a new session or resumes one.
pub(crate) async fn open(
    State(shared): State<Shared>,
    Json(request): Json<OpenSession>,
) -> Result<Response, Failure> {
    let session = shared.manager.open(request).await?;
    Ok(body::json(&session.info()))
}

/// `GET /v1/sessions/{id}/snapshot`: the whole state.
pub(crate) async fn snapshot(
    State(shared): State<Shared>,
    SessionInPath(id): SessionInPath,
) -> Result<Response, Failure> {
    let session = shared.manager.get(id).await?;
    Ok(body::json(&session.snapshot().await?))
}
