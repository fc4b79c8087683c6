//! The SSH agent of this machine, lent to tools on a host (`forward_agent = true`).
//!
//! The agent there names one place for a socket that outlives connections. A forward rule listens at that place while
//! the host is connected, so that whoever got the path before a drop finds the keys there again after it. Whoever runs
//! the host has the last word, as with `ssh -A`: sshd is asked on each connection whether it allows agent forwarding.

use std::{path::PathBuf, sync::Arc, time::Duration};

use forward::{Endpoint, Kind, RuleId, Spec, Via};
use link::{Link, LinkState, Prompter};
use stdx::task::Scope;
use tokio::sync::oneshot;
use transport::{Connection, ErrorKind};

use crate::{host::HostPlan, invocation::Invocation, report};

/// Between two questions for a place that somebody else has.
const RETRY: Duration = Duration::from_secs(10);

/// Lends the SSH agent to a host until `scope` ends. Returns when the first attempt has ended, so that the first command
/// of a turn finds it.
pub(crate) async fn lend(
    plan: &HostPlan,
    invocation: &Invocation,
    link: &Link,
    prompter: &Arc<dyn Prompter>,
    scope: &Scope,
) {
    let resolved = transport::resolve(plan.target(), &plan.resolve_options(invocation)).await;
    // What does not resolve is not connected either, and said there.
    let Ok(resolved) = resolved else { return };
    let mut lender = Lender {
        link: link.clone(),
        prompter: Arc::clone(prompter),
        rule: None,
        said: String::new(),
    };
    let Some(agent) = resolved.identity.agent else {
        return lender.say("there is none here: neither SSH_AUTH_SOCK nor IdentityAgent names one");
    };
    let (tried, first) = oneshot::channel();
    let token = scope.token().clone();
    // Ends with the scope.
    drop(scope.spawn(async move {
        tokio::select! {
            biased;
            // It holds the link that it listens to.
            () = token.cancelled() => {}
            () = lender.run(agent, tried) => {}
        }
    }));
    // An error means that it ended before.
    drop(first.await);
}

struct Lender {
    link: Link,
    prompter: Arc<dyn Prompter>,
    /// The rule, and the path at which it listens.
    rule: Option<(RuleId, String)>,
    /// What was said last: the same is not said again.
    said: String,
}

impl Lender {
    async fn run(mut self, agent: PathBuf, tried: oneshot::Sender<()>) {
        let mut tried = Some(tried);
        let (mut connections, mut states) = (self.link.connections(), self.link.states());
        let is_usable = |connection: &Option<Connection>| {
            connection
                .as_ref()
                .is_some_and(|connection| !connection.is_closed())
        };
        loop {
            let usable = connections.wait_for(is_usable).await;
            let Some(connection) = usable.ok().and_then(|connection| connection.clone()) else {
                return;
            };
            let is_live = |state: &LinkState| matches!(state, LinkState::Live { .. });
            tokio::select! {
                biased;
                _ = connection.closed() => continue,
                live = states.wait_for(is_live) => if live.is_err() { return },
            }
            let is_allowed = self.ask(&connection).await;
            let closed = connection.closed();
            drop(connection);
            let mut closed = std::pin::pin!(closed);
            loop {
                let again = is_allowed && self.open(&agent).await;
                if let Some(tried) = tried.take() {
                    // Nobody waits any more where the front end is leaving.
                    let _nobody_waits = tried.send(());
                }
                tokio::select! {
                    biased;
                    _ = &mut closed => break,
                    // Another agent may have taken over, with another place.
                    changed = states.changed() => if changed.is_err() { return },
                    () = tokio::time::sleep(RETRY), if again => {}
                }
            }
        }
    }

    /// Asks the host whether it allows this. A rule of the connection before ends where it does not.
    async fn ask(&mut self, connection: &Connection) -> bool {
        let why = match connection.allows_agent_forwarding().await {
            Ok(true) => return true,
            Ok(false) => {
                "its sshd does not allow it (AllowAgentForwarding, or an option of your key in authorized_keys)"
                    .to_owned()
            }
            Err(error) if error.kind() == ErrorKind::Closed => return false,
            Err(error) => format!(
                "its sshd could not be asked whether it allows that (MaxSessions?): {}",
                report::chain(&error)
            ),
        };
        if let Some((rule, _)) = self.rule.take() {
            self.link.forwards().remove(rule).await;
        }
        self.say(&why);
        false
    }

    /// Listens at the agent's place. Says whether to try again.
    async fn open(&mut self, agent: &std::path::Path) -> bool {
        let Some(ready) = self.link.ready() else {
            return false;
        };
        let Some(place) = ready.hello.key_agent_socket else {
            self.say("the program there has no place for it: it is older, or ends with the connection");
            return false;
        };
        match &self.rule {
            Some((_, at)) if *at == place => return false,
            Some((rule, _)) => {
                self.link.forwards().remove(*rule).await;
                self.rule = None;
            }
            None => {}
        }
        let spec = Spec {
            kind: Kind::Remote,
            bind: Endpoint::Unix(place.clone()),
            target: Some(Endpoint::Unix(agent.display().to_string())),
            via: Via::Agent,
        };
        match self.link.forwards().add(spec).await {
            Ok(rule) => {
                self.rule = Some((rule, place));
                self.said.clear();
                false
            }
            Err(error) => {
                let why = format!(
                    "{} (the first laptop or window that lends one goes on until it leaves)",
                    report::chain(&error)
                );
                self.say(&why);
                true
            }
        }
    }

    fn say(&mut self, why: &str) {
        if self.said != why {
            why.clone_into(&mut self.said);
            let text = format!("your SSH agent is not lent to {}: {why}", self.link.host());
            self.prompter.notice(&text);
        }
    }
}
