//! Which forwards exist and how they are doing (pure).

use std::{
    collections::BTreeMap,
    fmt,
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{Endpoint, Kind, Spec};

/// The number of a rule, as text `#3`; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(u64);

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl FromStr for RuleId {
    type Err = std::num::ParseIntError;

    /// Reads `#3` or `3`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.strip_prefix('#').unwrap_or(text).parse().map(Self)
    }
}

/// How connections of a rule go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// As plain SSH channels.
    Ssh,
    /// Through the agent.
    Agent,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ssh => "ssh",
            Self::Agent => "agent",
        })
    }
}

/// How a rule is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleState {
    /// It listens, and the host is connected.
    Ready {
        /// How its last connection or its listener on the host went; `None`: nobody has used it yet.
        via: Option<Way>,
    },
    /// The host is not connected. A local listener stays and its clients wait a while; one on the host is gone.
    Offline,
    /// The host does not listen for this rule, or forbade its last connection.
    Refused {
        /// Who does not, and why.
        why: String,
    },
}

/// A rule as shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSnapshot {
    /// Its number.
    pub id: RuleId,
    /// The rule.
    pub spec: Spec,
    /// Where it really listens: the port is known even if the rule says 0.
    pub bound: Endpoint,
    /// How it is doing.
    pub state: RuleState,
    /// Connections that are open now.
    pub open: usize,
    /// Connections so far.
    pub total: u64,
    /// Connections so far that were refused or broke.
    pub failed: u64,
    /// Of those, clients that were let go since the host did not come back in time.
    pub gave_up: u64,
    /// Bytes from clients of the listener to the target.
    pub up: u64,
    /// Bytes from the target to clients of the listener.
    pub down: u64,
    /// Why the last failed connection failed.
    pub last_error: Option<LastError>,
}

/// A failure and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastError {
    /// What failed, why, and what to do.
    pub message: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
}

impl fmt::Display for LastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Bytes so far.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    pub(crate) up: AtomicU64,
    pub(crate) down: AtomicU64,
}

/// How a connection of a rule ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Both sides were done, or the rule was removed.
    Done,
    /// The host did not come back in time.
    GaveUp(String),
    /// It was refused or broke.
    Failed(String),
    /// An administrator forbids it.
    Forbidden(String),
}

/// All rules.
#[derive(Debug, Default)]
pub(crate) struct Table {
    next: u64,
    connected: bool,
    rules: BTreeMap<RuleId, Rule>,
}

#[derive(Debug)]
struct Rule {
    spec: Spec,
    bound: Endpoint,
    via: Option<Way>,
    /// Whether the host listens; only for remote rules.
    listens: bool,
    refused: Option<String>,
    open: usize,
    total: u64,
    failed: u64,
    gave_up: u64,
    moved: Arc<Moved>,
    last_error: Option<LastError>,
}

impl Table {
    pub(crate) fn add(&mut self, spec: Spec, bound: Endpoint) -> (RuleId, Arc<Moved>) {
        self.next += 1;
        let id = RuleId(self.next);
        let moved = Arc::<Moved>::default();
        self.rules.insert(
            id,
            Rule {
                spec,
                bound,
                via: None,
                listens: false,
                refused: None,
                open: 0,
                total: 0,
                failed: 0,
                gave_up: 0,
                moved: Arc::clone(&moved),
                last_error: None,
            },
        );
        (id, moved)
    }

    pub(crate) fn remove(&mut self, id: RuleId) -> bool {
        self.rules.remove(&id).is_some()
    }

    /// Finds the rule with this text, apart from the way.
    pub(crate) fn find(&self, spec: &Spec) -> Option<RuleId> {
        let same = |rule: &Rule| {
            (rule.spec.kind, &rule.spec.bind, &rule.spec.target) == (spec.kind, &spec.bind, &spec.target)
        };
        self.rules.iter().find(|(_, rule)| same(rule)).map(|(&id, _)| id)
    }

    pub(crate) fn set_connected(&mut self, connected: bool) {
        self.connected = connected;
        for rule in self.rules.values_mut() {
            rule.refused = None;
            rule.listens &= connected;
        }
    }

    /// The host listens for a remote rule.
    pub(crate) fn listening(&mut self, id: RuleId, bound: Endpoint, via: Way) {
        if let Some(rule) = self.rules.get_mut(&id) {
            rule.bound = bound;
            rule.via = Some(via);
            rule.listens = true;
            rule.refused = None;
        }
    }

    /// The host does not listen any more.
    pub(crate) fn lost(&mut self, id: RuleId) {
        if let Some(rule) = self.rules.get_mut(&id) {
            rule.listens = false;
        }
    }

    /// The host refuses to listen.
    pub(crate) fn refused(&mut self, id: RuleId, why: String, now: u64) {
        if let Some(rule) = self.rules.get_mut(&id) {
            rule.listens = false;
            rule.refused = Some(why.clone());
            rule.last_error = Some(LastError {
                message: why,
                at: now,
            });
        }
    }

    pub(crate) fn opened(&mut self, id: RuleId) {
        if let Some(rule) = self.rules.get_mut(&id) {
            rule.open += 1;
            rule.total += 1;
        }
    }

    /// A connection was made.
    pub(crate) fn carried(&mut self, id: RuleId, via: Way) {
        if let Some(rule) = self.rules.get_mut(&id) {
            rule.via = Some(via);
            rule.refused = None;
        }
    }

    pub(crate) fn closed(&mut self, id: RuleId, outcome: Outcome, now: u64) {
        let Some(rule) = self.rules.get_mut(&id) else {
            return;
        };
        rule.open = rule.open.saturating_sub(1);
        let message = match outcome {
            Outcome::Done => return,
            Outcome::GaveUp(why) => {
                rule.gave_up += 1;
                why
            }
            Outcome::Failed(why) => why,
            Outcome::Forbidden(why) => {
                // A SOCKS client may ask for another target the next time.
                if rule.spec.kind == Kind::Local {
                    rule.refused = Some(why.clone());
                }
                why
            }
        };
        rule.failed += 1;
        rule.last_error = Some(LastError { message, at: now });
    }

    pub(crate) fn snapshot(&self) -> Vec<RuleSnapshot> {
        let rules = self.rules.iter();
        rules
            .map(|(&id, rule)| RuleSnapshot {
                id,
                spec: rule.spec.clone(),
                bound: rule.bound.clone(),
                state: self.state(rule),
                open: rule.open,
                total: rule.total,
                failed: rule.failed,
                gave_up: rule.gave_up,
                up: rule.moved.up.load(Ordering::Relaxed),
                down: rule.moved.down.load(Ordering::Relaxed),
                last_error: rule.last_error.clone(),
            })
            .collect()
    }

    fn state(&self, rule: &Rule) -> RuleState {
        match &rule.refused {
            Some(why) => RuleState::Refused { why: why.clone() },
            None if rule.spec.kind == Kind::Remote && !rule.listens => RuleState::Offline,
            None if rule.spec.kind != Kind::Remote && !self.connected => RuleState::Offline,
            None => RuleState::Ready { via: rule.via },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rule: &str) -> (Table, RuleId) {
        let mut table = Table::default();
        let spec: Spec = rule.parse().unwrap();
        let bind = spec.bind.clone();
        let (id, _) = table.add(spec, bind);
        (table, id)
    }

    fn only(table: &Table) -> RuleSnapshot {
        let [rule] = table.snapshot().try_into().unwrap();
        rule
    }

    #[test]
    fn counts_connections_and_keeps_the_last_error() {
        let (mut table, id) = table("L:8080:db:5432");
        assert_eq!(only(&table).state, RuleState::Offline);
        table.set_connected(true);
        table.opened(id);
        table.opened(id);
        table.carried(id, Way::Ssh);
        table.closed(id, Outcome::Failed("refused".into()), 5);
        table.closed(id, Outcome::Done, 6);
        let rule = only(&table);
        assert_eq!((rule.open, rule.total, rule.failed, rule.gave_up), (0, 2, 1, 0));
        assert_eq!(rule.last_error.unwrap().at, 5, "it stays until the next one");
        assert_eq!(rule.state, RuleState::Ready { via: Some(Way::Ssh) });
        let spec: Spec = "L:8080:db:5432 via=ssh".parse().unwrap();
        assert_eq!(table.find(&spec), Some(id), "whatever the way");
        assert!(table.remove(id) && !table.remove(id));
        let (again, _) = table.add(spec.clone(), spec.bind);
        assert_ne!(again, id);
        assert_eq!(again.to_string(), "#2");
        assert_eq!("#2".parse(), Ok(again));
    }

    #[test]
    fn a_remote_rule_is_ready_only_while_the_host_listens() {
        let (mut table, id) = table("R:0:db:5432");
        table.set_connected(true);
        assert_eq!(only(&table).state, RuleState::Offline);
        let at: Spec = "R:4000:db:5432".parse().unwrap();
        table.listening(id, at.bind.clone(), Way::Agent);
        assert_eq!(
            only(&table).state,
            RuleState::Ready {
                via: Some(Way::Agent)
            }
        );
        assert_eq!(only(&table).bound, at.bind);
        table.set_connected(false);
        assert_eq!(only(&table).state, RuleState::Offline);
        table.set_connected(true);
        table.refused(id, "no".into(), 1);
        assert_eq!(only(&table).state, RuleState::Refused { why: "no".into() });
        table.set_connected(true);
        assert_eq!(only(&table).state, RuleState::Offline, "it is asked for again");
    }

    #[test]
    fn a_forbidden_target_marks_the_rule_until_a_connection_succeeds() {
        let (mut table, id) = table("L:0:db:5432");
        table.set_connected(true);
        table.opened(id);
        table.closed(id, Outcome::Forbidden("no".into()), 1);
        assert_eq!(only(&table).state, RuleState::Refused { why: "no".into() });
        table.carried(id, Way::Ssh);
        assert_eq!(only(&table).state, RuleState::Ready { via: Some(Way::Ssh) });
    }
}
