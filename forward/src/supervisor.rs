//! Owns the rules; they stay while the connection below them is replaced.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use stdx::task::Scope;
use tokio::sync::watch;
use transport::Connection;

use crate::{
    Carrier, Endpoint, Error, Kind, RuleId, RuleSnapshot, Spec,
    local::{self, Job, Service},
    near::Listener,
    remote::{Listening, Remote},
    reporter::{Board, Reporter},
    ssh::SshCarrier,
    ways::Ways,
};

/// Limits of forwarded connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardOptions {
    /// How long a new client waits for the host to come back.
    pub redial_wait: Duration,
    /// How long a connection may stand still once one direction has ended.
    pub half_closed_idle: Duration,
    /// How long a SOCKS client may take to say what it wants.
    pub handshake: Duration,
}

impl Default for ForwardOptions {
    fn default() -> Self {
        Self {
            redial_wait: Duration::from_secs(10),
            half_closed_idle: Duration::from_secs(300),
            handshake: Duration::from_secs(30),
        }
    }
}

/// The forwards of one host. Dropping it ends them all.
#[derive(Debug)]
pub struct Forwards {
    scope: Scope,
    options: ForwardOptions,
    ssh: watch::Sender<Option<Arc<SshCarrier>>>,
    agent: watch::Sender<Option<Arc<dyn Carrier>>>,
    board: Board,
    /// The scope of each rule.
    rules: Mutex<HashMap<RuleId, Scope>>,
}

impl Forwards {
    /// Makes an empty set whose tasks end with `scope`.
    #[must_use]
    pub fn new(scope: &Scope, options: ForwardOptions) -> Self {
        Self {
            scope: scope.child("forwards"),
            options,
            ssh: watch::Sender::new(None),
            agent: watch::Sender::new(None),
            board: Board::new(),
            rules: Mutex::default(),
        }
    }

    /// Gives the connection to use from now on, or takes it away. Listeners of this machine stay, those of the host are
    /// made again; connections over the old one end with it.
    pub fn set_connection(&self, connection: Option<Connection>) {
        self.board
            .change(|table| table.set_connected(connection.is_some()));
        let ssh = connection.map(|connection| Arc::new(SshCarrier::new(connection)));
        self.ssh.send_replace(ssh);
    }

    /// Gives the way through the agent, or takes it away where none runs. It counts for connections and listeners from
    /// now on.
    pub fn set_agent(&self, agent: Option<Arc<dyn Carrier>>) {
        self.agent.send_replace(agent);
    }

    /// Starts a rule. Whether a public listener is wanted is for the caller to ask ([`Spec::is_public`]).
    ///
    /// A rule that listens on the host is made when the host comes, and made again whenever it comes back; its state
    /// shows how that went ([`Forwards::list`]). If the host is there already, its answer is waited for.
    ///
    /// # Errors
    /// The address is taken or forbidden, here or there; the message names the rule. Nothing of it stays.
    pub async fn add(&self, spec: Spec) -> Result<RuleId, Error> {
        match (spec.kind, spec.target.clone()) {
            (Kind::Remote, Some(target)) => self.add_remote(spec, target).await,
            (Kind::Local, Some(target)) => self.add_local(spec, Service::Target(target)).await,
            (Kind::Dynamic, _) => self.add_local(spec, Service::Socks).await,
            (Kind::Local | Kind::Remote, None) => Err(Error::Malformed {
                rule: spec.to_string(),
                reason: "it has no target",
            }),
        }
    }

    async fn add_local(&self, spec: Spec, service: Service) -> Result<RuleId, Error> {
        let (listener, bound) = Listener::bind(&spec).await?;
        let via = spec.via;
        let (reporter, scope) = self.register(spec, bound);
        let id = reporter.id;
        let job = Job {
            service,
            via,
            ways: self.ways(),
            reporter,
            options: self.options,
        };
        // Owned by the scope of the rule.
        drop(scope.spawn(local::accept(listener, job, scope.clone())));
        Ok(id)
    }

    async fn add_remote(&self, spec: Spec, target: Endpoint) -> Result<RuleId, Error> {
        let remote = Remote {
            bind: spec.bind.clone(),
            target,
            via: spec.via,
            ways: self.ways(),
            options: self.options,
        };
        let first = remote.try_now().await.map_err(|refusal| Error::Refused {
            rule: spec.to_string(),
            hint: Some(refusal.advice()),
            why: refusal.message,
        })?;
        let bound = first.as_ref().map_or_else(|| spec.bind.clone(), Listening::bound);
        let (reporter, scope) = self.register(spec, bound.clone());
        let id = reporter.id;
        if let Some(first) = &first {
            reporter.listening(bound, first.way());
        }
        // Owned by the scope of the rule.
        drop(scope.spawn(remote.run(first, reporter, scope.clone())));
        Ok(id)
    }

    fn register(&self, spec: Spec, bound: Endpoint) -> (Reporter, Scope) {
        let rule = spec.to_string().into();
        let (id, moved) = self.board.change(|table| table.add(spec, bound));
        let scope = self.scope.child("forward rule");
        lock(&self.rules).insert(id, scope.clone());
        let reporter = Reporter {
            id,
            rule,
            moved,
            board: self.board.clone(),
        };
        (reporter, scope)
    }

    fn ways(&self) -> Ways {
        Ways {
            ssh: self.ssh.subscribe(),
            agent: self.agent.subscribe(),
            patience: self.options.redial_wait,
        }
    }

    /// Ends a rule and its connections; waits until its port is free again. `false`: there is no such rule.
    pub async fn remove(&self, id: RuleId) -> bool {
        let scope = lock(&self.rules).remove(&id);
        if let Some(scope) = scope {
            scope.close(Duration::from_secs(2)).await;
        }
        self.board.change(|table| table.remove(id))
    }

    /// Lists the rules.
    #[must_use]
    pub fn list(&self) -> Vec<RuleSnapshot> {
        self.board.look().snapshot()
    }

    /// Finds a rule by what it says, whatever its way.
    #[must_use]
    pub fn find(&self, spec: &Spec) -> Option<RuleId> {
        self.board.look().find(spec)
    }

    /// Gives a number that changes when [`Forwards::list`] does, except for bytes: who shows rates looks by the clock.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.board.changes()
    }
}

impl Drop for Forwards {
    fn drop(&mut self) {
        self.scope.cancel();
    }
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
