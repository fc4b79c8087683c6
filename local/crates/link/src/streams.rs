//! Byte streams through the agent, beside its main connection where the way to it allows further ones.
//!
//! Where the agent's socket is reached by `direct-streamlocal` channels, byte streams go over connections of their own: a
//! transfer then stands in nobody's way, and each has its own windows. Over a bridge or standard input and output there
//! is one byte stream to the agent, and everything shares it; HTTP/2 keeps a reader that stands still to itself.

use std::{io, sync::Arc, time::Duration};

use client::{Agent, AgentStream, ByteStream, Connector, Purpose};
use futures_util::future::BoxFuture;
use protocol::StreamTarget;
use stdx::task::Scope;

use crate::wire::{Beside, Routes};

/// Connections for byte streams. A further stream shares the one with the fewest.
const CONNECTIONS: usize = 8;

/// How often an idle connection gives the other side a reason to say something. Whether the host is there is the main
/// connection's to find out, which cuts these.
const KEEPALIVE: Duration = Duration::from_secs(20);
const DEAD_AFTER: Duration = Duration::from_secs(90);

/// What opens byte streams to one agent.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    main: Agent,
    beside: Arc<[Agent]>,
    routes: Routes,
}

impl Streams {
    pub(crate) fn new(main: Agent, routes: Routes, scope: &Scope) -> Self {
        let options = client::Options {
            keepalive: KEEPALIVE,
            dead_after: DEAD_AFTER,
            purpose: Purpose::ByteStreams,
            ..client::Options::default()
        };
        let agent = |_| Agent::new(SideConnector(routes.clone()), options.clone(), scope);
        Self {
            main,
            beside: (0..CONNECTIONS).map(agent).collect(),
            routes,
        }
    }

    /// Opens a stream, on the link that is or comes. How long that is waited for is the caller's to say.
    pub(crate) async fn open(&self, target: &StreamTarget) -> Result<AgentStream, client::Error> {
        if self.routes.has_beside().await {
            let least = self.beside.iter().min_by_key(|agent| agent.byte_streams());
            if let Some(agent) = least {
                match agent.open_stream(target).await {
                    // The host opens no further channel, or the link is gone and the main connection says why.
                    Err(error @ client::Error::Connection { .. }) => {
                        tracing::debug!(%error, "no connection beside the main one");
                    }
                    result => return result,
                }
            }
        }
        self.main.open_stream(target).await
    }
}

/// Opens connections beside the main one.
struct SideConnector(Routes);

impl Connector for SideConnector {
    fn connect(&self) -> BoxFuture<'_, io::Result<Box<dyn ByteStream>>> {
        Box::pin(async {
            match self.0.beside().await {
                Some(Beside(stream)) => Ok(stream),
                None => Err(io::Error::new(
                    io::ErrorKind::NotConnected,
                    "the link gives no further connection to the agent",
                )),
            }
        })
    }
}
