//! Prints what a run found: a line per stage, then the number of tests.

use std::fmt::{self, Write as _};
use std::time::Duration;

use super::counts::Counts;
use super::plan::Stage;

/// How a stage ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Ok,
    Failed,
}

impl Verdict {
    /// Reads the answer of a check that has already said what is wrong.
    pub(super) fn from_bool(fine: bool) -> Self {
        if fine { Self::Ok } else { Self::Failed }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok",
            Self::Failed => "FAILED",
        })
    }
}

/// One stage that ran.
pub(super) struct Row {
    pub(super) stage: Stage,
    pub(super) time: Duration,
    pub(super) verdict: Verdict,
}

/// Renders the table; its last line is `N passed, M failed`, where a stage that failed without a failing test counts.
pub(super) fn render(rows: &[Row], counts: Option<Counts>) -> String {
    let mut text = String::from("\nstage     seconds  result\n");
    // Writing to a string cannot fail.
    let mut line = |name: &str, time: Duration, result: &str| {
        let _infallible = writeln!(text, "{name:8} {:8.1}  {result}", time.as_secs_f64());
    };
    for row in rows {
        line(row.stage.name(), row.time, &row.verdict.to_string());
    }
    let failed_stages = rows.iter().filter(|row| row.verdict == Verdict::Failed).count() as u64;
    line(
        "total",
        rows.iter().map(|row| row.time).sum(),
        &Verdict::from_bool(failed_stages == 0).to_string(),
    );
    if let Some(counts) = counts {
        let failed = counts.failed.max(failed_stages);
        let _infallible = writeln!(
            text,
            "\n{} tests skipped\n{} passed, {failed} failed",
            counts.skipped, counts.passed
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(stage: Stage, verdict: Verdict) -> Row {
        Row {
            stage,
            time: Duration::from_millis(1500),
            verdict,
        }
    }

    #[test]
    fn the_last_line_states_the_counts() {
        let rows = [row(Stage::Fmt, Verdict::Ok), row(Stage::Nextest, Verdict::Ok)];
        let text = render(
            &rows,
            Some(Counts {
                passed: 12,
                failed: 0,
                skipped: 1,
            }),
        );
        assert_eq!(
            text,
            "\nstage     seconds  result\n\
             fmt           1.5  ok\n\
             nextest       1.5  ok\n\
             total         3.0  ok\n\
             \n1 tests skipped\n12 passed, 0 failed\n"
        );
    }

    #[test]
    fn a_failed_stage_never_ends_in_0_failed() {
        let rows = [row(Stage::Clippy, Verdict::Failed)];
        let text = render(
            &rows,
            Some(Counts {
                passed: 5,
                failed: 0,
                skipped: 0,
            }),
        );
        assert!(text.ends_with("\n5 passed, 1 failed\n"), "{text}");
    }
}
