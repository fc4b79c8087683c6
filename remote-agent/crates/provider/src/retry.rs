//! When to try again and after how long (pure).

use std::time::Duration;

use crate::{Cause, error::Again};

/// The budget of one request and its waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// How often a request is sent at most, the first time included.
    pub attempts: u32,
    /// The wait before the second attempt; it doubles with each further one, plus up to a quarter of chance.
    pub first_wait: Duration,
    /// The longest wait that a vendor may ask for; a longer one ends the request at once.
    pub longest_wait: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            attempts: 4,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(300),
        }
    }
}

/// What is left of a request's budget.
#[derive(Debug)]
pub(crate) struct Budget {
    policy: Policy,
    made: u32,
}

impl Budget {
    pub(crate) fn new(policy: Policy) -> Self {
        Self { policy, made: 1 }
    }

    /// Gives the number of the attempt under way, from 1.
    pub(crate) fn attempt(&self) -> u32 {
        self.made
    }

    /// Spends an attempt on a failure and gives the wait before it; `None` gives up.
    ///
    /// `chance` is a number that the caller drew; it spreads clients that failed at the same moment.
    pub(crate) fn spend(&mut self, cause: &Cause, chance: u8) -> Option<Duration> {
        if cause.again() == Again::No || self.made >= self.policy.attempts {
            return None;
        }
        let wait = match cause.retry_after() {
            // What the vendor asks for is kept to the letter: 1 means 1 second.
            Some(asked) => Some(asked).filter(|asked| *asked <= self.policy.longest_wait)?,
            None => {
                let doublings = self.made.saturating_sub(1).min(16);
                let base = self.policy.first_wait.saturating_mul(1 << doublings);
                base.saturating_add(base.mul_f64(f64::from(chance) / 1024.0))
            }
        };
        self.made += 1;
        Some(wait)
    }
}

/// Reads `Retry-After`: seconds (fractions too, as some vendors send them) or an HTTP date, compared with `now_millis`
/// since the Unix epoch (RFC 9110, section 10.2.3).
pub(crate) fn retry_after(value: &str, now_millis: u64) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::parse(value)
        .ok()?
        .timestamp()
        .as_millisecond();
    let date = u64::try_from(date).ok()?;
    Some(Duration::from_millis(date.saturating_sub(now_millis)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unavailable(retry_after: Option<u64>) -> Cause {
        Cause::Unavailable {
            status: 503,
            message: String::new(),
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    #[test]
    fn doubles_from_half_a_second_and_gives_up_after_four() {
        let mut budget = Budget::new(Policy::default());
        let waits: Vec<_> = std::iter::from_fn(|| budget.spend(&unavailable(None), 0)).collect();
        assert_eq!(waits, [500, 1000, 2000].map(Duration::from_millis));
        assert_eq!(budget.attempt(), 4);
        let longest = Budget::new(Policy::default())
            .spend(&Cause::Empty, u8::MAX)
            .unwrap();
        assert!(longest > Duration::from_millis(600) && longest < Duration::from_millis(625));
    }

    #[test]
    fn keeps_to_what_the_vendor_asks() {
        let spend = |seconds| Budget::new(Policy::default()).spend(&unavailable(Some(seconds)), 200);
        assert_eq!(spend(1), Some(Duration::from_secs(1)));
        assert_eq!(spend(0), Some(Duration::ZERO));
        assert_eq!(spend(300), Some(Duration::from_secs(300)));
        assert_eq!(spend(301), None);
    }

    #[test]
    fn does_not_repeat_what_cannot_help() {
        let refused = Cause::Refused {
            protocol: "openai",
            status: 400,
            message: String::new(),
        };
        assert_eq!(Budget::new(Policy::default()).spend(&refused, 0), None);
    }

    #[test]
    fn reads_seconds_and_dates() {
        let check = |text, want: Option<u64>| {
            assert_eq!(
                retry_after(text, 1_445_412_480_000 - 7000),
                want.map(Duration::from_millis),
                "{text}"
            );
        };
        check("1", Some(1000));
        check(" 0.25 ", Some(250));
        check("Wed, 21 Oct 2015 07:28:00 GMT", Some(7000));
        check("Wed, 21 Oct 2015 07:27:00 GMT", Some(0));
        check("soon", None);
        check("-1", None);
        check("1e300", None);
    }
}
