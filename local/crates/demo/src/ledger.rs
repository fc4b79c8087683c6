//! Compares what was applied here with the host's log.

use std::collections::{BTreeMap, BTreeSet};

use client::Update;
use protocol::{EventEnvelope, Frame};

/// Durable events, compared with the host's log by number and content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Events in the host's log.
    pub in_log: u64,
    /// Events that came one by one and were applied here.
    pub received: u64,
    /// Events of the log that came only as part of a snapshot.
    pub covered: u64,
    /// Events that the host sent again and that were recognised and dropped.
    pub repeated: u64,
    /// Events of the log that were not applied here as they stand there.
    pub lost: u64,
    /// Events applied a second time, or that the log does not have.
    pub doubled: u64,
}

/// Everything that was applied, in order.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    applied: Vec<EventEnvelope>,
    covered: BTreeSet<u64>,
    at: u64,
}

impl Ledger {
    /// Writes down what an update applied; `at` is the number that the state has reached with it.
    pub(crate) fn note(&mut self, update: &Update, at: u64) {
        match update {
            Update::Frame(Frame::Event(envelope)) => self.applied.push(envelope.clone()),
            Update::Refreshed => self.covered.extend(self.at + 1..=at),
            Update::Frame(_) | Update::Closed => {}
        }
        self.at = at;
    }

    /// Compares with the log. `repeated` is what the client counted.
    pub(crate) fn compare(&self, log: &[EventEnvelope], repeated: u64) -> Tally {
        let mut copies: BTreeMap<u64, Vec<&EventEnvelope>> = BTreeMap::new();
        for envelope in &self.applied {
            copies.entry(envelope.n).or_default().push(envelope);
        }
        let (mut once, mut covered, mut lost) = (0, 0, 0);
        for envelope in log {
            let is_here = copies
                .get(&envelope.n)
                .is_some_and(|copies| copies.contains(&envelope));
            if is_here {
                once += 1;
            } else if self.covered.contains(&envelope.n) {
                covered += 1;
            } else {
                lost += 1;
            }
        }
        let received = self.applied.len() as u64;
        Tally {
            in_log: log.len() as u64,
            received,
            covered,
            repeated,
            lost,
            doubled: received - once,
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Event, Snapshot};

    use super::*;

    fn event(n: u64) -> EventEnvelope {
        EventEnvelope {
            n,
            at: 0,
            event: Event::Unknown,
        }
    }

    fn ledger(numbers: &[u64]) -> Ledger {
        let mut ledger = Ledger::default();
        for &n in numbers {
            ledger.note(&Update::Frame(Frame::Event(event(n))), n);
        }
        ledger
    }

    #[test]
    fn counts_each_kind_of_difference() {
        let log: Vec<_> = (1..=4).map(event).collect();
        let compare = |numbers: &[u64]| {
            let tally = ledger(numbers).compare(&log, 0);
            (tally.received, tally.lost, tally.doubled)
        };
        assert_eq!(compare(&[1, 2, 3, 4]), (4, 0, 0));
        assert_eq!(compare(&[1, 2, 4]), (3, 1, 0));
        assert_eq!(compare(&[1, 2, 2, 3, 4]), (5, 0, 1));
        assert_eq!(compare(&[1, 2, 3, 4, 5]), (5, 0, 1));
    }

    #[test]
    fn an_event_of_another_content_is_lost_and_not_the_hosts() {
        let mut log: Vec<_> = (1..=2).map(event).collect();
        log[1].at = 9;
        let tally = ledger(&[1, 2]).compare(&log, 3);
        assert_eq!((tally.lost, tally.doubled, tally.repeated), (1, 1, 3));
    }

    #[test]
    fn what_a_snapshot_contains_is_not_lost() {
        let log: Vec<_> = (1..=5).map(event).collect();
        let mut ledger = ledger(&[1, 2]);
        ledger.note(&Update::Refreshed, 4);
        ledger.note(&Update::Frame(Frame::Event(event(5))), 5);
        let tally = ledger.compare(&log, 0);
        assert_eq!(
            (tally.received, tally.covered, tally.lost, tally.doubled),
            (3, 2, 0, 0)
        );
        assert_eq!(
            Snapshot::empty(protocol::SessionId::fresh()).at,
            0,
            "where a ledger begins"
        );
    }
}
