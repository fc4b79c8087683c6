//! When to dial again: at once after the loss of a live link, then full jitter, 0.25 s doubling to 30 s, no attempt cap
//! (workbench 5).

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(250);
const LAST: Duration = Duration::from_secs(30);
/// "At once", and yet long enough that whoever watches sees that it was lost.
pub(crate) const AT_ONCE: Duration = Duration::from_millis(10);

/// The schedule of one outage. A fresh one starts from the beginning, so the tenth drop is as quick as the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Backoff {
    attempts: u32,
}

impl Backoff {
    /// Gives the wait before the next attempt. `jitter` is a random number from 0 to 1 and scales the wait, so that
    /// many clients of one host do not dial at once.
    #[must_use = "the wait is not slept here"]
    pub(crate) fn next(&mut self, jitter: f64) -> Duration {
        let ceiling = FIRST
            .saturating_mul(1_u32.checked_shl(self.attempts.min(16)).unwrap_or(u32::MAX))
            .min(LAST);
        self.attempts = self.attempts.saturating_add(1);
        ceiling.mul_f64(jitter.clamp(0.0, 1.0))
    }

    /// Counts the loss of a link that was live, and gives the wait before it is dialled again.
    #[must_use = "the wait is not slept here"]
    pub(crate) fn after_loss(&mut self) -> Duration {
        self.attempts = self.attempts.saturating_add(1);
        AT_ONCE
    }

    /// Gives how many attempts were made.
    #[must_use]
    pub(crate) fn attempts(self) -> u32 {
        self.attempts
    }

    /// Starts anew: the link was live, the machine woke up, or the network changed.
    pub(crate) fn reset(&mut self) {
        self.attempts = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_to_the_ceiling_and_starts_anew() {
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..10).map(|_| backoff.next(1.0).as_millis()).collect();
        assert_eq!(
            waits,
            [250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000]
        );
        backoff.reset();
        assert_eq!(backoff.next(0.5).as_millis(), 125);
        assert_eq!(backoff.next(0.0).as_millis(), 0);
    }

    #[test]
    fn never_overflows() {
        let mut backoff = Backoff { attempts: u32::MAX };
        assert_eq!(backoff.next(2.0), LAST);
    }
}
