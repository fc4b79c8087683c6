//! Whether the peer is alive (pure): counts silence in ticks, so a sleeping or stopped process never blames the peer.

use std::time::Duration;

/// When to ask the peer for a sign of life, and when to give it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepaliveOptions {
    /// Silence after which the peer is asked.
    pub interval: Duration,
    /// Silence after which the peer counts as dead.
    pub dead_after: Duration,
}

impl Default for KeepaliveOptions {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(5),
            dead_after: Duration::from_secs(15),
        }
    }
}

/// What to do after a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    Wait,
    /// Ask the peer for a sign of life.
    Ask,
    /// Give the peer up.
    Dead,
}

/// The silence counted so far.
#[derive(Debug)]
pub(crate) struct Liveness {
    options: KeepaliveOptions,
    silent: Duration,
    received: u64,
    asked: bool,
}

impl Liveness {
    pub(crate) fn new(options: KeepaliveOptions) -> Self {
        Self {
            options,
            silent: Duration::ZERO,
            received: 0,
            asked: false,
        }
    }

    /// Gives how often [`Liveness::tick`] wants to be called.
    pub(crate) fn period(&self) -> Duration {
        (self.options.interval.min(self.options.dead_after) / 5).max(Duration::from_millis(5))
    }

    /// Counts one tick: `received` is the number of bytes that ever arrived, `passed` the time since the last tick.
    pub(crate) fn tick(&mut self, received: u64, passed: Duration) -> Verdict {
        if received != self.received {
            self.received = received;
            self.silent = Duration::ZERO;
            self.asked = false;
            return Verdict::Wait;
        }
        // A late tick means that we were not running, which says nothing about the peer.
        self.silent += passed.min(self.period() * 2);
        if self.silent >= self.options.dead_after && self.asked {
            Verdict::Dead
        } else if self.silent >= self.options.interval && !self.asked {
            self.asked = true;
            Verdict::Ask
        } else {
            Verdict::Wait
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(liveness: &mut Liveness, ticks: u32, mut received: impl FnMut(u32) -> u64) -> Vec<(u32, Verdict)> {
        let period = liveness.period();
        (0..ticks)
            .map(|tick| (tick, liveness.tick(received(tick), period)))
            .filter(|(_, verdict)| *verdict != Verdict::Wait)
            .collect()
    }

    #[test]
    fn asks_then_gives_up_within_the_limit() {
        let mut liveness = Liveness::new(KeepaliveOptions::default());
        assert_eq!(liveness.period(), Duration::from_secs(1));
        assert_eq!(
            run(&mut liveness, 15, |_| 0),
            [(4, Verdict::Ask), (14, Verdict::Dead)]
        );
    }

    #[test]
    fn any_byte_is_life() {
        let mut liveness = Liveness::new(KeepaliveOptions::default());
        assert!(
            !run(&mut liveness, 600, |tick| u64::from(tick / 14))
                .iter()
                .any(|(_, verdict)| *verdict == Verdict::Dead)
        );
    }

    #[test]
    fn a_stopped_process_does_not_blame_the_peer() {
        let mut liveness = Liveness::new(KeepaliveOptions::default());
        assert_eq!(liveness.tick(0, Duration::from_secs(3600)), Verdict::Wait);
    }
}
