//! The bench of `serve`, which prints its own figures.

use std::{path::Path, time::Duration};

use super::{Task, figure::Figure};
use crate::{
    dist,
    job::{Echo, Job, JobOptions},
    metadata::Metadata,
    system,
};

/// Builds with the flags of the static program, whose results are there already, and runs the bench.
pub(super) fn run(root: &Path, task: &mut Task) -> anyhow::Result<()> {
    let options = JobOptions {
        log: Metadata::load(root)?.target_directory.join("xtask/bench.log"),
        echo: Echo::Silent,
        deadline: system::now() + Duration::from_secs(60 * 60),
        interrupt: task.interrupt.clone(),
    };
    let mut command = system::cargo(root);
    command
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", dist::FLAGS)
        .args(["bench", "--locked", "--target", dist::TARGET, "-p", "serve"])
        .args(["--bench", "approval"]);
    let output = Job::start(command, options)?.finish()?;
    let mut lines = output.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(mut figure) = Figure::parse(line) {
            if let Some(note) = lines.peek().filter(|next| next.starts_with("  ")) {
                note.trim().clone_into(&mut figure.note);
            }
            task.report.add(figure);
        }
    }
    Ok(())
}
