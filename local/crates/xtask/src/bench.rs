//! Measures, on demand and never in a test: machines are noisy, so figures are medians beside a goal.

use std::{path::Path, time::Duration};

use clap::ValueEnum;

use crate::{
    dist,
    job::{Echo, Interrupt, Job, JobOptions},
    metadata::Metadata,
    system,
};

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// An approval while 64 event streams of a flooding session are held still.
    Approval,
}

/// Builds with the flags of the static program, whose results are there already, and runs the bench.
pub(crate) fn run(root: &Path, what: What, interrupt: Interrupt) -> anyhow::Result<()> {
    let (package, bench) = match what {
        What::Approval => ("serve", "approval"),
    };
    let options = JobOptions {
        log: Metadata::load(root)?.target_directory.join("xtask/bench.log"),
        echo: Echo::Live,
        deadline: system::now() + Duration::from_secs(60 * 60),
        interrupt,
    };
    let mut command = system::cargo(root);
    command
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", dist::FLAGS)
        .args([
            "bench",
            "--locked",
            "--target",
            dist::TARGET,
            "-p",
            package,
            "--bench",
            bench,
        ]);
    Job::start(command, options)?.finish()?;
    Ok(())
}
