//! What the demo ends with.

use std::{fmt, time::Duration};

use crate::ledger::Tally;

/// One measured part of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// What it is called.
    pub name: &'static str,
    /// How long it took.
    pub took: Duration,
    /// What happened in it.
    pub what: String,
}

impl Stage {
    pub(crate) fn new(name: &'static str, took: Duration, what: impl Into<String>) -> Self {
        Self {
            name,
            took,
            what: what.into(),
        }
    }

    /// States how long the checks took.
    pub(crate) fn check(took: Duration) -> Self {
        Self::new("check", took, "the host's log, and the test over SSH")
    }
}

/// The end of a run in which everything was as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The parts in order.
    pub stages: Vec<Stage>,
    /// The events, compared with the host's log. Nothing is lost and nothing doubled, else there is no summary.
    pub events: Tally,
    /// The whole time.
    pub total: Duration,
}

/// Several lines without a line end after the last, which is for scripts: `demo: ok lost=0 doubled=0`.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for stage in &self.stages {
            writeln!(
                f,
                "  {:<12} {:5.2} s  {}",
                stage.name,
                stage.took.as_secs_f32(),
                stage.what
            )?;
        }
        writeln!(f, "  {:<12} {:5.2} s", "in all", self.total.as_secs_f32())?;
        let Tally {
            in_log,
            received,
            covered,
            repeated,
            lost,
            doubled,
        } = self.events;
        write!(f, "  events: {in_log} in the host's log, {received} received")?;
        if covered > 0 {
            write!(f, ", {covered} as part of a snapshot")?;
        }
        writeln!(
            f,
            ", {repeated} sent again and dropped, {lost} lost, {doubled} doubled"
        )?;
        write!(f, "demo: ok lost={lost} doubled={doubled}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_for_scripts() {
        let summary = Summary {
            stages: vec![Stage::new("connect", Duration::from_millis(120), "logged in")],
            events: Tally {
                in_log: 7,
                received: 7,
                ..Tally::default()
            },
            total: Duration::from_secs(3),
        };
        let text = summary.to_string();
        assert_eq!(text.lines().last(), Some("demo: ok lost=0 doubled=0"));
        assert_eq!(text.lines().next(), Some("  connect       0.12 s  logged in"));
    }
}
