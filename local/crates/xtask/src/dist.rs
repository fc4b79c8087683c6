//! Builds the static binary that a host of any Linux distribution can run, and says what it consists of.

mod crates;
mod parts;
mod upload;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};

use crate::job::{Echo, Interrupt, Job, JobOptions};
use crate::metadata::Metadata;
use crate::{elf, system};

/// Without an explicit target, `crt-static` would reach procedural macros, which cannot be built with it.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Links the C library in as well. A static program cannot look up `getrandom` while it runs and would read
/// `/dev/urandom` instead, which a bare root folder lacks; Linux has had the call since 3.17.
pub(crate) const FLAGS: &str = "-C target-feature=+crt-static --cfg getrandom_backend=\"linux_getrandom\"";

/// Only for the program itself, so that other builds with [`FLAGS`] share what is below it: relative relocations take
/// bits instead of 24 bytes each, and functions with the same code are kept once.
const LINK: [&str; 4] = [
    "-C",
    "link-arg=-Wl,-z,pack-relative-relocs",
    "-C",
    "link-arg=-Wl,--icf=all",
];

const MIB: f64 = 1024.0 * 1024.0;

/// The name of the artifact; `docs/REMOTE.md` says who looks for it.
const ARTIFACT: &str = "reasonix-x86_64-linux";

/// A cold build takes ten minutes of one core.
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
        .args(["rustc", "--release", "--locked", "--target", TARGET])
        .args(["-p", "local", "--bin", "reasonix", "--"])
        .args(LINK);
    Job::start(command, options)?.finish()?;

    let built = target.join(TARGET).join("release/reasonix");
    let bytes = std::fs::read(&built).with_context(|| format!("could not read {}", built.display()))?;
    elf::ensure_static(&bytes).with_context(|| format!("{} is not a static program", built.display()))?;
    print!("{}", parts::describe(&bytes)?);
    let artifact = publish(root, &built)?;
    let bytes = std::fs::read(&artifact).with_context(|| format!("could not read {}", artifact.display()))?;
    let sum = system::hex(&Sha256::digest(&bytes));
    std::fs::write(root.join("dist/SHA256SUMS"), format!("{sum}  {ARTIFACT}\n"))
        .context("could not write dist/SHA256SUMS")?;

    let mut version = system::command(&artifact);
    version.arg("--version");
    let version = system::capture(version)?;
    let version = version.lines().next().unwrap_or_default();
    println!("dist/{ARTIFACT}: {version}, static, SHA-256 {sum}");
    figure("static_binary", bytes.len(), 20.0);
    let (packer, size) = upload::packed_size(&artifact)?;
    figure("compressed_upload", size, 8.0);
    println!("  by {packer}, in pieces as it is sent");
    Ok(artifact)
}

fn figure(name: &str, bytes: usize, limit: f64) {
    let value = bytes as f64 / MIB;
    let verdict = if value <= limit { "ok" } else { "short" };
    println!("figure {name} {value:.2} MiB goal <= {limit} {verdict}");
}

/// Strips the binary and puts it under its final name in one step: a running test may hold the old one.
fn publish(root: &Path, built: &Path) -> anyhow::Result<PathBuf> {
    let artifact = artifact(root);
    let fresh = artifact.with_extension("new");
    std::fs::create_dir_all(root.join("dist")).context("could not create dist")?;
    let mut strip = system::command("strip");
    strip.arg("-o").arg(&fresh).arg(built);
    system::capture(strip).context("could not strip the program (package binutils)")?;
    std::fs::rename(&fresh, &artifact).with_context(|| format!("could not write {}", artifact.display()))?;
    Ok(artifact)
}
