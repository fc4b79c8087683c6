//! The agent in this process, or behind any other byte stream that needs no supervision.

use std::time::Duration;

use client::{Agent, ByteStream, Connector};
use futures_util::future::BoxFuture;
use stdx::task::Scope;
use tokio::{io::DuplexStream, sync::watch};

use crate::state::{Health, LinkState};

/// A link that is always live. It opens no network.
#[derive(Debug, Clone)]
pub struct LocalLink {
    agent: Agent,
    scope: Scope,
    states: watch::Receiver<LinkState>,
}

impl LocalLink {
    /// Makes a link over an in-memory pipe. `connect` hands the other end of a fresh one to the agent.
    #[must_use]
    pub fn new(connect: impl Fn() -> DuplexStream + Send + Sync + 'static, scope: &Scope) -> Self {
        let connector = move || -> BoxFuture<'static, std::io::Result<Box<dyn ByteStream>>> {
            let stream: Box<dyn ByteStream> = Box::new(connect());
            Box::pin(std::future::ready(Ok(stream)))
        };
        Self::with_connector(connector, scope)
    }

    /// Makes a link over whatever `connector` opens, such as the socket of a daemon on this machine.
    #[must_use]
    pub fn with_connector(connector: impl Connector, scope: &Scope) -> Self {
        let scope = scope.child("local link");
        // The state never changes, so nobody needs to hold the sender.
        let (_, states) = watch::channel(LinkState::Live {
            rtt: Duration::ZERO,
            health: Health::Good,
        });
        Self {
            agent: Agent::new(connector, client::Options::default(), &scope),
            scope,
            states,
        }
    }

    /// Gives the agent.
    #[must_use]
    pub fn agent(&self) -> Agent {
        self.agent.clone()
    }

    /// Gives the states; there is one.
    #[must_use]
    pub fn states(&self) -> watch::Receiver<LinkState> {
        self.states.clone()
    }

    /// Ends the connection to the agent.
    pub async fn close(&self) {
        self.scope.close(Duration::from_secs(1)).await;
    }
}
