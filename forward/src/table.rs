//! Which forwards exist and how they are doing (pure).

use std::collections::BTreeMap;

use crate::{Endpoint, Spec};

/// The number of a rule; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(u64);

/// How a rule is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleState {
    /// It listens, and the host is connected.
    Ready,
    /// It listens, but the host is not connected: clients wait a while.
    Offline,
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
    /// Why the last connection failed, if it did.
    pub last_error: Option<String>,
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
    open: usize,
    total: u64,
    last_error: Option<String>,
}

impl Table {
    pub(crate) fn add(&mut self, spec: Spec, bound: Endpoint) -> RuleId {
        self.next += 1;
        let id = RuleId(self.next);
        self.rules.insert(
            id,
            Rule {
                spec,
                bound,
                open: 0,
                total: 0,
                last_error: None,
            },
        );
        id
    }

    pub(crate) fn remove(&mut self, id: RuleId) -> bool {
        self.rules.remove(&id).is_some()
    }

    pub(crate) fn set_connected(&mut self, connected: bool) {
        self.connected = connected;
    }

    pub(crate) fn opened(&mut self, id: RuleId) {
        if let Some(rule) = self.rules.get_mut(&id) {
            rule.open += 1;
            rule.total += 1;
        }
    }

    pub(crate) fn closed(&mut self, id: RuleId, error: Option<String>) {
        if let Some(rule) = self.rules.get_mut(&id) {
            rule.open = rule.open.saturating_sub(1);
            rule.last_error = error;
        }
    }

    pub(crate) fn snapshot(&self) -> Vec<RuleSnapshot> {
        let state = if self.connected {
            RuleState::Ready
        } else {
            RuleState::Offline
        };
        let rules = self.rules.iter();
        rules
            .map(|(&id, rule)| RuleSnapshot {
                id,
                spec: rule.spec.clone(),
                bound: rule.bound.clone(),
                state,
                open: rule.open,
                total: rule.total,
                last_error: rule.last_error.clone(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_connections_and_keeps_the_last_error() {
        let mut table = Table::default();
        let spec: Spec = "L:8080:db:5432".parse().unwrap();
        let id = table.add(spec.clone(), spec.bind.clone());
        assert_eq!(table.snapshot()[0].state, RuleState::Offline);
        table.set_connected(true);
        table.opened(id);
        table.opened(id);
        table.closed(id, Some("refused".into()));
        let [rule] = table.snapshot().try_into().unwrap();
        assert_eq!(
            (rule.open, rule.total, rule.last_error.as_deref()),
            (1, 2, Some("refused"))
        );
        assert_eq!(rule.state, RuleState::Ready);
        assert!(table.remove(id) && !table.remove(id));
        let again = table.add(spec.clone(), spec.bind);
        assert_ne!(again, id);
    }
}
