//! Judges what a host said: for every answer of the preflight a verdict, its reason and what to do. Pure, but for
//! [`examine()`], which asks what only a diagnosis needs.

mod examine;
mod home;
mod programs;
mod system;

use protocol::VersionRange;

#[cfg(any(test, feature = "testing"))]
pub(crate) use examine::read;
pub use examine::{Examined, Git, Place, Trial, Try, examine};
pub use home::storage;
pub use programs::serving;

use crate::{artifact::Artifact, error::ErrorKind, plan::Install, probe::Probe};

/// One answer, judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at, in one or two words.
    pub check: &'static str,
    /// How good that is.
    pub grade: Grade,
    /// What was found.
    pub text: String,
    /// Why that matters, where it does.
    pub why: Option<String>,
    /// What to do, as a command where there is one.
    pub fix: Option<String>,
}

/// How good an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// As it should be.
    Ok,
    /// Worth knowing; everything works.
    Note,
    /// Something works less well.
    Warning,
    /// Nobody can work like that.
    Problem(Class),
}

/// What kind of problem, in the order in which they stand in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The command line or the configuration.
    Usage,
    /// The host is not reached.
    Unreachable,
    /// Host key or login.
    Login,
    /// No agent can be put there or started.
    Bootstrap,
    /// No model can be asked from there.
    Model,
}

impl Finding {
    /// States what was found.
    #[must_use]
    pub fn new(check: &'static str, grade: Grade, text: impl Into<String>) -> Self {
        Self {
            check,
            grade,
            text: text.into(),
            why: None,
            fix: None,
        }
    }

    /// Adds why it matters.
    #[must_use]
    pub fn why(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }

    /// Adds what to do.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

/// What is judged, and against what.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// How the person names the host, for commands.
    pub host: &'a str,
    /// What the host said.
    pub probe: &'a Probe,
    /// What it said to [`examine()`]; `None` where it could not be asked.
    pub examined: Option<&'a Examined>,
    /// The program for this kind of host, or why there is none.
    pub offer: Result<&'a Artifact, &'a ErrorKind>,
    /// Whether programs may be put there.
    pub install: Install,
    /// This program's version.
    pub version: &'a str,
    /// Protocol versions this program speaks.
    pub protocol: VersionRange,
}

/// Makes one line of what a host said, such as a path: a line break in it could pass for another finding. Control
/// characters are written as in source code.
#[must_use]
pub fn shown(text: &str) -> String {
    text.chars()
        .fold(String::with_capacity(text.len()), |mut line, c| {
            match c {
                c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                    line.extend(c.escape_default());
                }
                c => line.push(c),
            }
            line
        })
}

/// Judges everything.
#[must_use]
pub fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let mut found = system::judge(facts);
    found.extend(home::judge(facts));
    found.extend(programs::judge(facts));
    for finding in &mut found {
        let more = finding.why.iter_mut().chain(&mut finding.fix);
        more.chain([&mut finding.text])
            .for_each(|text| *text = shown(text));
    }
    found
}

/// Gives the class of the problem that stands in the way first; `None` when one can work.
#[must_use]
pub fn first_problem(findings: &[Finding]) -> Option<Class> {
    let problems = findings.iter().filter_map(|finding| match finding.grade {
        Grade::Problem(class) => Some(class),
        _ => None,
    });
    problems.min()
}

/// Writes a number of bytes for people.
#[must_use]
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let (mut whole, mut rest, mut unit) = (count, 0, 0);
    while whole >= 1024 && unit + 1 < UNITS.len() {
        (rest, whole, unit) = (whole % 1024, whole / 1024, unit + 1);
    }
    let word = UNITS.get(unit).copied().unwrap_or_default();
    if unit > 0 && whole < 10 {
        format!("{whole}.{} {word}", rest * 10 / 1024)
    } else {
        format!("{whole} {word}")
    }
}

#[cfg(test)]
mod tests;
