//! What one way does to packets.

use std::time::Duration;

use crate::choices::Choices;

/// How often something happens, of a thousand times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Odds(pub u16);

impl Odds {
    pub(crate) fn happen(self, choices: &mut Choices) -> bool {
        // No choice is spent on what never happens: adding a fault does not change the fates of the others.
        self.0 > 0 && choices.below(1000) < u64::from(self.0)
    }
}

/// Packets that never arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loss {
    /// How often a loss begins.
    pub odds: Odds,
    /// How many packets after each other one loss takes; 0 is like 1.
    pub burst: u16,
}

/// What becomes of packets that are longer than a limit of bytes, headers included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mtu {
    /// They pass.
    #[default]
    Unlimited,
    /// They are dropped and their sender is told (ICMP "fragmentation needed", RFC 1191), as a sound router does.
    Told(u16),
    /// They are dropped and nobody is told: a black hole for path MTU discovery (RFC 2923).
    Swallowed(u16),
}

/// What one way does to packets. The default carries them at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shape {
    /// How long a packet is under way.
    pub delay: Duration,
    /// Packets that never arrive.
    pub loss: Loss,
    /// Packets that arrive twice.
    pub doubled: Odds,
    /// Packets that are held up by [`Shape::held_up`], so that later ones overtake them.
    pub late: Odds,
    /// How much longer a late packet takes.
    pub held_up: Duration,
    /// The longest packet.
    pub mtu: Mtu,
    /// Whether nothing passes at all.
    pub silent: bool,
}

impl Shape {
    /// Delays every packet.
    #[must_use]
    pub fn delayed(delay: Duration) -> Self {
        Self {
            delay,
            ..Self::default()
        }
    }

    /// Carries nothing.
    #[must_use]
    pub fn silence() -> Self {
        Self {
            silent: true,
            ..Self::default()
        }
    }
}
