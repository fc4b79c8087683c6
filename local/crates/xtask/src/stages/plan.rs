//! Says which stages there are, in their order, and which command each of them is.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use clap::ValueEnum;

use crate::{dist, system};

/// A part of a whole run, in the order of running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stage {
    Setup,
    Fmt,
    Tidy,
    Deny,
    Clippy,
    Doc,
    Dist,
    Nextest,
    Doctest,
    Docgen,
}

impl Stage {
    /// The name by which `--only` and `--skip` know the stage.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Fmt => "fmt",
            Self::Tidy => "tidy",
            Self::Deny => "deny",
            Self::Clippy => "clippy",
            Self::Doc => "doc",
            Self::Dist => "dist",
            Self::Nextest => "nextest",
            Self::Doctest => "doctest",
            Self::Docgen => "docgen",
        }
    }

    /// What the stage finds out.
    pub(crate) fn purpose(self) -> &'static str {
        match self {
            Self::Setup => "the programs that tests need are there, or are being installed",
            Self::Fmt => "the source is formatted",
            Self::Tidy => "ranks, sizes and pages follow the rules of the repository",
            Self::Deny => "dependencies, their licences and sources are allowed",
            Self::Clippy => "no lint has anything to say",
            Self::Doc => "the documentation builds, and its links lead somewhere",
            Self::Dist => "the static binary builds; end-to-end tests upload it",
            Self::Nextest => "unit, integration and end-to-end tests pass",
            Self::Doctest => "examples in the documentation work",
            Self::Docgen => "generated pages are up to date",
        }
    }

    /// How long the stage may take at most: about three times what it takes cold on two idle cores.
    pub(crate) fn deadline(self) -> Duration {
        let minutes = match self {
            Self::Fmt | Self::Deny | Self::Docgen => 5,
            Self::Tidy | Self::Doc | Self::Doctest => 15,
            Self::Clippy | Self::Setup => 25,
            Self::Dist => 35,
            Self::Nextest => 50,
        };
        Duration::from_secs(minutes * 60)
    }
}

pub(super) fn fmt(root: &Path) -> Command {
    call(root, &["fmt", "--all", "--check"])
}

pub(super) fn tidy(root: &Path) -> Command {
    let mut command = locked(call(root, &["test", "-p", "xtask"]));
    // A violated rule is a list to read; where in this program it was found is of no interest.
    command.env("RUST_BACKTRACE", "0");
    command
}

pub(super) fn clippy(root: &Path) -> Command {
    let mut command = locked(call(
        root,
        &["clippy", "--workspace", "--all-targets", "--all-features"],
    ));
    command.args(["--", "-D", "warnings"]);
    command
}

/// Private items are included: most of what a newcomer reads is private, and its links rot just as well.
pub(super) fn doc(root: &Path) -> Command {
    let arguments = [
        "doc",
        "--workspace",
        "--no-deps",
        "--all-features",
        "--document-private-items",
    ];
    let mut command = locked(call(root, &arguments));
    command.env("RUSTDOCFLAGS", "-D warnings");
    command
}

/// Everything but this package, whose tests are the stage `tidy`.
pub(super) fn nextest(root: &Path) -> Command {
    let mut command = locked(call(
        root,
        &[
            "nextest",
            "run",
            "--workspace",
            "--exclude",
            "xtask",
            "--all-features",
        ],
    ));
    if system::is_ci() {
        command.args(["--profile", "ci"]);
    }
    let artifact = dist::artifact(root);
    if artifact.is_file() {
        command.env("REASONIX_TEST_BINARY", artifact);
    }
    command
}

/// The same packages as nextest, so that their dependencies have the same features and are not built again.
pub(super) fn doctest(root: &Path) -> Command {
    locked(call(
        root,
        &[
            "test",
            "--doc",
            "--workspace",
            "--exclude",
            "xtask",
            "--all-features",
        ],
    ))
}

fn call(root: &Path, arguments: &[&str]) -> Command {
    let mut command = system::cargo(root);
    command.args(arguments);
    command
}

/// In CI the lock file is final; elsewhere somebody may be adding a dependency.
fn locked(mut command: Command) -> Command {
    if system::is_ci() {
        command.arg("--locked");
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_knows_each_stage_by_its_name() {
        for stage in Stage::value_variants() {
            assert_eq!(Stage::from_str(stage.name(), false), Ok(*stage));
        }
    }
}
