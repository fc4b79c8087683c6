//! What happens to packets of one way, and when they come out again (pure): no clock, no file.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::choices::Choices;
use crate::shape::{Mtu, Shape};

/// Packets under way in one direction.
#[derive(Debug)]
pub(crate) struct Schedule {
    shape: Shape,
    choices: Choices,
    /// How many more packets the loss takes that has begun.
    losing: u16,
    /// By the time when they are due, then by their number, which keeps equals in order.
    under_way: BTreeMap<(Instant, u64), Vec<u8>>,
    entered: u64,
    /// When the last packet is due that no fate held up: a shorter delay lets nobody overtake it.
    behind: Option<Instant>,
}

/// What became of a packet that entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is under way, perhaps twice.
    Carried,
    /// It is gone.
    Dropped,
    /// It is gone, and its sender is to be told that only so many bytes pass.
    TooBig(u16),
}

/// Packets that may be under way at once; more are dropped, as a router would.
const LIMIT: usize = 64 * 1024;

impl Schedule {
    pub(crate) fn new(choices: Choices) -> Self {
        Self {
            shape: Shape::default(),
            choices,
            losing: 0,
            under_way: BTreeMap::new(),
            entered: 0,
            behind: None,
        }
    }

    /// Changes what happens to packets that enter from now on.
    pub(crate) fn set_shape(&mut self, shape: Shape) {
        self.shape = shape;
    }

    /// Takes a packet that enters at `now`.
    pub(crate) fn enter(&mut self, now: Instant, packet: Vec<u8>) -> Fate {
        let shape = self.shape;
        if let Mtu::Told(limit) | Mtu::Swallowed(limit) = shape.mtu
            && packet.len() > usize::from(limit)
        {
            let is_told = matches!(shape.mtu, Mtu::Told(_)) && !shape.silent;
            return if is_told {
                Fate::TooBig(limit)
            } else {
                Fate::Dropped
            };
        }
        if shape.silent || self.is_lost() || self.under_way.len() >= LIMIT {
            return Fate::Dropped;
        }
        let due = (now + shape.delay).max(self.behind.unwrap_or(now));
        if shape.late.happen(&mut self.choices) {
            self.put(due + shape.held_up, packet);
            return Fate::Carried;
        }
        self.behind = Some(due);
        if shape.doubled.happen(&mut self.choices) {
            self.put(due, packet.clone());
        }
        self.put(due, packet);
        Fate::Carried
    }

    fn is_lost(&mut self) -> bool {
        if self.losing > 0 {
            self.losing -= 1;
            return true;
        }
        let begins = self.shape.loss.odds.happen(&mut self.choices);
        if begins {
            self.losing = self.shape.loss.burst.saturating_sub(1);
        }
        begins
    }

    fn put(&mut self, due: Instant, packet: Vec<u8>) {
        self.entered += 1;
        self.under_way.insert((due, self.entered), packet);
    }

    /// Gives the next packet that has to come out by `now`.
    pub(crate) fn leave(&mut self, now: Instant) -> Option<Vec<u8>> {
        let first = self.under_way.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// Says when the next packet comes out.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.under_way.first_key_value().map(|((due, _), _)| *due)
    }
}

/// How long a packet is under way that is under way for half of a round trip.
pub(crate) fn one_way(round_trip: Duration) -> Duration {
    round_trip / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::now;
    use crate::shape::{Loss, Odds};

    const MS: Duration = Duration::from_millis(1);

    fn schedule(seed: u64, shape: Shape) -> Schedule {
        let mut schedule = Schedule::new(Choices::seeded(seed));
        schedule.set_shape(shape);
        schedule
    }

    /// Lets a thousand packets enter, one a millisecond, and gives the numbers that come out, in order.
    fn out(seed: u64, shape: Shape) -> Vec<u16> {
        let (mut schedule, start) = (schedule(seed, shape), now());
        for number in 0..1000_u16 {
            schedule.enter(start + u32::from(number) * MS, number.to_be_bytes().to_vec());
        }
        let end = start + Duration::from_secs(3600);
        let packets = std::iter::from_fn(|| schedule.leave(end));
        packets
            .map(|packet| u16::from_be_bytes([packet[0], packet[1]]))
            .collect()
    }

    #[test]
    fn packets_come_out_in_order_after_the_delay() {
        let (mut schedule, start) = (schedule(0, Shape::delayed(25 * MS)), now());
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
        let (mut schedule, start) = (schedule(0, Shape::delayed(25 * MS)), now());
        schedule.enter(start, vec![1]);
        schedule.set_shape(Shape::default());
        schedule.enter(start + MS, vec![2]);
        assert_eq!(schedule.leave(start + 24 * MS), None);
        assert_eq!(schedule.leave(start + 25 * MS), Some(vec![1]));
        assert_eq!(schedule.leave(start + 25 * MS), Some(vec![2]));
    }

    #[test]
    fn the_same_seed_gives_the_same_fates_and_another_gives_others() {
        let shape = Shape {
            loss: Loss {
                odds: Odds(50),
                burst: 3,
            },
            doubled: Odds(50),
            late: Odds(50),
            held_up: 20 * MS,
            ..Shape::default()
        };
        assert_eq!(out(7, shape), out(7, shape));
        assert_ne!(out(7, shape), out(8, shape));
    }

    #[test]
    fn losses_take_as_many_packets_after_each_other_as_they_say() {
        let odds = Odds(20);
        let left = out(
            1,
            Shape {
                loss: Loss { odds, burst: 5 },
                ..Shape::default()
            },
        );
        let holes: Vec<u16> = left
            .windows(2)
            .map(|pair| pair[1] - pair[0] - 1)
            .filter(|hole| *hole > 0)
            .collect();
        assert!(
            !holes.is_empty() && holes.iter().all(|hole| *hole >= 5),
            "{holes:?}"
        );
        let every = Loss {
            odds: Odds(1000),
            burst: 0,
        };
        assert_eq!(
            out(
                1,
                Shape {
                    loss: every,
                    ..Shape::default()
                }
            ),
            [0_u16; 0]
        );
    }

    #[test]
    fn late_packets_are_overtaken_and_doubled_ones_come_twice() {
        let late = out(
            1,
            Shape {
                late: Odds(100),
                held_up: 10 * MS,
                ..Shape::default()
            },
        );
        assert!(late.windows(2).any(|pair| pair[1] < pair[0]), "{late:?}");
        let mut sorted = late;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1000).collect::<Vec<_>>(), "none is lost");
        let doubled = out(
            1,
            Shape {
                doubled: Odds(100),
                ..Shape::default()
            },
        );
        let twice = doubled.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert_eq!(doubled.len(), 1000 + twice);
        assert!((50..150).contains(&twice), "{twice}");
    }

    #[test]
    fn bigger_packets_are_dropped_and_the_sender_is_told_or_not() {
        let check = |mtu, silent, expected| {
            let mut schedule = schedule(
                0,
                Shape {
                    mtu,
                    silent,
                    ..Shape::default()
                },
            );
            assert_eq!(schedule.enter(now(), vec![0; 1001]), expected);
        };
        check(Mtu::Unlimited, false, Fate::Carried);
        check(Mtu::Told(1001), false, Fate::Carried);
        check(Mtu::Told(1000), false, Fate::TooBig(1000));
        check(Mtu::Swallowed(1000), false, Fate::Dropped);
        check(Mtu::Told(1000), true, Fate::Dropped);
        check(Mtu::Unlimited, true, Fate::Dropped);
    }
}
