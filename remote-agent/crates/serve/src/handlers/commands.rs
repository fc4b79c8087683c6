//! Commands.

use axum::{extract::State, response::Response};
use protocol::CommandRequest;

use crate::{
    body::{self, Json, SessionInPath},
    error::Failure,
    router::Shared,
};

/// `POST /v1/sessions/{id}/commands`: runs a command once, however often it is sent.
pub(crate) async fn run(
    State(shared): State<Shared>,
    SessionInPath(id): SessionInPath,
    Json(request): Json<CommandRequest>,
) -> Result<Response, Failure> {
    let session = shared.manager.get(id).await?;
    Ok(body::json(&session.command(request).await?))
}
