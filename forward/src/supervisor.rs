//! Owns the listeners; they stay while the connection below them is replaced.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use stdx::task::Scope;
use tokio::sync::watch;
use transport::Connection;

use crate::{
    Carrier, Error, Kind, RuleId, RuleSnapshot, Spec,
    local::{Listener, accept},
    table::{Outcome, Table},
};

/// Limits of forwarded connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardOptions {
    /// How long a new client waits for the host to come back.
    pub redial_wait: Duration,
    /// How long a connection may stand still once one direction has ended.
    pub half_closed_idle: Duration,
}

impl Default for ForwardOptions {
    fn default() -> Self {
        Self {
            redial_wait: Duration::from_secs(10),
            half_closed_idle: Duration::from_secs(300),
        }
    }
}

/// The forwards of one host. Dropping it ends them all.
#[derive(Debug)]
pub struct Forwards {
    scope: Scope,
    options: ForwardOptions,
    connection: watch::Sender<Option<Connection>>,
    agent: watch::Sender<Option<Arc<dyn Carrier>>>,
    state: Arc<Mutex<Table>>,
    changes: watch::Sender<u64>,
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
            connection: watch::Sender::new(None),
            agent: watch::Sender::new(None),
            changes: watch::Sender::new(0),
            state: Arc::default(),
            rules: Mutex::default(),
        }
    }

    /// Gives the connection to use from now on, or takes it away. Listeners stay; connections over the old one end with it.
    pub fn set_connection(&self, connection: Option<Connection>) {
        lock(&self.state).set_connected(connection.is_some());
        self.connection.send_replace(connection);
        self.changes.send_modify(|count| *count += 1);
    }

    /// Gives the way through the agent, or takes it away where none runs.
    pub fn set_agent(&self, agent: Option<Arc<dyn Carrier>>) {
        self.agent.send_replace(agent);
    }

    /// Finds a rule by what it says, whatever its way.
    #[must_use]
    pub fn find(&self, spec: &Spec) -> Option<RuleId> {
        lock(&self.state).find(spec)
    }

    /// Gives a number that changes when [`Forwards::list`] does, except for bytes: who shows rates looks by the clock.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Starts to listen for a rule. Whether a public listener is wanted is for the caller to ask ([`Spec::is_public`]).
    ///
    /// # Errors
    /// The address is taken or forbidden, or the kind cannot be carried out; the message names the rule.
    pub async fn add(&self, spec: Spec) -> Result<RuleId, Error> {
        let (Kind::Local, Some(target)) = (spec.kind, spec.target.clone()) else {
            return Err(Error::Refused {
                rule: spec.to_string(),
                why: "only local forwards (L:) can be carried out".to_owned(),
                hint: None,
            });
        };
        let (listener, bound) = Listener::bind(&spec).await?;
        let (id, _) = lock(&self.state).add(spec, bound);
        let scope = self.scope.child("forward rule");
        let reporter = Reporter {
            id,
            state: Arc::clone(&self.state),
        };
        let task = accept(
            listener,
            target,
            self.connection.subscribe(),
            reporter,
            scope.clone(),
            self.options,
        );
        // Owned by the scope of the rule.
        drop(scope.spawn(task));
        lock(&self.rules).insert(id, scope);
        Ok(id)
    }

    /// Ends a rule and its connections; waits until its port is free again. `false`: there is no such rule.
    pub async fn remove(&self, id: RuleId) -> bool {
        let scope = lock(&self.rules).remove(&id);
        if let Some(scope) = scope {
            scope.close(Duration::from_secs(2)).await;
        }
        lock(&self.state).remove(id)
    }

    /// Lists the rules.
    #[must_use]
    pub fn list(&self) -> Vec<RuleSnapshot> {
        lock(&self.state).snapshot()
    }
}

impl Drop for Forwards {
    fn drop(&mut self) {
        self.scope.cancel();
    }
}

/// The table is pure and never held across an await, so a lock costs nothing here that a task would save.
fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells the table about the connections of one rule.
#[derive(Clone)]
pub(crate) struct Reporter {
    id: RuleId,
    state: Arc<Mutex<Table>>,
}

impl Reporter {
    pub(crate) fn opened(&self) {
        lock(&self.state).opened(self.id);
    }

    pub(crate) fn closed(&self, outcome: Outcome) {
        lock(&self.state).closed(self.id, outcome, stdx::clock::unix_millis());
    }
}
