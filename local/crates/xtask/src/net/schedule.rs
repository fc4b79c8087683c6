//! When packets come out again (pure): no clock, no file.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Packets under way in one direction, in order, each for the same time.
#[derive(Debug)]
pub(super) struct Schedule {
    delay: Duration,
    under_way: VecDeque<(Instant, Vec<u8>)>,
}

/// Packets that may be under way at once; more are dropped, as a router would.
const LIMIT: usize = 64 * 1024;

impl Schedule {
    pub(super) fn new(delay: Duration) -> Self {
        Self {
            delay,
            under_way: VecDeque::new(),
        }
    }

    /// Changes the delay of packets that enter from now on. A shorter one does not let them overtake.
    pub(super) fn set_delay(&mut self, delay: Duration) {
        self.delay = delay;
    }

    /// Takes a packet that enters at `now`.
    pub(super) fn enter(&mut self, now: Instant, packet: Vec<u8>) {
        let behind = self.under_way.back().map_or(now, |(due, _)| *due);
        if self.under_way.len() < LIMIT {
            self.under_way.push_back(((now + self.delay).max(behind), packet));
        }
    }

    /// Gives the next packet that has to come out by `now`.
    pub(super) fn leave(&mut self, now: Instant) -> Option<Vec<u8>> {
        let (due, _) = self.under_way.front()?;
        if *due > now {
            return None;
        }
        self.under_way.pop_front().map(|(_, packet)| packet)
    }

    /// Says when the next packet comes out.
    pub(super) fn next(&self) -> Option<Instant> {
        self.under_way.front().map(|(due, _)| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn packets_come_out_in_order_after_the_delay() {
        let (mut schedule, start) = (Schedule::new(25 * MS), crate::system::now());
        schedule.enter(start, vec![1]);
        schedule.enter(start + MS, vec![2]);
        assert_eq!(schedule.next(), Some(start + 25 * MS));
        assert_eq!(schedule.leave(start + 24 * MS), None);
        assert_eq!(schedule.leave(start + 25 * MS), Some(vec![1]));
        assert_eq!(schedule.leave(start + 25 * MS), None);
        assert_eq!(schedule.leave(start + 99 * MS), Some(vec![2]));
        assert_eq!(schedule.next(), None);
    }

    #[test]
    fn a_shorter_delay_lets_nobody_overtake() {
        let (mut schedule, start) = (Schedule::new(25 * MS), crate::system::now());
        schedule.enter(start, vec![1]);
        schedule.set_delay(Duration::ZERO);
        schedule.enter(start + MS, vec![2]);
        assert_eq!(schedule.leave(start + 24 * MS), None);
        assert_eq!(schedule.leave(start + 25 * MS), Some(vec![1]));
        assert_eq!(schedule.leave(start + 25 * MS), Some(vec![2]));
    }
}
