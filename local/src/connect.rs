//! Opens agents: in this process, or on a host. The only place that puts a link together.

use std::{path::Path, sync::Arc, time::Duration};

use link::{AgentLink, BridgeRefusal, Link, LocalLink, Patience, Prompter, Stay, Via};
use remote_agent::Agent;
use settings::Flag;
use stdx::task::Scope;

use crate::{
    ask, broker, control,
    exit::Exit,
    forwards::{self, Opener},
    host::{HostPlan, HostRef},
    invocation::Invocation,
    key_agent, progress,
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

/// What a look for a running agent found.
pub(crate) enum Running {
    /// It answers.
    Reached(Box<Connected>),
    /// None runs.
    Nobody,
    /// It is there and does not answer.
    Silent(Failure),
    /// It went away under the look.
    Lost(Failure),
}

/// An agent that can be asked, and what must be closed after it.
pub(crate) struct Connected {
    /// What front ends hold.
    pub(crate) link: AgentLink,
    /// The host's plan; `None` for this machine.
    pub(crate) plan: Option<HostPlan>,
    agent: Option<Arc<Agent>>,
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
        match Self::look_for_running(invocation, host).await? {
            Running::Reached(connected) => Ok(Some(*connected)),
            Running::Nobody => Ok(None),
            Running::Silent(failure) | Running::Lost(failure) => Err(failure),
        }
    }

    /// The same, for whoever ends the agent: one that does not answer is told apart.
    pub(crate) async fn look_for_running(invocation: &Invocation, host: &str) -> Result<Running, Failure> {
        let connected = Self::dial_in_text(invocation, host, Start::Never).await?;
        let Err(error) = connected.link.wait_live(Patience::FirstTry).await else {
            return Ok(Running::Reached(Box::new(connected)));
        };
        connected.close().await;
        match error.kind() {
            _ if error.is_nobody() => Ok(Running::Nobody),
            link::ErrorKind::Silent(_) => Ok(Running::Silent(error.into())),
            link::ErrorKind::Agent(client::Error::Connection { .. })
            | link::ErrorKind::Bridge(BridgeRefusal::NoDaemon) => Ok(Running::Lost(error.into())),
            _ => Err(error.into()),
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
        let agent = Arc::new(agent);
        let pipe = Arc::clone(&agent);
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
        let connected = Self::dial_in_text(invocation, host, Start::IfNeeded).await?;
        match connected.link.wait_live(Patience::FirstTry).await {
            Ok(()) => {
                connected.say_how_long_it_stays();
                Ok(connected)
            }
            Err(error) => {
                connected.close().await;
                Err(Failure::from(error))
            }
        }
    }

    /// Says whether the agent that answers lives on this very connection, so that none stays on the host.
    pub(crate) fn is_on_the_connection(&self) -> bool {
        let ready = self.ssh().and_then(Link::ready);
        ready.is_some_and(|ready| ready.via == Via::Stdio)
    }

    /// Says on standard error where the agent of a host does not stay as it does elsewhere.
    fn say_how_long_it_stays(&self) {
        let ready = self.ssh().and_then(Link::ready);
        if let Some(notice) = ready.and_then(|ready| ready.stay).and_then(Stay::notice) {
            crate::terminal::error(&format!("note: {notice}"));
        }
    }

    /// Starts a link to a host whose questions the screen answers. Nothing is waited for.
    pub(crate) fn for_screen(
        invocation: &Invocation,
        host: &str,
        prompter: Arc<dyn Prompter>,
    ) -> Result<Self, Failure> {
        Self::dial(invocation, host, Start::IfNeeded, prompter)
    }

    /// Starts a link to a host and says on standard error how it comes up.
    async fn dial_in_text(invocation: &Invocation, host: &str, start: Start) -> Result<Self, Failure> {
        let connected = Self::dial(invocation, host, start, ask::prompter())?;
        // Ends with the scope.
        drop(connected.scope.spawn(progress::follow(connected.link.clone())));
        drop(connected.scope.spawn(broker::follow(connected.link.clone())));
        Ok(connected)
    }

    /// Starts a link to a host.
    fn dial(
        invocation: &Invocation,
        host: &str,
        start: Start,
        prompter: Arc<dyn Prompter>,
    ) -> Result<Self, Failure> {
        let loaded = invocation.settings(None, &[])?;
        let plan = HostPlan::new(&HostRef::parse(host)?, &loaded)?;
        let mut options = plan.link_options(invocation, &loaded, prompter)?;
        if start == Start::Never {
            options.install.install = bootstrap::Install::Attach;
            options.install.workspace = None;
        }
        let scope = Scope::root("front end");
        Ok(Self {
            link: AgentLink::from(Link::open(options, &scope)),
            plan: Some(plan),
            agent: None,
            scope,
        })
    }

    /// Lets a front end stay connected: other processes may ask it over its control socket, and forwards are opened, the
    /// configured ones first. One that fails is said through `prompter`, and the others go on. Without a host there is
    /// nothing to do.
    pub(crate) async fn stay(
        &self,
        invocation: &Invocation,
        front_end: &'static str,
        asked: forwards::Asked,
        prompter: &Arc<dyn Prompter>,
    ) {
        let AgentLink::Remote(link) = &self.link else {
            return;
        };
        let opener = Opener::new(invocation, link, prompter);
        let place = control::place::Place::of(invocation);
        if let Err(error) = control::server::open(&place, opener.clone(), front_end, &self.scope) {
            tracing::warn!(%error, "`reasonix remote forward` will not reach this process");
        }
        opener.open_all(self.configured(), asked).await;
        if let Some(plan) = self.plan.as_ref().filter(|plan| plan.forwards_agent()) {
            key_agent::lend(plan, invocation, link, prompter, &self.scope).await;
        }
        // Ends with the scope.
        let token = self.scope.token().clone();
        drop(self.scope.spawn(async move {
            tokio::select! {
                biased;
                // It holds the link that it listens to.
                () = token.cancelled() => {}
                () = opener.tell_refusals() => {}
            }
        }));
    }

    /// The same, told on standard error.
    pub(crate) async fn stay_in_text(
        &self,
        invocation: &Invocation,
        front_end: &'static str,
        asked: forwards::Asked,
    ) {
        self.stay(invocation, front_end, asked, &ask::prompter()).await;
    }

    fn configured(&self) -> Option<&settings::schema::RemoteHost> {
        self.plan.as_ref()?.configured.as_ref()
    }

    /// Gives the scope in which everything of this front end runs.
    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Says whether the host was reached and no agent runs there.
    pub(crate) fn finds_nobody(&self) -> bool {
        self.link
            .states()
            .borrow()
            .cause()
            .is_some_and(link::Error::is_nobody)
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
