//! Following a session.

use axum::{extract::State, response::Response};
use http::HeaderMap;
use protocol::{ErrorBody, ErrorCode};
use serde::Deserialize;

use crate::{
    body::{Parameters, SessionInPath},
    error::Failure,
    router::Shared,
    sse,
};

/// Where a follower is.
#[derive(Debug, Deserialize)]
pub(crate) struct Position {
    /// The last event that it has.
    #[serde(default)]
    after: u64,
}

/// `GET /v1/sessions/{id}/events?after=N`: the events after number N, then what happens from now on.
pub(crate) async fn follow(
    State(shared): State<Shared>,
    SessionInPath(id): SessionInPath,
    Parameters(Position { after }): Parameters<Position>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let after = last_event_id(&headers)?.unwrap_or(after);
    let session = shared.manager.get(id).await?;
    let newest = session.newest();
    if after > newest {
        let message = format!("session {id} has {newest} events, {after} is beyond its end");
        let body = ErrorBody::new(ErrorCode::Conflict, message);
        return Err(body.hint("take a snapshot and go on from there").into());
    }
    let first = if newest - after > shared.options.snapshot_when_behind {
        Some(session.snapshot().await?)
    } else {
        None
    };
    let after = first.as_ref().map_or(after, |snapshot| snapshot.at);
    let subscription = session.subscribe(after);
    Ok(sse::response(first, subscription, shared.options.keep_alive))
}

/// Gives what a client that reconnects by itself (a browser) saw last; it is newer than the address it repeats.
fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Failure> {
    let Some(value) = headers.get("last-event-id") else {
        return Ok(None);
    };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.map(Some).ok_or_else(|| {
        let message = format!("Last-Event-ID {value:?} is not the number of an event");
        Failure::new(ErrorCode::BadRequest, message)
    })
}
