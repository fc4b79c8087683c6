//! What came of a seed.

use std::{collections::BTreeMap, io::Write as _, time::Duration};

use serde_json::json;

use super::blow::Kind;

/// What came of a seed.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) seed: u64,
    pub(super) faults: usize,
    /// How long it took after each fault until all was well again, in milliseconds.
    recoveries: BTreeMap<&'static str, Vec<u64>>,
    pub(super) lost: u64,
    pub(super) doubled: u64,
    pub(super) wedged: usize,
    pub(super) leaked: usize,
    /// Everything that must not be, in words.
    pub(super) problems: Vec<String>,
    /// Turns, approvals, events and so on.
    pub(super) figures: BTreeMap<&'static str, u64>,
}

impl Report {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    pub(super) fn recovered(&mut self, kind: Kind, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap();
        self.recoveries.entry(kind.name()).or_default().push(millis);
    }

    pub(super) fn figure(&mut self, name: &'static str, value: impl TryInto<u64>) {
        self.figures.insert(name, value.try_into().unwrap_or(u64::MAX));
    }

    /// Prints it as one line that `cargo xtask soak` reads, and fails if anything was not as it has to be.
    pub(super) fn finish(self) {
        let Self {
            seed,
            faults,
            lost,
            doubled,
            wedged,
            leaked,
            ..
        } = self;
        let line = json!({
            "seed": seed,
            "faults": faults,
            "lost": lost,
            "doubled": doubled,
            "wedged": wedged,
            "leaked": leaked,
            "problems": self.problems,
            "recoveries": self.recoveries,
            "figures": self.figures,
        });
        let line = format!("\nsoak-report {line}\n");
        std::io::stdout().write_all(line.as_bytes()).unwrap();
        assert!(
            self.problems.is_empty() && lost + doubled == 0 && wedged + leaked == 0,
            "seed {seed}: lost={lost} doubled={doubled} wedged={wedged} leaked={leaked}\n{}\n\
             again: cargo xtask soak --first-seed {seed} --seeds 1 --faults {faults}",
            self.problems.join("\n")
        );
    }
}
