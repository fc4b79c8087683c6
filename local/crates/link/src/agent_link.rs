//! A link of either kind, so that nothing above can tell where the agent runs.

use client::{Agent, AgentStream};
use protocol::{ErrorCode, OpenSession, SessionInfo, StreamTarget, TerminalOpen};
use tokio::sync::watch;

use crate::{
    broker::BrokerState,
    error::Error,
    handle::{Link, Patience},
    local::LocalLink,
    state::LinkState,
    terminal::AgentTerminal,
};

/// What a front end holds.
#[derive(Debug, Clone)]
pub enum AgentLink {
    /// The agent runs on a host.
    Remote(Link),
    /// The agent runs in this process.
    Local(LocalLink),
}

impl AgentLink {
    /// Gives the agent.
    #[must_use]
    pub fn agent(&self) -> Agent {
        match self {
            Self::Remote(link) => link.agent(),
            Self::Local(link) => link.agent(),
        }
    }

    /// Gives the states: the newest, and a sign when it changes.
    #[must_use]
    pub fn states(&self) -> watch::Receiver<LinkState> {
        match self {
            Self::Remote(link) => link.states(),
            Self::Local(link) => link.states(),
        }
    }

    /// Gives the host as the user named it; `None` for this machine.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Remote(link) => Some(link.host()),
            Self::Local(_) => None,
        }
    }

    /// Opens a byte stream to something on the agent's machine; see [`Link::open_stream`].
    ///
    /// # Errors
    /// The agent cannot reach the target, or cannot be reached itself.
    pub async fn open_stream(&self, target: &StreamTarget) -> Result<AgentStream, client::Error> {
        match self {
            Self::Remote(link) => link.open_stream(target).await,
            Self::Local(link) => link.agent().open_stream(target).await,
        }
    }

    /// Opens a terminal on the agent's machine.
    ///
    /// # Errors
    /// As [`AgentLink::open_stream`].
    pub async fn open_terminal(&self, open: TerminalOpen) -> Result<AgentTerminal, client::Error> {
        let stream = self.open_stream(&StreamTarget::Terminal(open)).await?;
        Ok(AgentTerminal::new(stream))
    }

    /// Gives what goes on with requests to the model that are made here; `None` where the agent has its own keys.
    #[must_use]
    pub fn broker(&self) -> Option<watch::Receiver<BrokerState>> {
        match self {
            Self::Remote(link) => link.broker(),
            Self::Local(_) => None,
        }
    }

    /// Waits until the agent can be asked; see [`Link::wait_live`].
    ///
    /// # Errors
    /// The reason why it cannot.
    pub async fn wait_live(&self, patience: Patience) -> Result<(), Error> {
        match self {
            Self::Remote(link) => link.wait_live(patience).await.map(drop),
            Self::Local(_) => Ok(()),
        }
    }

    /// Opens or resumes a session. Where its workspace is missing on a host, a person is asked whether it shall be made.
    ///
    /// # Errors
    /// As [`Agent::open_session`].
    pub async fn open_session(&self, request: &OpenSession) -> Result<SessionInfo, client::Error> {
        let agent = self.agent();
        let opened = agent.open_session(request).await;
        let is_about_workspace =
            matches!(&opened, Err(client::Error::Agent(body)) if body.code == ErrorCode::Workspace);
        match (self, &request.workspace) {
            (Self::Remote(link), Some(folder))
                if is_about_workspace && link.offer_workspace(folder).await =>
            {
                agent.open_session(request).await
            }
            _ => opened,
        }
    }

    /// Tries now; see [`Link::retry_now`].
    pub fn retry_now(&self) {
        if let Self::Remote(link) = self {
            link.retry_now();
        }
    }

    /// Closes the link for good. A daemon on a host goes on.
    pub async fn close(&self) {
        match self {
            Self::Remote(link) => link.close().await,
            Self::Local(link) => link.close().await,
        }
    }
}

impl From<Link> for AgentLink {
    fn from(link: Link) -> Self {
        Self::Remote(link)
    }
}

impl From<LocalLink> for AgentLink {
    fn from(link: LocalLink) -> Self {
        Self::Local(link)
    }
}
