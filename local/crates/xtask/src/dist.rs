//! Builds the static binary that a host of any Linux distribution can run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};

use crate::job::{Echo, Interrupt, Job, JobOptions};
use crate::metadata::Metadata;
use crate::{elf, system};

/// Without an explicit target, `crt-static` would reach procedural macros, which cannot be built with it.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Links the C library in as well.
pub(crate) const FLAGS: &str = "-C target-feature=+crt-static";

/// The name of the artifact; `docs/REMOTE.md` says who looks for it.
const ARTIFACT: &str = "reasonix-x86_64-linux";

/// A cold build on two loaded cores took 19 minutes.
const DEADLINE: Duration = Duration::from_secs(60 * 60);

/// Returns where the artifact of this repository stands once it is built.
pub(crate) fn artifact(root: &Path) -> PathBuf {
    root.join("dist").join(ARTIFACT)
}

/// Builds, checks and copies the artifact, with no other limit than [`DEADLINE`].
pub(crate) fn run(root: &Path, interrupt: Interrupt) -> anyhow::Result<PathBuf> {
    let target = Metadata::load(root)?.target_directory;
    let options = JobOptions {
        log: target.join("xtask/dist.log"),
        echo: Echo::Live,
        deadline: system::now() + DEADLINE,
        interrupt,
    };
    build(root, &target, options)
}

/// Builds, checks and copies the artifact.
pub(crate) fn build(root: &Path, target: &Path, options: JobOptions) -> anyhow::Result<PathBuf> {
    let mut command = system::cargo(root);
    command
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", FLAGS)
        .args([
            "build",
            "--release",
            "--locked",
            "--target",
            TARGET,
            "-p",
            "local",
            "--bin",
            "reasonix",
        ]);
    Job::start(command, options)?.finish()?;

    let built = target.join(TARGET).join("release/reasonix");
    let bytes = std::fs::read(&built).with_context(|| format!("could not read {}", built.display()))?;
    elf::ensure_static(&bytes).with_context(|| format!("{} is not a static program", built.display()))?;
    let artifact = publish(root, &built)?;
    let sum = system::hex(&Sha256::digest(&bytes));
    std::fs::write(root.join("dist/SHA256SUMS"), format!("{sum}  {ARTIFACT}\n"))
        .context("could not write dist/SHA256SUMS")?;

    let mut version = system::command(&artifact);
    version.arg("--version");
    let version = system::capture(version)?;
    println!(
        "dist/{ARTIFACT}: {}, {:.1} MB, static",
        version.trim(),
        bytes.len() as f64 / 1e6
    );
    Ok(artifact)
}

/// Puts the binary under its final name in one step: a running test may hold the old one.
fn publish(root: &Path, built: &Path) -> anyhow::Result<PathBuf> {
    let artifact = artifact(root);
    let fresh = artifact.with_extension("new");
    std::fs::create_dir_all(root.join("dist")).context("could not create dist")?;
    std::fs::copy(built, &fresh).with_context(|| format!("could not write {}", fresh.display()))?;
    std::fs::rename(&fresh, &artifact).with_context(|| format!("could not write {}", artifact.display()))?;
    Ok(artifact)
}
