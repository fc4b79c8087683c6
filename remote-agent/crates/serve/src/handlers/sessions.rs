//! Opening, listing and looking at sessions.

use axum::{extract::State, response::Response};
use protocol::OpenSession;

use crate::{
    body::{self, Json, SessionInPath},
    error::Failure,
    router::Shared,
};

/// `GET /v1/sessions`: the sessions on disk.
pub(crate) async fn list(State(shared): State<Shared>) -> Result<Response, Failure> {
    Ok(body::json(&shared.manager.list().await?))
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
