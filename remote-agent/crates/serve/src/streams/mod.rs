//! `POST /v1/streams`: two-way byte streams to something on this machine, one file per kind of target.

mod connect;
mod copy;
mod files;
mod listen;
mod lookup;
mod terminal;

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    response::Response,
};
use client::body::{BodyReader, BodyWriter, pipe};
use protocol::{ErrorCode, StreamTarget};
use serde::Deserialize;

pub use self::listen::Listeners;
use crate::{body::Parameters, error::Failure, router::Shared};

/// The two directions of a stream: what the client sends, and what goes to it.
pub(crate) struct Ends {
    pub(crate) incoming: BodyReader<axum::body::Body>,
    pub(crate) outgoing: BodyWriter,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Open {
    /// The target as JSON.
    open: String,
}

/// Opens a stream; the answer's head says whether that worked.
pub(crate) async fn open(
    State(shared): State<Shared>,
    Parameters(Open { open }): Parameters<Open>,
    request: Request,
) -> Result<Response, Failure> {
    let target: StreamTarget = serde_json::from_str(&open).map_err(|error| {
        Failure::new(
            ErrorCode::BadRequest,
            format!("the target does not parse: {error}"),
        )
    })?;
    let (outgoing, answer) = pipe();
    let ends = Ends {
        incoming: BodyReader::new(request.into_body()),
        outgoing,
    };
    let listeners = Arc::clone(&shared.options.listeners);
    let scope = &shared.options.streams;
    match target {
        StreamTarget::Tcp { host, port } => connect::tcp(&host, port, ends, scope).await?,
        StreamTarget::Unix { path } => connect::unix(&path, ends, scope).await?,
        StreamTarget::Listen { at } => listen::start(listeners, &at, ends, scope).await?,
        StreamTarget::Accepted { listener, connection } => {
            listen::take(&listeners, listener, connection, ends, scope)?;
        }
        StreamTarget::Files => files::serve(shared.options.user_home.clone(), ends, scope),
        StreamTarget::Terminal(open) => {
            terminal::serve(shared.options.shell.as_deref(), &open, ends, scope)?;
        }
    }
    Ok(Response::new(axum::body::Body::new(answer)))
}
