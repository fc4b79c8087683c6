//! Choices that look random and can be repeated.

use std::time::Duration;

/// A sequence of choices (SplitMix64); the same seed gives the same sequence.
#[derive(Debug, Clone)]
pub struct Choices(u64);

impl Choices {
    /// Starts the sequence of a seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// Gives choices that do not depend on how many are taken here from now on.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self(self.below(u64::MAX))
    }

    /// Gives a number below `bound`; of nothing, 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }

    /// Gives a time of at least `least` and less than `most`, in whole milliseconds.
    pub fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let span = most.saturating_sub(least).as_millis();
        least + Duration::from_millis(self.below(u64::try_from(span).unwrap_or(u64::MAX)))
    }

    /// Picks one of several, each as often as its weight says; of nothing, or of no weight at all, none.
    pub fn weighted<T: Copy>(&mut self, of: &[(T, u32)]) -> Option<T> {
        let total = of.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let mut at = self.below(total);
        of.iter().find_map(|(value, weight)| {
            let is_it = at < u64::from(*weight);
            at = at.saturating_sub(u64::from(*weight));
            is_it.then_some(*value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_choices_again() {
        let take = |seed| {
            let mut choices = Choices::seeded(seed);
            [(); 8].map(|()| choices.below(1000))
        };
        assert_eq!(take(3), take(3));
        assert_ne!(take(3), take(4));
    }

    #[test]
    fn weights_decide_how_often_something_is_picked() {
        let mut choices = Choices::seeded(1);
        let of = [("never", 0), ("seldom", 1), ("often", 9)];
        let picked: Vec<_> = (0..1000).filter_map(|_| choices.weighted(&of)).collect();
        let times = |name| picked.iter().filter(|picked| **picked == name).count();
        assert_eq!((picked.len(), times("never")), (1000, 0));
        assert!((50..200).contains(&times("seldom")), "{}", times("seldom"));
        assert_eq!(choices.weighted::<u8>(&[]), None);
    }

    #[test]
    fn times_lie_between_their_bounds() {
        let mut choices = Choices::seeded(1);
        let (least, most) = (Duration::from_millis(5), Duration::from_millis(8));
        for _ in 0..100 {
            let time = choices.between(least, most);
            assert!((least..most).contains(&time), "{time:?}");
        }
        assert_eq!(choices.between(most, most), most);
    }
}
