//! Whether a live link still is (pure): counts silence in ticks, so that a sleeping or stopped process blames nobody.

use std::time::{Duration, Instant};

use crate::{
    host::Timings,
    state::{Doubt, Health},
};

/// The silences of one live link.
#[derive(Debug)]
pub(crate) struct Liveness {
    timings: Timings,
    /// Since the agent answered a ping.
    unanswered: Duration,
    /// Since any byte came on the wire of the agent.
    unheard: Duration,
    /// Since any byte came on the SSH connection.
    silent: Duration,
    heard: u64,
    bytes: u64,
    proof: Option<Proof>,
}

/// What is wanted after a wake-up or a change of the network: an answer, or bytes that keep coming.
#[derive(Debug)]
struct Proof {
    /// What is left of the time.
    left: Duration,
    /// Ticks in which bytes prove nothing yet: they came before it and lay in the socket.
    stale: u32,
}

/// The tick that found the wake-up, and the one after it.
const STALE: u32 = 2;

/// What ever came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signs {
    /// Bytes on the SSH connection.
    pub(crate) bytes: u64,
    /// Bytes on the wire of the agent.
    pub(crate) heard: u64,
}

/// What a tick found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing new to say.
    Fine,
    /// Not as it should be.
    Poor(Health),
    /// The host is gone: not a byte.
    Dead,
    /// The host is there, the agent is not.
    AgentDead,
}

impl Liveness {
    pub(crate) fn new(timings: Timings, signs: Signs) -> Self {
        Self {
            timings,
            unanswered: Duration::ZERO,
            unheard: Duration::ZERO,
            silent: Duration::ZERO,
            heard: signs.heard,
            bytes: signs.bytes,
            proof: None,
        }
    }

    /// Notes an answer of the agent.
    pub(crate) fn pong(&mut self) {
        self.unanswered = Duration::ZERO;
        self.proof = None;
    }

    /// Notes an answer of the SSH server to what it was asked since the doubt.
    pub(crate) fn answered_by_host(&mut self) {
        self.proof = None;
    }

    /// Wants a sign of life within the grace; `rtt` is the newest round trip, since a long line answers late. Another
    /// doubt while one is open does not give it more time.
    pub(crate) fn prove(&mut self, doubt: Doubt, rtt: Duration) {
        let grace = self.timings.wake_grace.max(rtt * 4).min(self.timings.dead_after);
        let open = self.proof.as_ref();
        self.proof = Some(Proof {
            left: open.map_or(grace, |proof| proof.left.min(grace)),
            stale: match doubt {
                Doubt::Slept => STALE,
                // The tick after it; what came before is seen there.
                Doubt::Now => open.map_or(1, |proof| proof.stale.max(1)),
            },
        });
    }

    /// Counts one tick; `passed` is the time since the last one.
    pub(crate) fn tick(&mut self, passed: Duration, signs: Signs) -> Verdict {
        // A late tick means that we were not running, which says nothing about the peer.
        let passed = passed.min(self.timings.tick() * 2);
        self.unanswered += passed;
        self.silent += passed;
        self.unheard += passed;
        if signs.bytes != self.bytes {
            self.bytes = signs.bytes;
            self.silent = Duration::ZERO;
            self.proof.take_if(|proof| proof.stale == 0);
        }
        if signs.heard != self.heard {
            self.heard = signs.heard;
            self.unheard = Duration::ZERO;
        }
        if let Some(proof) = &mut self.proof {
            // The time of the tick that found the wake-up passed before it.
            if proof.stale < STALE {
                proof.left = proof.left.saturating_sub(passed);
            }
            proof.stale = proof.stale.saturating_sub(1);
            if proof.left.is_zero() {
                return Verdict::Dead;
            }
        }
        let late = self.timings.ping_interval * 2;
        if self.silent >= self.timings.dead_after {
            Verdict::Dead
        } else if self.unheard.min(self.unanswered) >= self.timings.stalled_after {
            Verdict::AgentDead
        } else if self.unanswered < late {
            Verdict::Fine
        } else if self.silent >= late {
            Verdict::Poor(Health::Quiet)
        } else {
            Verdict::Poor(Health::Stalled)
        }
    }
}

/// Notices that nothing ran here for a while: the machine slept (the time since boot went on while the monotonic time
/// stood still), or this process was stopped (it was not asked for much longer than it should have been).
#[derive(Debug)]
pub(crate) struct WakeDetector {
    monotonic: Instant,
    since_boot: Duration,
}

/// Clocks drift against each other by far less; a sleep is longer. A process that gets no processor for so long has
/// missed as much as one that was stopped.
const SLEEP: Duration = Duration::from_secs(2);

impl WakeDetector {
    pub(crate) fn new(monotonic: Instant, since_boot: Duration) -> Self {
        Self {
            monotonic,
            since_boot,
        }
    }

    /// Takes both clocks, at every tick, and says whether nothing ran since the last time.
    pub(crate) fn woke(&mut self, monotonic: Instant, since_boot: Duration) -> bool {
        let awake = monotonic.saturating_duration_since(self.monotonic);
        let all = since_boot.saturating_sub(self.since_boot);
        (self.monotonic, self.since_boot) = (monotonic, since_boot);
        all.max(awake) >= SLEEP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(500);

    /// Runs ticks and gives each change of the verdict with its time in half seconds.
    fn run(liveness: &mut Liveness, ticks: u32, mut signs: impl FnMut(u32) -> Signs) -> Vec<(u32, Verdict)> {
        let mut changes: Vec<(u32, Verdict)> = Vec::new();
        for tick in 1..=ticks {
            let verdict = liveness.tick(TICK, signs(tick));
            if changes.last().map_or(Verdict::Fine, |(_, last)| *last) != verdict {
                changes.push((tick, verdict));
            }
        }
        changes
    }

    fn nothing() -> Signs {
        Signs { bytes: 0, heard: 0 }
    }

    #[test]
    fn a_host_that_is_gone_is_quiet_then_dead() {
        let mut liveness = Liveness::new(Timings::default(), nothing());
        assert_eq!(
            run(&mut liveness, 30, |_| nothing()),
            [(20, Verdict::Poor(Health::Quiet)), (30, Verdict::Dead)]
        );
    }

    #[test]
    fn an_agent_that_hangs_on_a_living_host_is_stalled_for_long() {
        let mut liveness = Liveness::new(Timings::default(), nothing());
        let signs = |tick| Signs {
            bytes: u64::from(tick / 8),
            heard: 0,
        };
        assert_eq!(
            run(&mut liveness, 120, signs),
            [(20, Verdict::Poor(Health::Stalled)), (120, Verdict::AgentDead)]
        );
    }

    #[test]
    fn any_byte_of_a_busy_agent_keeps_it() {
        let mut liveness = Liveness::new(Timings::default(), nothing());
        let signs = |tick: u32| Signs {
            bytes: u64::from(tick / 20),
            heard: u64::from(tick / 100),
        };
        let verdicts = run(&mut liveness, 1000, signs);
        assert!(
            !verdicts
                .iter()
                .any(|(_, verdict)| matches!(verdict, Verdict::Dead | Verdict::AgentDead)),
            "{verdicts:?}"
        );
    }

    #[test]
    fn after_a_wake_up_an_answer_or_more_bytes_have_to_come_soon() {
        let woken = || {
            let mut liveness = Liveness::new(Timings::default(), nothing());
            liveness.prove(Doubt::Slept, Duration::ZERO);
            liveness
        };
        let dead = [(4, Verdict::Dead)];
        assert_eq!(run(&mut woken(), 4, |_| nothing()), dead);
        let lay_in_the_socket = |tick: u32| Signs {
            bytes: u64::from(tick.min(2)),
            heard: 0,
        };
        assert_eq!(run(&mut woken(), 4, lay_in_the_socket), dead);
        let keep_coming = |tick: u32| Signs {
            bytes: u64::from(tick.min(3)),
            heard: 0,
        };
        assert_eq!(run(&mut woken(), 19, keep_coming), []);
        let mut answered = woken();
        answered.pong();
        assert_eq!(run(&mut answered, 19, |_| nothing()), []);
    }

    #[test]
    fn after_a_change_of_the_network_it_has_to_come_as_soon_and_further_changes_give_no_more_time() {
        let doubted = |rtt| {
            let mut liveness = Liveness::new(Timings::default(), nothing());
            liveness.prove(Doubt::Now, rtt);
            liveness
        };
        // The part of a tick before the change counts as well, so this is within 1.5 s of it.
        let dead = [(3, Verdict::Dead)];
        assert_eq!(run(&mut doubted(Duration::ZERO), 3, |_| nothing()), dead);
        let lay_in_the_socket = |tick: u32| Signs {
            bytes: u64::from(tick.min(1)),
            heard: 0,
        };
        assert_eq!(run(&mut doubted(Duration::ZERO), 3, lay_in_the_socket), dead);
        let keep_coming = |tick: u32| Signs {
            bytes: u64::from(tick.min(2)),
            heard: 0,
        };
        assert_eq!(run(&mut doubted(Duration::ZERO), 19, keep_coming), []);
        let mut again = doubted(Duration::ZERO);
        for _ in 0..2 {
            assert_eq!(again.tick(TICK, nothing()), Verdict::Fine);
            again.prove(Doubt::Now, Duration::ZERO);
        }
        assert_eq!(again.tick(TICK, nothing()), Verdict::Dead);
        // A satellite line has four round trips.
        let slow = run(&mut doubted(Duration::from_millis(750)), 6, |_| nothing());
        assert_eq!(slow, [(6, Verdict::Dead)]);
    }

    #[test]
    fn a_process_that_gets_no_processor_blames_nobody_until_it_runs_again() {
        let mut liveness = Liveness::new(Timings::default(), nothing());
        let signs = |tick: u32| Signs {
            bytes: u64::from(tick / 4),
            heard: u64::from(tick / 8),
        };
        // Every tick comes seconds late and is a wake-up of its own; the little that is read proves nothing.
        for tick in 1..=100 {
            liveness.prove(Doubt::Slept, Duration::ZERO);
            let verdict = liveness.tick(TICK * 10, signs(tick));
            assert!(!matches!(verdict, Verdict::Dead | Verdict::AgentDead), "{tick}");
        }
        let running_again = run(&mut liveness, 3, |_| signs(100));
        assert_eq!(running_again.last(), Some(&(3, Verdict::Dead)));
    }

    #[test]
    fn a_stopped_process_blames_nobody() {
        let mut liveness = Liveness::new(Timings::default(), nothing());
        assert_eq!(liveness.tick(Duration::from_secs(3600), nothing()), Verdict::Fine);
    }

    #[test]
    fn only_a_sleep_or_a_stop_wakes() {
        let start = stdx::clock::monotonic();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut detector = WakeDetector::new(start, Duration::from_secs(100));
        assert!(!detector.woke(at(1), Duration::from_secs(101)));
        // The machine slept.
        assert!(detector.woke(at(2), Duration::from_secs(4202)));
        assert!(!detector.woke(at(3), Duration::from_secs(4203)));
        // The process was stopped.
        assert!(detector.woke(at(503), Duration::from_secs(4703)));
        assert!(!detector.woke(at(504), Duration::from_secs(4704)));
    }
}
