//! Which way the connections of a rule go, and waiting for the host.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::Instant};

use crate::{
    Endpoint, Via, Way,
    carrier::{Carrier, Incoming, Refusal, RefusalKind},
    ssh::{Far, SshCarrier, SshListener},
};

/// How long the agent may take for one connection: it tries each address of a name.
const AGENT: Duration = Duration::from_secs(30);

/// What leads to the host at the moment.
#[derive(Clone, Debug)]
pub(crate) struct Ways {
    pub(crate) ssh: watch::Receiver<Option<Arc<SshCarrier>>>,
    pub(crate) agent: watch::Receiver<Option<Arc<dyn Carrier>>>,
    /// How long a new client waits for the host.
    pub(crate) patience: Duration,
}

/// Why a client was not connected.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The host did not come back in time.
    GaveUp(Duration),
    Refused(Refusal),
}

/// A listener on the host.
pub(crate) enum FarListener {
    Ssh(SshListener),
    Agent(Box<dyn Incoming>),
}

impl FarListener {
    pub(crate) fn bound(&self) -> Endpoint {
        match self {
            Self::Ssh(listener) => listener.bound.clone(),
            Self::Agent(incoming) => incoming.bound(),
        }
    }

    pub(crate) fn way(&self) -> Way {
        match self {
            Self::Ssh(_) => Way::Ssh,
            Self::Agent(_) => Way::Agent,
        }
    }

    /// Takes the next connection; an error ends the listener.
    pub(crate) async fn accept(&mut self) -> Result<Far, Refusal> {
        match self {
            Self::Ssh(listener) => listener.accept().await,
            Self::Agent(incoming) => incoming.accept().await.map(|(bytes, _peer)| Far::agent(bytes)),
        }
    }
}

impl Ways {
    /// Gives the SSH connection there is.
    pub(crate) fn now(&self) -> Option<Arc<SshCarrier>> {
        self.ssh
            .borrow()
            .clone()
            .filter(|ssh| !ssh.connection.is_closed())
    }

    /// Waits for a usable SSH connection; `None`: the forwards are gone.
    pub(crate) async fn line(&self) -> Option<Arc<SshCarrier>> {
        let usable =
            |ssh: &Option<Arc<SshCarrier>>| ssh.as_ref().is_some_and(|ssh| !ssh.connection.is_closed());
        let mut ssh = self.ssh.clone();
        let found = ssh.wait_for(usable).await.ok()?;
        found.clone()
    }

    /// Waits until this connection is not the one to use any more.
    pub(crate) async fn replaced(&self, old: &Arc<SshCarrier>) {
        let mut ssh = self.ssh.clone();
        let other = |ssh: &Option<Arc<SshCarrier>>| !ssh.as_ref().is_some_and(|ssh| Arc::ptr_eq(ssh, old));
        tokio::select! {
            biased;
            _ = old.connection.closed() => {}
            // An error means that the forwards are gone.
            _ = ssh.wait_for(other) => {}
        }
    }

    /// Connects from the host to `to`. A client that comes while the host is away waits.
    pub(crate) async fn connect(&self, to: &Endpoint, via: Via) -> Result<(Far, Way), Failure> {
        let until = Instant::now() + self.patience;
        loop {
            let Ok(Some(ssh)) = tokio::time::timeout_at(until, self.line()).await else {
                return Err(Failure::GaveUp(self.patience));
            };
            match self.connect_over(&ssh, to, via).await {
                Err(refusal) if refusal.kind == RefusalKind::Lost && ssh.connection.is_closed() => {}
                result => return result.map_err(Failure::Refused),
            }
        }
    }

    async fn connect_over(
        &self,
        ssh: &Arc<SshCarrier>,
        to: &Endpoint,
        via: Via,
    ) -> Result<(Far, Way), Refusal> {
        if let Some(agent) = self.agent(ssh, via, ssh.allows_connecting(to)).await? {
            let connecting = tokio::time::timeout(AGENT, agent.connect(to.clone()));
            let connected = tokio::select! {
                biased;
                () = self.replaced(ssh) => Err(lost(ssh)),
                connected = connecting => connected.unwrap_or_else(|_| Err(silent(ssh))),
            };
            match connected {
                // sshd allows it, and it is there.
                Err(refusal) if refusal.kind == RefusalKind::Lost && is_fallback(ssh, via) => {}
                connected => return connected.map(|bytes| (Far::agent(bytes), Way::Agent)),
            }
        }
        ssh.open(to).await.map(|stream| (stream, Way::Ssh))
    }

    /// Listens on the host.
    pub(crate) async fn listen(
        &self,
        ssh: &Arc<SshCarrier>,
        at: &Endpoint,
        via: Via,
    ) -> Result<FarListener, Refusal> {
        if let Some(agent) = self.agent(ssh, via, ssh.allows_listening(at)).await? {
            let listening = tokio::time::timeout(AGENT, agent.listen(at.clone()));
            let listening = tokio::select! {
                biased;
                () = self.replaced(ssh) => Err(lost(ssh)),
                listening = listening => listening.unwrap_or_else(|_| Err(silent(ssh))),
            };
            match listening {
                Err(refusal) if refusal.kind == RefusalKind::Lost && is_fallback(ssh, via) => {}
                listening => return listening.map(FarListener::Agent),
            }
        }
        ssh.bind(at).await.map(FarListener::Ssh)
    }

    /// Gives the agent if it is the way to go; `allowed` says whether sshd allows the like.
    async fn agent(
        &self,
        ssh: &SshCarrier,
        via: Via,
        allowed: impl Future<Output = bool>,
    ) -> Result<Option<Arc<dyn Carrier>>, Refusal> {
        let agent = self.agent.borrow().clone();
        match (via, agent) {
            (Via::Ssh, _) | (Via::Auto, None) => Ok(None),
            (Via::Agent, Some(agent)) => Ok(Some(agent)),
            (Via::Agent, None) => {
                let message = format!("no agent of ours is connected on {}", ssh.connection.host());
                Err(Refusal::new(RefusalKind::Unreachable, message)
                    .with_hint("connect with an agent, or let the rule go via = \"ssh\""))
            }
            // An administrator's word counts: where sshd forbids forwarding, it judges each target by itself.
            (Via::Auto, Some(agent)) => Ok(allowed.await.then_some(agent)),
        }
    }
}

/// The agent is away, and plain SSH may go in its place.
fn is_fallback(ssh: &SshCarrier, via: Via) -> bool {
    via == Via::Auto && !ssh.connection.is_closed()
}

fn lost(ssh: &SshCarrier) -> Refusal {
    let message = format!("the connection to {} ended", ssh.connection.host());
    Refusal::new(RefusalKind::Lost, message)
}

fn silent(ssh: &SshCarrier) -> Refusal {
    let host = ssh.connection.host();
    let message = format!("the agent on {host} did not answer within {} s", AGENT.as_secs());
    Refusal::new(RefusalKind::Unreachable, message)
}

impl Failure {
    /// Says it for people.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::GaveUp(waited) => {
                format!("the host was not connected within {} s", waited.as_secs_f32())
            }
            Self::Refused(refusal) => format!("{} ({})", refusal.message, refusal.advice()),
        }
    }
}
