//! Tells the table about one rule, and everybody that the table has changed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering};

use tokio::sync::watch;

use crate::{
    Endpoint, RuleId, Way,
    table::{Moved, Outcome, Table},
};

/// The table and who waits for its changes.
#[derive(Clone, Debug)]
pub(crate) struct Board {
    table: Arc<Mutex<Table>>,
    changes: watch::Sender<u64>,
}

impl Board {
    pub(crate) fn new() -> Self {
        Self {
            table: Arc::default(),
            changes: watch::Sender::new(0),
        }
    }

    /// Looks at the table. It is never held across an await, so a lock costs nothing here that a task would save.
    pub(crate) fn look(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the table.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Table) -> T) -> T {
        let result = change(&mut self.look());
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
        result
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

/// Speaks for one rule.
#[derive(Clone, Debug)]
pub(crate) struct Reporter {
    pub(crate) id: RuleId,
    /// The text of the rule.
    pub(crate) rule: Arc<str>,
    pub(crate) moved: Arc<Moved>,
    pub(crate) board: Board,
}

impl Reporter {
    pub(crate) fn opened(&self) {
        self.board.change(|table| table.opened(self.id));
    }

    pub(crate) fn carried(&self, way: Way) {
        self.board.change(|table| table.carried(self.id, way));
    }

    /// A connection ended. The rule's name is added to what a person reads.
    pub(crate) fn closed(&self, outcome: Outcome) {
        let now = stdx::clock::unix_millis();
        let outcome = match outcome {
            Outcome::Done => Outcome::Done,
            Outcome::GaveUp(why) => Outcome::GaveUp(self.name(&why)),
            Outcome::Failed(why) => Outcome::Failed(self.name(&why)),
            Outcome::Forbidden(why) => Outcome::Forbidden(self.name(&why)),
        };
        self.board.change(|table| table.closed(self.id, outcome, now));
    }

    pub(crate) fn listening(&self, bound: Endpoint, way: Way) {
        self.board.change(|table| table.listening(self.id, bound, way));
    }

    pub(crate) fn lost(&self) {
        self.board.change(|table| table.lost(self.id));
    }

    pub(crate) fn refused(&self, why: &str) {
        let now = stdx::clock::unix_millis();
        let why = self.name(why);
        self.board.change(|table| table.refused(self.id, why, now));
    }

    pub(crate) fn moved_up(&self, bytes: usize) {
        self.moved.up.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn name(&self, why: &str) -> String {
        format!("forward rule {}: {why}", self.rule)
    }
}
