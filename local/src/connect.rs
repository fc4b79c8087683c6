//! Opens agents: in this process, or on a host. The only place that puts a link together.

use std::{path::Path, time::Duration};

use link::{AgentLink, Link, LocalLink, Patience};
use remote_agent::Agent;
use settings::Flag;
use stdx::task::Scope;

use crate::{
    ask,
    exit::Exit,
    forwards,
    host::{HostPlan, HostRef},
    invocation::Invocation,
    progress,
    report::{self, Failure},
};

/// How long closing may take.
const GRACE: Duration = Duration::from_secs(25);

/// Whether an agent may be installed and started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    IfNeeded,
    Never,
}

/// An agent that can be asked, and what must be closed after it.
pub(crate) struct Connected {
    /// What front ends hold.
    pub(crate) link: AgentLink,
    /// The host's plan; `None` for this machine.
    pub(crate) plan: Option<HostPlan>,
    agent: Option<std::sync::Arc<Agent>>,
    scope: Scope,
}

impl Connected {
    /// Opens the agent of a host, or one in this process.
    pub(crate) async fn open(
        invocation: &Invocation,
        remote: Option<&str>,
        project: &Path,
        flags: Vec<Flag>,
    ) -> Result<Self, Failure> {
        match remote {
            Some(host) => Self::remote(invocation, host).await,
            None => Self::local(invocation, project, flags).await,
        }
    }

    /// Reaches the agent that runs on a host; nothing is installed or started there. `None` when none runs.
    pub(crate) async fn to_running(invocation: &Invocation, host: &str) -> Result<Option<Self>, Failure> {
        let connected = Self::dial(invocation, host, Start::Never).await?;
        match connected.link.wait_live(Patience::FirstTry).await {
            Ok(()) => Ok(Some(connected)),
            Err(error) => {
                connected.close().await;
                if is_not_running(&error) {
                    Ok(None)
                } else {
                    Err(error.into())
                }
            }
        }
    }

    /// Opens an agent in this process. No network, no socket, no daemon.
    async fn local(invocation: &Invocation, project: &Path, flags: Vec<Flag>) -> Result<Self, Failure> {
        // Said before anything runs, so that a broken project file is one clear error.
        invocation.settings(Some(project), &flags)?;
        let options = invocation.agent_options(None, flags);
        let agent = Agent::open(options).await.map_err(|error| match error {
            remote_agent::OpenError::Settings(error) => Failure::from(error),
            other => Failure::new(Exit::Failed, report::chain(&other)),
        })?;
        let scope = Scope::root("front end");
        let agent = std::sync::Arc::new(agent);
        let pipe = std::sync::Arc::clone(&agent);
        let link = LocalLink::new(move || pipe.connect(), &scope);
        Ok(Self {
            link: AgentLink::from(link),
            plan: None,
            agent: Some(agent),
            scope,
        })
    }

    /// Starts a link to a host and waits until its first attempt has ended.
    async fn remote(invocation: &Invocation, host: &str) -> Result<Self, Failure> {
        let connected = Self::dial(invocation, host, Start::IfNeeded).await?;
        match connected.link.wait_live(Patience::FirstTry).await {
            Ok(()) => Ok(connected),
            Err(error) => {
                connected.close().await;
                Err(Failure::from(error))
            }
        }
    }

    /// Starts a link to a host.
    async fn dial(invocation: &Invocation, host: &str, start: Start) -> Result<Self, Failure> {
        let loaded = invocation.settings(None, &[])?;
        let plan = HostPlan::new(&HostRef::parse(host)?, &loaded)?;
        let mut options = plan.link_options(invocation, &loaded, ask::prompter())?;
        if start == Start::Never {
            options.install.install = bootstrap::Install::Attach;
            options.install.workspace = None;
        }
        let scope = Scope::root("front end");
        let link = Link::open(options, &scope);
        if let Some(host) = &plan.configured {
            forwards::configured(host, &link).await;
        }
        let link = AgentLink::from(link);
        // Ends with the scope.
        drop(scope.spawn(progress::follow(link.clone())));
        Ok(Self {
            link,
            plan: Some(plan),
            agent: None,
            scope,
        })
    }

    /// Opens forwards that were asked for on the command line; there are none without a host.
    pub(crate) async fn forward(&self, rules: &[String]) -> Result<(), Failure> {
        match &self.link {
            AgentLink::Remote(link) => forwards::asked_for(rules, link).await,
            AgentLink::Local(_) => Ok(()),
        }
    }

    /// Says whether the host was reached and no agent runs there.
    pub(crate) fn finds_nobody(&self) -> bool {
        self.link.states().borrow().cause().is_some_and(is_not_running)
    }

    /// Gives the SSH link, which commands beside the wire need.
    pub(crate) fn ssh(&self) -> Option<&Link> {
        match &self.link {
            AgentLink::Remote(link) => Some(link),
            AgentLink::Local(_) => None,
        }
    }

    /// Closes the link, and the agent if it is in this process. A daemon on a host goes on.
    pub(crate) async fn close(&self) {
        self.link.close().await;
        if let Some(agent) = &self.agent {
            agent.close().await;
        }
        self.scope.close(GRACE).await;
    }
}

/// Says whether the only thing that is missing is a running agent.
fn is_not_running(error: &link::Error) -> bool {
    matches!(error.kind(), link::ErrorKind::Bootstrap(error) if matches!(error.kind(), bootstrap::ErrorKind::NotRunning))
}

/// What a link failed with.
impl From<link::Error> for Failure {
    fn from(error: link::Error) -> Self {
        let exit = match error.exit_class() {
            link::ExitClass::Usage => Exit::Usage,
            link::ExitClass::Unreachable => Exit::Unreachable,
            link::ExitClass::Auth => Exit::Authentication,
            link::ExitClass::Bootstrap => Exit::Bootstrap,
        };
        let mut message = report::chain(&error);
        for detail in error.details() {
            message.push_str("\n  ");
            message.push_str(&ask::visible(&detail));
        }
        let mut failure = Self::new(exit, message).maybe_hint(error.hint()).on(error.host());
        failure.stage = Some(error.stage().to_string());
        failure
    }
}
