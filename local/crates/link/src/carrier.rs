//! Port forwards through the agent: what `forward` calls a carrier.

use std::io;

use client::AgentStream;
use forward::{BoxFuture, Bytes, Carrier, Endpoint, Incoming, Refusal, RefusalKind};
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use protocol::{ErrorCode, ListenAt, ListenLine, StreamTarget, limits};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

use crate::streams::Streams;

/// Connections of one listener that are being fetched at once. Each takes a round trip.
const FETCHES: usize = 64;

/// Connects and listens through the agent.
#[derive(Debug, Clone)]
pub(crate) struct AgentCarrier(pub(crate) Streams);

impl Carrier for AgentCarrier {
    fn connect(&self, to: Endpoint) -> BoxFuture<'static, Result<Box<dyn Bytes>, Refusal>> {
        let streams = self.0.clone();
        let target = match to {
            Endpoint::Tcp { host, port } => StreamTarget::Tcp { host, port },
            Endpoint::Unix(path) => StreamTarget::Unix { path },
        };
        Box::pin(async move {
            let stream = streams.open(&target).await.map_err(refusal)?;
            Ok(Box::new(stream) as Box<dyn Bytes>)
        })
    }

    fn listen(&self, at: Endpoint) -> BoxFuture<'static, Result<Box<dyn Incoming>, Refusal>> {
        let streams = self.0.clone();
        Box::pin(async move {
            let at = match at {
                Endpoint::Tcp { host, port } => ListenAt::Tcp { host, port },
                Endpoint::Unix(path) => ListenAt::Unix { path },
            };
            let target = StreamTarget::Listen { at };
            let mut lines = BufReader::new(streams.open(&target).await.map_err(refusal)?);
            let Some(ListenLine::Listening { listener, at }) = line(&mut lines).await? else {
                return Err(nonsense());
            };
            let bound = match at {
                ListenAt::Tcp { host, port } => Endpoint::Tcp { host, port },
                ListenAt::Unix { path } => Endpoint::Unix(path),
            };
            let accepted = accepted(streams, lines, listener);
            Ok(Box::new(Listening { bound, accepted }) as Box<dyn Incoming>)
        })
    }
}

type Accepted = Result<(Box<dyn Bytes>, String), Refusal>;

/// A listener of the agent.
struct Listening {
    bound: Endpoint,
    accepted: BoxStream<'static, Accepted>,
}

impl Incoming for Listening {
    fn bound(&self) -> Endpoint {
        self.bound.clone()
    }

    fn accept(&mut self) -> BoxFuture<'_, Accepted> {
        Box::pin(async { self.accepted.next().await.unwrap_or_else(|| Err(ended())) })
    }
}

/// Fetches what the agent tells of, several connections at once. One that is gone before it was fetched is left out.
fn accepted(streams: Streams, lines: BufReader<AgentStream>, listener: u64) -> BoxStream<'static, Accepted> {
    let told = stream::unfold(Some(lines), |lines| async {
        let mut lines = lines?;
        match line(&mut lines).await {
            Ok(Some(line)) => Some((Ok(line), Some(lines))),
            Ok(None) => Some((Err(ended()), None)),
            Err(error) => Some((Err(error), None)),
        }
    });
    let fetched = told.map(move |told| {
        let streams = streams.clone();
        async move {
            let (connection, peer) = match told {
                Ok(ListenLine::Accepted { connection, peer }) => (connection, peer),
                Ok(_) => return None,
                Err(error) => return Some(Err(error)),
            };
            let target = StreamTarget::Accepted { listener, connection };
            match streams.open(&target).await {
                Ok(stream) => Some(Ok((Box::new(stream) as Box<dyn Bytes>, peer))),
                Err(error) => {
                    tracing::debug!(%error, peer, "a connection was gone before it was fetched");
                    None
                }
            }
        }
    });
    fetched.buffered(FETCHES).filter_map(std::future::ready).boxed()
}

/// Reads a line; `None` is the end.
async fn line(lines: &mut BufReader<AgentStream>) -> Result<Option<ListenLine>, Refusal> {
    let mut text = Vec::new();
    let limit = limits::LISTEN_LINE as u64;
    let count = lines
        .take(limit)
        .read_until(b'\n', &mut text)
        .await
        .map_err(|error| broken(&error))?;
    if count == 0 {
        return Ok(None);
    }
    serde_json::from_slice(&text).map(Some).map_err(|_| nonsense())
}

fn broken(error: &io::Error) -> Refusal {
    Refusal::new(
        RefusalKind::Lost,
        format!("the connection to the agent broke: {error}"),
    )
}

fn ended() -> Refusal {
    Refusal::new(RefusalKind::Lost, "the agent does not listen any more")
}

fn nonsense() -> Refusal {
    Refusal::new(
        RefusalKind::Other,
        "the agent's answer about its listener does not parse",
    )
}

fn refusal(error: client::Error) -> Refusal {
    let body = match error {
        client::Error::Agent(body) => body,
        other => return Refusal::new(RefusalKind::Lost, other.to_string()),
    };
    let kind = match body.code {
        ErrorCode::Unreachable => RefusalKind::Unreachable,
        ErrorCode::Conflict => RefusalKind::InUse,
        ErrorCode::Denied => RefusalKind::Forbidden,
        _ => RefusalKind::Other,
    };
    Refusal {
        kind,
        message: body.message,
        hint: body.hint,
    }
}
