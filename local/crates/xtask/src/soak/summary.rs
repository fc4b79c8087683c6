//! What came of one seed and of all of them (pure).

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::time::Duration;

use serde::Deserialize;

/// What the test prints before its report.
const REPORT: &str = "soak-report ";
/// How much of what a seed said is shown when it failed, in lines.
const SHOWN: usize = 60;

/// What the test reports.
#[derive(Debug, Clone, Default, Deserialize)]
struct Report {
    faults: u64,
    lost: u64,
    doubled: u64,
    wedged: u64,
    leaked: u64,
    recoveries: BTreeMap<String, Vec<u64>>,
    figures: BTreeMap<String, u64>,
}

/// What came of one seed.
#[derive(Debug)]
pub(super) struct Seed {
    number: u64,
    wanted: u32,
    took: Duration,
    report: Report,
    /// What it said, if something did not hold.
    failure: Option<String>,
}

impl Seed {
    /// Reads what a test said. `what` is the seed and how many faults it was to have.
    pub(super) fn read(what: (u64, u32), took: Duration, is_success: bool, said: &str) -> Self {
        let report = said.lines().find_map(|line| line.strip_prefix(REPORT));
        let report: Option<Report> = report.and_then(|report| serde_json::from_str(report).ok());
        let is_ok = is_success
            && report
                .as_ref()
                .is_some_and(|report| report.faults == u64::from(what.1));
        let others: Vec<&str> = said.lines().filter(|line| !line.starts_with(REPORT)).collect();
        let end = others.len().saturating_sub(SHOWN);
        Self {
            number: what.0,
            wanted: what.1,
            took,
            report: report.unwrap_or_default(),
            failure: (!is_ok).then(|| others[end..].join("\n  ")),
        }
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, faults, took) = (self.number, self.report.faults, self.took.as_secs_f64());
        write!(f, "seed {number}: {faults} faults, {took:.1} s, ")?;
        let Some(failure) = &self.failure else {
            return f.write_str("ok");
        };
        let wanted = self.wanted;
        write!(
            f,
            "FAILED\n  {failure}\n  again: cargo xtask soak --first-seed {number} --seeds 1 --faults {wanted}\n  \
             log: target/xtask/soak/seed-{number}.log"
        )
    }
}

/// What came of all seeds so far.
#[derive(Debug, Default)]
pub(super) struct Summary {
    seeds: u64,
    failed: Vec<u64>,
    total: Report,
}

impl Summary {
    pub(super) fn add(&mut self, seed: Seed) {
        self.seeds += 1;
        if seed.failure.is_some() {
            self.failed.push(seed.number);
        }
        let (total, one) = (&mut self.total, seed.report);
        total.faults += one.faults;
        total.lost += one.lost;
        total.doubled += one.doubled;
        total.wedged += one.wedged;
        total.leaked += one.leaked;
        for (kind, times) in one.recoveries {
            total.recoveries.entry(kind).or_default().extend(times);
        }
        for (name, value) in one.figures {
            *total.figures.entry(name).or_default() += value;
        }
    }

    /// Gives a table of the kinds of faults and what else was counted, as Markdown.
    pub(super) fn table(&self) -> String {
        let mut table = String::from("| Fault | Times | Median | Worst |\n| --- | --: | --: | --: |\n");
        for (kind, times) in &self.total.recoveries {
            let mut times = times.clone();
            times.sort_unstable();
            let (count, median) = (times.len(), times.get(times.len() / 2).copied().unwrap_or(0));
            let worst = times.last().copied().unwrap_or(0);
            // Writing to a string does not fail.
            let _infallible = writeln!(table, "| {kind} | {count} | {median} ms | {worst} ms |");
        }
        let figures = self
            .total
            .figures
            .iter()
            .map(|(name, value)| format!("{name} {value}"));
        let figures: Vec<String> = figures.collect();
        table + "\n" + &figures.join(", ") + &format!(", leaked {}", self.total.leaked)
    }

    pub(super) fn is_ok(&self, seeds: u64, faults: u32) -> bool {
        let total = &self.total;
        let bad = total.lost + total.doubled + total.wedged + total.leaked;
        let all = self.seeds == seeds && total.faults == seeds * u64::from(faults);
        all && self.failed.is_empty() && bad == 0
    }

    /// Gives the last line.
    pub(super) fn verdict(&self, seeds: u64, faults: u32) -> String {
        let total = &self.total;
        let counts = format!(
            "faults={} lost={} doubled={} wedged={}",
            total.faults, total.lost, total.doubled, total.wedged
        );
        if self.is_ok(seeds, faults) {
            return format!("soak: ok {counts}");
        }
        let mut failed = self.failed.clone();
        failed.sort_unstable();
        let leaked = total.leaked;
        let first = failed.first().map_or(String::new(), |seed| {
            format!("; again: cargo xtask soak --first-seed {seed} --seeds 1 --faults {faults}")
        });
        format!("soak: FAILED {counts} leaked={leaked} seeds={failed:?}{first}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed(number: u64, is_success: bool, lost: u64) -> Seed {
        let said = format!(
            "running 1 test\nsoak-report {{\"faults\":2,\"lost\":{lost},\"doubled\":0,\"wedged\":0,\"leaked\":0,\
             \"recoveries\":{{\"cut\":[30,10]}},\"figures\":{{\"turns\":7}},\"problems\":[]}}\nthe end"
        );
        Seed::read((number, 2), Duration::from_secs(1), is_success, &said)
    }

    #[test]
    fn a_run_in_which_everything_held_says_so_in_its_last_line() {
        let mut summary = Summary::default();
        summary.add(seed(1, true, 0));
        assert!(!summary.is_ok(2, 2), "a seed is missing");
        summary.add(seed(2, true, 0));
        assert!(summary.is_ok(2, 2));
        assert_eq!(
            summary.verdict(2, 2),
            "soak: ok faults=4 lost=0 doubled=0 wedged=0"
        );
        assert_eq!(
            summary.table(),
            "| Fault | Times | Median | Worst |\n| --- | --: | --: | --: |\n| cut | 4 | 30 ms | 30 ms |\n\nturns 14, leaked 0"
        );
    }

    #[test]
    fn a_run_in_which_something_did_not_hold_names_the_seed_and_how_to_repeat_it() {
        let mut summary = Summary::default();
        summary.add(seed(7, true, 0));
        summary.add(seed(8, false, 1));
        assert!(!summary.is_ok(2, 2));
        assert_eq!(
            summary.verdict(2, 2),
            "soak: FAILED faults=4 lost=1 doubled=0 wedged=0 leaked=0 seeds=[8]; \
             again: cargo xtask soak --first-seed 8 --seeds 1 --faults 2"
        );
        let shown = seed(8, false, 1).to_string();
        assert!(shown.contains("FAILED") && shown.contains("the end"), "{shown}");
    }

    #[test]
    fn a_seed_without_a_report_failed() {
        let silent = Seed::read((3, 50), Duration::ZERO, true, "running 0 tests");
        assert!(silent.to_string().starts_with("seed 3: 0 faults, 0.0 s, FAILED"));
        let short = Seed::read((3, 50), Duration::ZERO, true, "soak-report {}");
        assert!(short.failure.is_some());
    }
}
