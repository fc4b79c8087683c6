//! Calls about the agent itself.

use axum::{extract::State, response::Response};
use protocol::{DrainRequest, ShutdownRequest};

use crate::{
    body::{self, Json},
    router::Shared,
};

/// `GET /v1/hello`: who answers, and what it speaks.
pub(crate) async fn hello(State(shared): State<Shared>) -> Response {
    body::json(&shared.manager.hello())
}

/// `POST /v1/shutdown`: asks the daemon to end.
pub(crate) async fn shutdown(State(shared): State<Shared>, Json(request): Json<ShutdownRequest>) -> Response {
    body::json(&shared.manager.shutdown(request).await)
}

/// `POST /v1/drain`: asks the daemon to finish its turns, and then to end.
pub(crate) async fn drain(State(shared): State<Shared>, Json(request): Json<DrainRequest>) -> Response {
    body::json(&shared.manager.drain(request).await)
}
