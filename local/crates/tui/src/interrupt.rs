//! What Ctrl-C does (pure): copy, else stop the turn, else clear the composer, else leave on the second press.
//!
//! It never waits for anything: a stop that was asked for and has no effect does not keep the next press from going
//! one step further.

use std::time::{Duration, Instant};

use protocol::TurnId;

/// How soon the second press has to follow the first to leave.
pub(crate) const TWICE_WITHIN: Duration = Duration::from_secs(2);

/// What there is to interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Situation {
    /// A dialog that can be put away is in front.
    pub(crate) dismissible: bool,
    /// A turn runs that nobody has asked to stop.
    pub(crate) turn: Option<TurnId>,
    /// Something is typed.
    pub(crate) typed: bool,
}

/// What a press does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Put the dialog away; what asks is refused.
    Dismiss,
    /// Ask the turn to stop.
    CancelTurn(TurnId),
    /// Clear the composer.
    Clear,
    /// Say that a second press leaves.
    Warn,
    /// Leave.
    Leave,
}

/// When Ctrl-C was pressed last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Interrupts {
    warned: Option<Instant>,
}

impl Interrupts {
    /// Takes a press.
    pub(crate) fn press(&mut self, situation: Situation, now: Instant) -> Step {
        let step = if situation.dismissible {
            Step::Dismiss
        } else if let Some(turn) = situation.turn {
            Step::CancelTurn(turn)
        } else if situation.typed {
            Step::Clear
        } else if self.is_warned(now) {
            Step::Leave
        } else {
            Step::Warn
        };
        self.warned = (step == Step::Warn).then_some(now);
        step
    }

    /// Says whether the next press leaves.
    pub(crate) fn is_warned(&self, now: Instant) -> bool {
        self.warned
            .is_some_and(|at| now.saturating_duration_since(at) < TWICE_WITHIN)
    }

    /// Gives when the warning is over.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.warned.map(|at| at + TWICE_WITHIN)
    }

    /// Forgets: another key was pressed.
    pub(crate) fn reset(&mut self) {
        self.warned = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_press_goes_one_step_further() {
        let start = stdx::clock::monotonic();
        let at = |millis| start + Duration::from_millis(millis);
        let mut interrupts = Interrupts::default();
        let everything = Situation {
            dismissible: true,
            turn: Some(TurnId(3)),
            typed: true,
        };
        assert_eq!(interrupts.press(everything, at(0)), Step::Dismiss);
        let no_dialog = Situation {
            dismissible: false,
            ..everything
        };
        assert_eq!(interrupts.press(no_dialog, at(0)), Step::CancelTurn(TurnId(3)));
        // The cancel has no effect yet; the next press does not wait for it.
        let stopping = Situation {
            turn: None,
            ..no_dialog
        };
        assert_eq!(interrupts.press(stopping, at(0)), Step::Clear);
        let nothing = Situation::default();
        assert_eq!(interrupts.press(nothing, at(0)), Step::Warn);
        assert_eq!(interrupts.press(nothing, at(1999)), Step::Leave);
    }

    #[test]
    fn the_second_press_has_to_follow_within_two_seconds() {
        let start = stdx::clock::monotonic();
        let mut interrupts = Interrupts::default();
        let nothing = Situation::default();
        assert_eq!(interrupts.press(nothing, start), Step::Warn);
        assert_eq!(interrupts.press(nothing, start + TWICE_WITHIN), Step::Warn);
        interrupts.reset();
        assert_eq!(
            interrupts.press(nothing, start + TWICE_WITHIN + Duration::from_millis(1)),
            Step::Warn
        );
    }
}
