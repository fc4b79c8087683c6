//! Rates of two programs in turns, and what held the slower one up: processor time from `/proc`.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::bench::figure::{Figure, Runs};

/// Bytes of a megabyte as rates count it.
pub(super) const MB: f64 = 1e6;
/// Clock ticks of a second in `/proc` (`USER_HZ`): 100 on every architecture of Linux that we build for.
const TICKS: f64 = 100.0;
/// From this share of one core on, a process counts as held up by it.
const BUSY: f64 = 0.85;

/// Whose processor time is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Of {
    /// That of a process.
    Process(u32),
    /// That of all children of a process that have ended.
    Children(u32),
}

impl Of {
    fn read(self) -> Option<f64> {
        let (Self::Process(pid) | Self::Children(pid)) = self;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        self.time(&stat)
    }

    /// Finds it in the text of `/proc/PID/stat` (proc_pid_stat(5): fields 14 and 15, and 16 and 17).
    fn time(self, stat: &str) -> Option<f64> {
        // The name may contain anything, also spaces and parentheses.
        let (_, rest) = stat.rsplit_once(')')?;
        let skipped = match self {
            Self::Process(_) => 11,
            Self::Children(_) => 13,
        };
        let mut fields = rest.split_whitespace().skip(skipped);
        let user: f64 = fields.next()?.parse().ok()?;
        let system: f64 = fields.next()?.parse().ok()?;
        Some((user + system) / TICKS)
    }
}

/// Gives how long the processors did nothing, and how many there are, from the text of `/proc/stat`.
fn idle_time(stat: &str) -> Option<(f64, usize)> {
    let all = stat.lines().next()?.strip_prefix("cpu ")?;
    let idle: f64 = all.split_whitespace().nth(3)?.parse().ok()?;
    let each = stat.lines().skip(1).filter(|line| line.starts_with("cpu"));
    Some((idle / TICKS, each.count()))
}

/// Processor time so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Clock {
    times: BTreeMap<Of, f64>,
    idle: f64,
    processors: usize,
}

impl Clock {
    /// Reads the clocks of one side, and of the machine.
    pub(super) fn read(processes: &Processes) -> Self {
        let all = processes.client.iter().chain(&processes.host);
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let (idle, processors) = idle_time(&stat).unwrap_or_default();
        Self {
            times: all.filter_map(|of| Some((*of, of.read()?))).collect(),
            idle,
            processors,
        }
    }

    fn since(&self, earlier: &Self, whose: &[Of]) -> f64 {
        let at = |clock: &Self, of| clock.times.get(of).copied().unwrap_or_default();
        whose.iter().map(|of| at(self, of) - at(earlier, of)).sum()
    }
}

/// The processes of one side.
#[derive(Debug, Clone, Default)]
pub(super) struct Processes {
    /// The one that a person starts.
    pub(super) client: Vec<Of>,
    /// What serves it on the host: sshd's processes and, for ours, the agent.
    pub(super) host: Vec<Of>,
}

/// What one side did over all its runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Side {
    rates: Vec<f64>,
    bytes: f64,
    elapsed: f64,
    client: f64,
    host: f64,
    idle: f64,
    processors: usize,
}

impl Side {
    /// Notes a run of so many bytes.
    pub(super) fn add(&mut self, bytes: u64, took: Duration, of: &Processes, clocks: [&Clock; 2]) {
        let [before, after] = clocks;
        let seconds = took.as_secs_f64();
        self.rates.push(bytes as f64 / MB / seconds);
        self.bytes += bytes as f64;
        self.elapsed += seconds;
        self.client += after.since(before, &of.client);
        self.host += after.since(before, &of.host);
        self.idle += after.idle - before.idle;
        self.processors = after.processors;
    }

    fn rates(&self) -> Runs {
        Runs::new(self.rates.clone())
    }

    /// Gives the share of one core that went to the client, the share that went to the host's side, and the share of
    /// the whole machine that was left over.
    fn shares(&self) -> (f64, f64, f64) {
        let machine = self.elapsed * self.processors.max(1) as f64;
        (
            self.client / self.elapsed,
            self.host / self.elapsed,
            self.idle / machine,
        )
    }

    /// Gives milliseconds of processor time for 100 MB: the client's, and the host side's.
    fn costs(&self) -> (f64, f64) {
        let scale = 1000.0 * 100.0 * MB / self.bytes;
        (self.client * scale, self.host * scale)
    }

    fn describe(&self) -> String {
        let (client, host, idle) = self.shares();
        let (own, theirs) = self.costs();
        format!(
            "client {:.0} % of a core ({own:.0} ms for 100 MB), host's side {:.0} % ({theirs:.0} ms), machine {:.0} % idle",
            client * 100.0,
            host * 100.0,
            idle * 100.0
        )
    }

    /// Says in words what held this side up.
    fn cause(&self) -> &'static str {
        let (client, host, idle) = self.shares();
        if client >= BUSY {
            "processor: our client fills a core"
        } else if host >= BUSY {
            "processor: the host's side fills a core"
        } else if idle <= 1.0 - BUSY {
            "processor: all cores of this machine are taken by both ends together"
        } else {
            "no core is full: windows or round trips"
        }
    }
}

/// Both sides.
#[derive(Debug, Clone, Default)]
pub(super) struct Race {
    pub(super) ours: Side,
    pub(super) theirs: Side,
}

impl Race {
    /// Gives who is to be measured in a pair, each first in every other one.
    pub(super) fn turns<T>(&mut self, pair: u32, ours: T, theirs: T) -> [(T, &mut Side); 2] {
        let mut turns = [(ours, &mut self.ours), (theirs, &mut self.theirs)];
        if pair % 2 == 1 {
            turns.reverse();
        }
        turns
    }

    /// Judges the median of the ratios of the rates; a shortfall names its cause.
    pub(super) fn figure(&self, name: &str, goal: f64, beside: &str) -> Figure {
        let pairs = self.ours.rates.iter().zip(&self.theirs.rates);
        let ratios = Runs::new(pairs.map(|(ours, theirs)| ours / theirs).collect());
        let median = ratios.median();
        let mut note = format!(
            "ours {} MB/s, {beside} {} MB/s, ratios {ratios}; {} pairs in turns, median (range)\n  ours: {}\n  {beside}: {}",
            self.ours.rates(),
            self.theirs.rates(),
            self.ours.rates.len(),
            self.ours.describe(),
            self.theirs.describe(),
        );
        let mut figure = Figure::at_least(name, median, "x", goal, String::new());
        if !figure.ok {
            note += &format!("\n  cause: {}", self.ours.cause());
        }
        figure.note = note;
        figure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_read_behind_any_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 250 50 9 9 20 0 3 0 100 1000";
        assert_eq!(Of::Process(7).time(stat), Some(3.0));
        assert_eq!(Of::Children(7).time(stat), Some(0.18));
        assert_eq!(Of::Process(7).time("7 (a"), None);
        let all = "cpu  1 2 3 400 5 6 7 0 0 0\ncpu0 1 1 1 200 1\ncpu1 0 1 2 200 4\nintr 5\n";
        assert_eq!(idle_time(all), Some((4.0, 2)));
    }

    fn side(rates: &[u64], client: f64, idle: f64) -> Side {
        let mut side = Side::default();
        let of = Processes {
            client: vec![Of::Process(1)],
            host: vec![Of::Process(2)],
        };
        for rate in rates {
            let after = Clock {
                times: BTreeMap::from([(Of::Process(1), client), (Of::Process(2), 0.2)]),
                idle,
                processors: 2,
            };
            let clocks = [&Clock::default(), &after];
            side.add(rate * 1_000_000, Duration::from_secs(1), &of, clocks);
        }
        side
    }

    #[test]
    fn the_median_is_of_the_pairs_and_a_shortfall_says_why() {
        let race = Race {
            ours: side(&[90, 300, 100], 0.95, 0.5),
            theirs: side(&[100, 200, 100], 0.5, 0.5),
        };
        let figure = race.figure("a", 0.97, "ssh");
        assert_eq!((figure.value, figure.ok), (1.0, true));
        assert!(
            figure.note.contains("ratios 1.00 (0.90..1.50)"),
            "{}",
            figure.note
        );
        assert!(!figure.note.contains("cause"), "{}", figure.note);

        let slow = |client, idle| {
            let race = Race {
                ours: side(&[50], client, idle),
                theirs: side(&[100], 0.5, 0.5),
            };
            race.figure("a", 0.97, "ssh").note
        };
        assert!(slow(0.95, 0.5).contains("cause: processor: our client"));
        assert!(slow(0.5, 0.1).contains("cause: processor: all cores"));
        assert!(slow(0.2, 1.5).contains("cause: no core is full"));
    }

    #[test]
    fn what_was_not_measured_is_short() {
        let nothing = Race::default().figure("a", 0.97, "ssh");
        assert!(!nothing.ok && nothing.note.contains("cause"));
    }
}
