//! What a client was told, event by event (pure).

use std::{collections::BTreeMap, ops::RangeInclusive};

use protocol::EventEnvelope;

/// Everything that was told, over all clients that came after each other.
#[derive(Debug, Default)]
pub(super) struct Heard {
    events: BTreeMap<u64, EventEnvelope>,
    /// The number of the last event that the present client knows.
    at: u64,
    /// What was not told one by one, because a state contained it.
    covered: Vec<RangeInclusive<u64>>,
    /// Events that were skipped.
    pub(super) skipped: u64,
    /// Events that one client was told again.
    pub(super) doubled: u64,
    /// Times that a client was given a whole state in the middle.
    pub(super) refreshed: u64,
    /// What was told in two ways.
    pub(super) differing: Vec<u64>,
}

impl Heard {
    /// Begins with a client that knows everything up to a number.
    pub(super) fn begin(&mut self, at: u64) {
        self.at = at;
        self.covered.push(1..=at);
    }

    /// Takes an event that is told.
    pub(super) fn event(&mut self, event: &EventEnvelope) {
        if event.n <= self.at {
            self.doubled += 1;
        } else {
            self.skipped += event.n - self.at - 1;
            self.at = event.n;
        }
        if let Some(known) = self.events.insert(event.n, event.clone())
            && known != *event
        {
            self.differing.push(event.n);
        }
    }

    /// Takes a whole state.
    pub(super) fn state(&mut self, at: u64) {
        self.refreshed += 1;
        self.covered.push(self.at + 1..=at);
        self.at = at;
    }

    /// Gives how many events were told one by one.
    pub(super) fn count(&self) -> u64 {
        self.events.len() as u64
    }

    /// Compares with the log: how many of its events were never told, and which were told otherwise.
    pub(super) fn compare(&self, log: &[EventEnvelope]) -> (u64, Vec<u64>) {
        let covered = |n| self.covered.iter().any(|range| range.contains(&n));
        let mut missing = 0;
        let mut wrong = self.differing.clone();
        for event in log {
            match self.events.get(&event.n) {
                Some(told) if told == event => {}
                Some(_) => wrong.push(event.n),
                None if covered(event.n) => {}
                None => missing += 1,
            }
        }
        let beyond = self.events.keys().filter(|n| **n > log.len() as u64);
        wrong.extend(beyond);
        (missing, wrong)
    }
}

#[test]
fn skipped_repeated_and_changed_events_are_found() {
    let event = protocol::Event::Unknown;
    let numbered = |n, at| EventEnvelope {
        n,
        at,
        event: event.clone(),
    };
    let log: Vec<_> = (1..=6).map(|n| numbered(n, 0)).collect();
    let mut heard = Heard::default();
    heard.begin(1);
    for index in [1, 2, 5] {
        heard.event(&log[index]);
    }
    assert_eq!((heard.skipped, heard.doubled), (2, 0));
    assert_eq!(heard.compare(&log), (2, vec![]), "4 and 5 were never told");
    heard.event(&log[5]);
    assert_eq!(heard.doubled, 1);
    heard.begin(3);
    heard.state(5);
    assert_eq!(heard.compare(&log), (0, vec![]));
    heard.event(&numbered(6, 1));
    assert_eq!(heard.compare(&log).1, [6, 6]);
    assert_eq!(heard.compare(&log[..5]).1, [6, 6]);
}
