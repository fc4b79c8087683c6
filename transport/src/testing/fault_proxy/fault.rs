//! What a proxy can do to connections, and seeded lists of it (pure).

use std::time::Duration;

use super::super::Choices;

/// One of the two ends of a connection through a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Who dialled.
    Client,
    /// Who was dialled.
    Server,
}

/// What goes wrong. Some faults are over at once; the others last until [`super::FaultProxy::restore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Every connection is closed, in order (FIN).
    Cut,
    /// Every connection is closed once exactly so many more bytes have come from one side.
    CutAfter {
        /// How many bytes still pass.
        bytes: u32,
        /// Whose bytes count.
        from: Side,
    },
    /// Every connection is aborted (RST).
    Reset,
    /// The direction from server to client of every connection ends; the other one goes on.
    HalfClose,
    /// One side of every connection is gone and the other learns nothing: what it sends disappears, for ever.
    HalfOpen {
        /// The side that is gone.
        gone: Side,
    },
    /// Nothing passes, and nothing is closed; new connections are treated alike.
    BlackHole,
    /// Nothing passes from one side; the other direction goes on.
    Silence {
        /// The side that is not heard.
        from: Side,
    },
    /// A few bytes a second pass, in each direction of each connection.
    Trickle {
        /// How many.
        bytes_a_second: u32,
    },
    /// New connections are open for a while before anybody answers.
    SlowAccept {
        /// How long.
        wait: Duration,
    },
    /// New connections are refused; those that are there go on.
    Refuse,
}

/// What kind of fault it is, for weights and tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the variants are those of `Fault`")]
pub enum FaultKind {
    Cut,
    CutAfter,
    Reset,
    HalfClose,
    HalfOpen,
    BlackHole,
    Silence,
    Trickle,
    SlowAccept,
    Refuse,
}

impl Fault {
    /// Draws a fault of a kind.
    #[must_use]
    pub fn draw(kind: FaultKind, choices: &mut Choices) -> Self {
        match kind {
            FaultKind::Cut => Self::Cut,
            FaultKind::CutAfter => Self::CutAfter {
                bytes: u32::try_from(choices.below(6000)).unwrap_or(0),
                from: side(choices),
            },
            FaultKind::Reset => Self::Reset,
            FaultKind::HalfClose => Self::HalfClose,
            FaultKind::HalfOpen => Self::HalfOpen { gone: side(choices) },
            FaultKind::BlackHole => Self::BlackHole,
            FaultKind::Silence => Self::Silence { from: side(choices) },
            FaultKind::Trickle => Self::Trickle {
                bytes_a_second: 10 + u32::try_from(choices.below(200)).unwrap_or(0),
            },
            FaultKind::SlowAccept => Self::SlowAccept {
                wait: choices.between(Duration::from_millis(50), Duration::from_millis(400)),
            },
            FaultKind::Refuse => Self::Refuse,
        }
    }

    /// Gives the kind.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Cut => FaultKind::Cut,
            Self::CutAfter { .. } => FaultKind::CutAfter,
            Self::Reset => FaultKind::Reset,
            Self::HalfClose => FaultKind::HalfClose,
            Self::HalfOpen { .. } => FaultKind::HalfOpen,
            Self::BlackHole => FaultKind::BlackHole,
            Self::Silence { .. } => FaultKind::Silence,
            Self::Trickle { .. } => FaultKind::Trickle,
            Self::SlowAccept { .. } => FaultKind::SlowAccept,
            Self::Refuse => FaultKind::Refuse,
        }
    }
}

fn side(choices: &mut Choices) -> Side {
    if choices.below(2) == 0 {
        Side::Client
    } else {
        Side::Server
    }
}

impl FaultKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Cut,
        Self::CutAfter,
        Self::Reset,
        Self::HalfClose,
        Self::HalfOpen,
        Self::BlackHole,
        Self::Silence,
        Self::Trickle,
        Self::SlowAccept,
        Self::Refuse,
    ];

    /// Says whether faults of this kind go on until they are ended.
    #[must_use]
    pub fn lasts(self) -> bool {
        match self {
            Self::Cut | Self::Reset | Self::HalfClose | Self::HalfOpen => false,
            Self::CutAfter
            | Self::BlackHole
            | Self::Silence
            | Self::Trickle
            | Self::SlowAccept
            | Self::Refuse => true,
        }
    }

    /// Gives its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::CutAfter => "cut-after-bytes",
            Self::Reset => "reset",
            Self::HalfClose => "half-close",
            Self::HalfOpen => "half-open",
            Self::BlackHole => "black-hole",
            Self::Silence => "one-way-silence",
            Self::Trickle => "trickle",
            Self::SlowAccept => "slow-accept",
            Self::Refuse => "refuse",
        }
    }
}

/// A fault and its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// How long all is well before it.
    pub pause: Duration,
    /// What goes wrong.
    pub fault: Fault,
    /// How long it lasts; zero where it is over at once.
    pub lasts: Duration,
}

/// From what lists of faults are drawn.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How often each kind comes, relative to the others.
    pub weights: Vec<(FaultKind, u32)>,
    /// Pauses are shorter than this.
    pub pause: Duration,
    /// Faults last less than this.
    pub lasts: Duration,
}

impl Default for Plan {
    /// Every kind alike, pauses and faults of up to half a second.
    fn default() -> Self {
        Self {
            weights: FaultKind::ALL.map(|kind| (kind, 1)).to_vec(),
            pause: Duration::from_millis(500),
            lasts: Duration::from_millis(500),
        }
    }
}

impl Plan {
    /// Draws one step; the last resort of a plan without weights is a cut.
    #[must_use]
    pub fn draw(&self, choices: &mut Choices) -> Step {
        let kind = choices.weighted(&self.weights).unwrap_or(FaultKind::Cut);
        let lasts = if kind.lasts() { self.lasts } else { Duration::ZERO };
        Step {
            pause: choices.between(Duration::ZERO, self.pause),
            fault: Fault::draw(kind, choices),
            lasts: choices.between(Duration::ZERO, lasts),
        }
    }

    /// Gives a list of so many steps; the same seed gives the same list.
    #[must_use]
    pub fn seeded(&self, seed: u64, count: usize) -> Vec<Step> {
        let mut choices = Choices::seeded(seed);
        (0..count).map(|_| self.draw(&mut choices)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_list_again_with_every_kind_in_it() {
        let plan = Plan::default();
        let steps = plan.seeded(5, 200);
        assert_eq!(steps, plan.seeded(5, 200));
        assert_ne!(steps, plan.seeded(6, 200));
        for kind in FaultKind::ALL {
            assert!(steps.iter().any(|step| step.fault.kind() == kind), "{kind:?}");
        }
        for step in steps {
            assert!(step.pause < plan.pause && step.lasts < plan.lasts, "{step:?}");
            assert!(step.fault.kind().lasts() || step.lasts.is_zero(), "{step:?}");
        }
    }

    #[test]
    fn weights_leave_kinds_out() {
        let plan = Plan {
            weights: vec![(FaultKind::Reset, 1)],
            ..Plan::default()
        };
        let steps = plan.seeded(1, 20);
        assert!(steps.iter().all(|step| step.fault == Fault::Reset));
    }
}
