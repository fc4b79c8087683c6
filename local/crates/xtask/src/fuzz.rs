//! Runs the fuzz targets of `fuzz/` with libFuzzer, on the stable compiler, on demand and never in a test.
//!
//! The instrumentation is what cargo-fuzz asks for, without a sanitizer: the code under test is safe Rust. What a run finds
//! stays in `target/fuzz`; the small corpora beside the tests of a crate are replayed by its tests.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};

use crate::job::{Echo, Interrupt, Job, JobOptions};
use crate::system;

/// Counters at every edge, and comparisons told to the fuzzer.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
                     -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares \
                     -Ccodegen-units=1";

/// An input that takes longer is a finding, in seconds.
const SLOW: u32 = 5;

/// What can be fuzzed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum FuzzTarget {
    /// Known-hosts files, and the judgement of keys.
    KnownHosts,
    /// Client configurations, and the output of `ssh -G`.
    SshConfig,
    /// Everything a host may answer, and the plan that is made of it.
    Preflight,
}

impl FuzzTarget {
    fn name(self) -> &'static str {
        match self {
            Self::KnownHosts => "known_hosts",
            Self::SshConfig => "ssh_config",
            Self::Preflight => "preflight",
        }
    }

    /// The crate beside whose tests the corpus lies.
    fn home(self) -> &'static str {
        match self {
            Self::KnownHosts | Self::SshConfig => "transport",
            Self::Preflight => "bootstrap",
        }
    }
}

/// What to fuzz, and for how long.
#[derive(Debug, Clone, Args)]
pub(crate) struct FuzzArgs {
    /// What to fuzz; everything, one after the other, if nothing is named.
    targets: Vec<FuzzTarget>,
    /// How long each is fuzzed.
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u32,
}

/// Fuzzes. `false` means that an input was found that breaks a promise.
pub(crate) fn run(root: &Path, args: &FuzzArgs, interrupt: &Interrupt) -> anyhow::Result<bool> {
    let all = FuzzTarget::value_variants();
    let targets = if args.targets.is_empty() {
        all
    } else {
        &args.targets
    };
    let mut clean = true;
    for target in targets {
        let program = build(root, *target, interrupt)?;
        clean &= fuzz(root, *target, &program, args.seconds, interrupt)?;
    }
    Ok(clean)
}

fn folder(root: &Path) -> PathBuf {
    root.join("target/fuzz")
}

fn options(root: &Path, log: String, echo: Echo, seconds: u32, interrupt: &Interrupt) -> JobOptions {
    JobOptions {
        log: folder(root).join(log),
        echo,
        deadline: system::now() + Duration::from_secs(seconds.into()),
        interrupt: interrupt.clone(),
    }
}

/// Builds one target and returns its program. Naming the platform keeps the instrumentation out of build scripts.
fn build(root: &Path, target: FuzzTarget, interrupt: &Interrupt) -> anyhow::Result<PathBuf> {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut command = system::cargo(root);
    command
        .args(["build", "--release", "--locked", "--manifest-path"])
        .arg(root.join("local/crates/xtask/fuzz/Cargo.toml"))
        .arg("--target-dir")
        .arg(folder(root))
        .args(["--target", &platform, "--bin", target.name()])
        .env("RUSTFLAGS", FLAGS);
    let options = options(root, "build.log".to_owned(), Echo::Live, 1800, interrupt);
    Job::start(command, options)?
        .finish()
        .context("could not build the fuzz target (libFuzzer needs a C++ compiler)")?;
    Ok(folder(root).join(platform).join("release").join(target.name()))
}

fn fuzz(
    root: &Path,
    target: FuzzTarget,
    program: &Path,
    seconds: u32,
    interrupt: &Interrupt,
) -> anyhow::Result<bool> {
    let name = target.name();
    let found = folder(root).join("corpus").join(name);
    std::fs::create_dir_all(&found).with_context(|| format!("could not create {}", found.display()))?;
    let mut command = system::command(program);
    command
        .current_dir(folder(root))
        .arg(&found)
        .arg(root.join(target.home()).join("tests/corpus").join(name))
        .args(["-max_len=8192", "-rss_limit_mb=1024", "-print_final_stats=1"])
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={SLOW}"))
        .arg(format!("-artifact_prefix={name}-"));
    let options = options(
        root,
        format!("{name}.log"),
        Echo::Silent,
        seconds + 120,
        interrupt,
    );
    let log = options.log.clone();
    let (status, output) = Job::start(command, options)?.finish_any()?;
    let runs = number(&output, "stat::number_of_executed_units:");
    if status.success() {
        let new = number(&output, "stat::new_units_added:");
        println!("fuzz {name}: ok, {seconds} s, {runs} inputs, {new} of them new");
    } else {
        println!("fuzz {name}: an input broke a promise, see {}", log.display());
    }
    Ok(status.success())
}

/// Returns the word after `key` in a log.
fn number<'a>(log: &'a str, key: &str) -> &'a str {
    let line = log.lines().find_map(|line| line.strip_prefix(key));
    line.map_or("unknown", str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_a_program_and_a_corpus() {
        let root = system::repository_root();
        for target in FuzzTarget::value_variants() {
            let source = format!("local/crates/xtask/fuzz/targets/{}.rs", target.name());
            let corpus = format!("{}/tests/corpus/{}", target.home(), target.name());
            assert!(root.join(&source).is_file(), "{source}");
            assert!(root.join(&corpus).is_dir(), "{corpus}");
        }
    }

    #[test]
    fn figures_are_read_from_the_log() {
        let log = "Done\nstat::number_of_executed_units: 77\nstat::new_units_added:          3\n";
        assert_eq!(number(log, "stat::number_of_executed_units:"), "77");
        assert_eq!(number(log, "stat::other:"), "unknown");
    }
}
