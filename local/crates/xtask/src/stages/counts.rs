//! Reads from the output of test runners how many tests passed, failed and were skipped.

use std::ops::Add;

/// How many tests ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: u64,
    /// Failed, timed out or could not be started.
    pub(super) failed: u64,
    /// Ignored, or left out by a filter.
    pub(super) skipped: u64,
}

impl Counts {
    /// Reads the last summary line of nextest: `Summary [ 1.2s] 5 tests run: 3 passed (1 slow), 2 failed, 1 skipped`.
    pub(super) fn of_nextest(output: &str) -> Option<Self> {
        let plain = without_colour(output);
        let (_, ends) = plain
            .lines()
            .filter(|line| line.trim_start().starts_with("Summary"))
            .filter_map(split_run)
            .next_back()?;
        let mut counts = Self::default();
        for part in without_brackets(ends).split(',') {
            let (number, end) = part.trim().split_once(' ')?;
            let number: u64 = number.parse().ok()?;
            match end.trim() {
                "passed" => counts.passed += number,
                "skipped" => counts.skipped += number,
                _ => counts.failed += number,
            }
        }
        Some(counts)
    }

    /// Adds up the result lines of libtest, one per binary: `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
    pub(super) fn of_libtest(output: &str) -> Option<Self> {
        let plain = without_colour(output);
        let results = plain
            .lines()
            .filter_map(|line| line.strip_prefix("test result: "));
        results
            .map(|line| {
                let number_of = |what: &str| {
                    let (before, _) = line.split_once(what)?;
                    before.split_whitespace().next_back()?.parse::<u64>().ok()
                };
                Some(Self {
                    passed: number_of(" passed;")?,
                    failed: number_of(" failed;")?,
                    skipped: number_of(" ignored;")? + number_of(" filtered out;")?,
                })
            })
            .reduce(|a, b| Some(a? + b?))?
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

/// Splits before and after `tests run:`, which reads `test run:` when there was one.
fn split_run(line: &str) -> Option<(&str, &str)> {
    line.split_once(" tests run: ")
        .or_else(|| line.split_once(" test run: "))
}

fn without_brackets(text: &str) -> String {
    let mut depth = 0_u32;
    let mut kept = String::new();
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(c),
            _ => {}
        }
    }
    kept
}

/// Removes escape sequences of the form `ESC [ … letter`.
fn without_colour(text: &str) -> String {
    let mut pieces = text.split('\u{1b}');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain.push_str(
            piece
                .split_once(|c: char| c.is_ascii_alphabetic())
                .map_or("", |(_, rest)| rest),
        );
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(passed: u64, failed: u64, skipped: u64) -> Option<Counts> {
        Some(Counts {
            passed,
            failed,
            skipped,
        })
    }

    #[test]
    fn nextest_summaries() {
        let check = |line: &str, expected| assert_eq!(Counts::of_nextest(line), expected, "{line}");
        check(
            "     Summary [   0.012s] 3 tests run: 3 passed, 0 skipped",
            counts(3, 0, 0),
        );
        check(
            "     Summary [   0.012s] 1 test run: 1 passed, 2 skipped",
            counts(1, 0, 2),
        );
        check(
            "     Summary [  61.0s] 12/40 tests run: 8 passed (1 slow, 2 leaky), 2 failed, 1 exec failed, 1 timed out, 28 skipped",
            counts(8, 4, 28),
        );
        check(
            "     Summary [  0.1s] 1 test run: 1 passed, 0 skipped\n  Summary [ 1s] 2 tests run: 2 passed, 0 skipped",
            counts(2, 0, 0),
        );
        check(
            "\u{1b}[32;1m     Summary\u{1b}[0m [ 0.1s] \u{1b}[1m4\u{1b}[0m tests run: \u{1b}[1m4\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m, \u{1b}[1m0\u{1b}[0m \u{1b}[33;1mskipped\u{1b}[0m",
            counts(4, 0, 0),
        );
        check("error: could not compile", None);
    }

    #[test]
    fn libtest_results_add_up() {
        let output = "test a ... ok\n\
            test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
            test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 5 filtered out; finished in 0.00s\n";
        assert_eq!(Counts::of_libtest(output), counts(4, 2, 6));
        assert_eq!(Counts::of_libtest("error: no such command"), None);
        assert_eq!(Counts::of_libtest("test result: what is this"), None);
    }
}
