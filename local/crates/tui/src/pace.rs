//! When to draw (pure): what a person does, at once; what arrives, at most about sixty times a second; nothing when
//! nothing changed.

use std::time::{Duration, Instant};

/// The least time between two pictures that nobody's key asked for.
const BETWEEN: Duration = Duration::from_millis(16);

/// What is to be drawn, and when the last picture was.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    wanted: Option<Wanted>,
    drawn: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wanted {
    Soon,
    Now,
}

impl Pace {
    /// Something changed.
    pub(crate) fn soon(&mut self) {
        self.wanted = self.wanted.max(Some(Wanted::Soon));
    }

    /// A person did something.
    pub(crate) fn now(&mut self) {
        self.wanted = Some(Wanted::Now);
    }

    /// Gives when the next picture is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        let wanted = self.wanted?;
        let last = self.drawn?;
        match wanted {
            Wanted::Now => Some(last),
            Wanted::Soon => Some(last + BETWEEN),
        }
    }

    /// Says whether a picture is due.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.wanted.is_some() && self.due().is_none_or(|due| due <= now)
    }

    /// Notes that a picture was drawn.
    pub(crate) fn drawn(&mut self, now: Instant) {
        self.wanted = None;
        self.drawn = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_at_once_frames_together_nothing_for_nothing() {
        let start = stdx::clock::monotonic();
        let mut pace = Pace::default();
        assert!(!pace.is_due(start));
        pace.soon();
        assert!(pace.is_due(start));
        pace.drawn(start);
        assert!(!pace.is_due(start + Duration::from_secs(9)));
        pace.soon();
        assert!(!pace.is_due(start + Duration::from_millis(15)));
        assert!(pace.is_due(start + BETWEEN));
        pace.now();
        pace.soon();
        assert!(pace.is_due(start));
    }
}
