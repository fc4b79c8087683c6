//! One SSH connection without a link: for commands that only look at a host.

use std::{sync::Arc, time::Duration};

use bootstrap::{Ask, Probe, SshRemote, Write};
use link::Prompter;
use settings::Loaded;
use stdx::task::Scope;
use transport::{CaptureLimits, Connection, ErrorKind as SshKind, Resolved};

use crate::{
    ask,
    exit::Exit,
    host::{HostPlan, ssh_options},
    invocation::Invocation,
    report::{self, Failure},
    stored_secrets::Stored,
};

/// How long closing may take.
const GRACE: Duration = Duration::from_secs(3);
/// How long a small command may take.
const DEADLINE: Duration = Duration::from_secs(30);

/// A host that is logged in to.
pub(crate) struct Dialed {
    /// The connection.
    pub(crate) connection: Connection,
    scope: Scope,
}

/// Finds out where a host is and how it is logged in to, as OpenSSH would. No network.
pub(crate) async fn resolve(invocation: &Invocation, plan: &HostPlan) -> Result<Resolved, Failure> {
    let options = plan.resolve_options(invocation);
    transport::resolve(plan.target(), &options)
        .await
        .map_err(Failure::from)
}

impl Dialed {
    /// Connects to a resolved host and logs in; what is kept for it answers questions, then whoever `prompter` is.
    pub(crate) async fn open(
        invocation: &Invocation,
        loaded: &Loaded,
        resolved: &Resolved,
        prompter: &Arc<dyn Prompter>,
    ) -> Result<Self, Failure> {
        let scope = Scope::root("look at a host");
        let options = ssh_options(invocation, loaded);
        let hosts = &loaded.settings.remote.hosts;
        let prompter = match hosts.iter().find(|host| host.name == resolved.alias) {
            Some(host) => Stored::before(Arc::clone(prompter), host, invocation.home.join(".env")),
            None => Arc::clone(prompter),
        };
        match Connection::connect(resolved, &options, &prompter, &scope).await {
            Ok(connection) => Ok(Self { connection, scope }),
            Err(error) => {
                scope.close(GRACE).await;
                Err(error.into())
            }
        }
    }

    /// Asks the host what it is and has, and about a workspace. Nothing is written there.
    pub(crate) async fn probe(&self, workspace: Option<&str>) -> Result<Probe, Failure> {
        let ask = Ask {
            workspace,
            home: None,
            write: Write::Forbidden,
        };
        let remote = SshRemote::new(self.connection.clone());
        bootstrap::probe(&remote, &ask).await.map_err(Failure::from)
    }

    /// Runs a script of ours with `/bin/sh`, with lines as its input, and gives what it printed.
    ///
    /// The script must hold no single quote: the login shell, whichever it is, takes it as one word.
    pub(crate) async fn script(&self, script: &str, lines: &[&str]) -> Result<String, Failure> {
        let stdin: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let output = self
            .connection
            .exec_capture(&sh(script), stdin.as_bytes(), CaptureLimits::default(), DEADLINE)
            .await?;
        let text = |bytes: &[u8]| ask::visible(&String::from_utf8_lossy(bytes));
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        let said = stdx::bounded::one_line(&text(&output.stderr), 500);
        let host = self.connection.host();
        Err(Failure::new(Exit::Failed, format!("{host} answered: {said}")).on(host))
    }

    /// Gives the scope in which everything of this look runs.
    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Hangs up.
    pub(crate) async fn close(self) {
        self.connection.disconnect().await;
        self.scope.close(GRACE).await;
    }
}

/// Lists the agents of this user's own home on the host; those of other homes, as tests and demos have, are no concern.
pub(crate) fn running(probe: &Probe) -> impl Iterator<Item = &bootstrap::Daemon> {
    let is_ours = |home: &Option<String>| home.as_ref().is_some_and(|home| probe.home.contains(home));
    probe
        .daemons
        .iter()
        .filter(move |daemon| daemon.proof == bootstrap::Proof::Runs && is_ours(&daemon.home))
}

/// Gives the command line that runs a script under any login shell.
pub(crate) fn sh(script: &str) -> String {
    format!("exec /bin/sh -c '{script}'")
}

/// What SSH failed with.
impl From<transport::Error> for Failure {
    fn from(error: transport::Error) -> Self {
        let exit = match error.kind() {
            SshKind::HostKeyChanged
            | SshKind::HostKeyUnknown
            | SshKind::HostKeyRevoked
            | SshKind::AuthRefused
            | SshKind::NeedsPerson => Exit::Authentication,
            SshKind::Config => Exit::Usage,
            _ => Exit::Unreachable,
        };
        let mut failure = Self::new(exit, report::chain(&error))
            .maybe_hint(error.hint().map(str::to_owned))
            .on(error.host());
        failure.stage = Some(stage_word(error.stage()).to_owned());
        failure
    }
}

/// Names the part of the way as `remote test` does.
pub(crate) fn stage_word(stage: transport::Stage) -> &'static str {
    use transport::Stage;
    match stage {
        Stage::Config => "resolve",
        Stage::Lookup | Stage::Connect => "connect",
        Stage::Handshake => "host key",
        Stage::Login => "log in",
        Stage::Channel | Stage::Exec | Stage::Session => "session",
    }
}

/// What looking at a host failed with.
impl From<bootstrap::Error> for Failure {
    fn from(error: bootstrap::Error) -> Self {
        let exit = if error.is_connection_lost() {
            Exit::Unreachable
        } else if matches!(error.kind(), bootstrap::ErrorKind::Workspace(_)) {
            Exit::Usage
        } else {
            Exit::Bootstrap
        };
        let mut message = report::chain(&error);
        for detail in error.details() {
            message.push_str("\n  ");
            message.push_str(&ask::visible(&detail));
        }
        let mut failure = Self::new(exit, message)
            .maybe_hint(error.hint().map(str::to_owned))
            .on(error.host());
        failure.stage = Some(error.stage().to_string());
        failure
    }
}
