//! Plays many seeds of the soak, several at a time, and sums up what came of them.
//!
//! What a seed is stands in `local/tests/e2e/soak.rs`, whose test plays one in a process of its own: what it
//! leaves open is counted for each, and one that hangs is ended without the others.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | change what is summed up, or how it is printed | `summary.rs` |

mod summary;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;

use crate::job::{Echo, Interrupt, Job, JobOptions};
use crate::system;
use summary::{Seed, Summary};

/// The test that plays one seed.
const TEST: &str = "soak::seeds_of_fifty_faults_lose_nothing_and_double_nothing";
/// Names the program for the tests, as for every end-to-end test.
const PROGRAM: &str = "REASONIX_TEST_BINARY";
/// Building the tests takes no longer.
const BUILD: Duration = Duration::from_secs(40 * 60);
/// A fault takes a second or so; one that wedges is given up after a minute, by the test itself.
const A_FAULT: Duration = Duration::from_secs(8);
/// What a seed needs beside its faults.
const A_SEED: Duration = Duration::from_secs(300);

/// How much goes wrong.
#[derive(Debug, Clone, Args)]
pub(crate) struct SoakArgs {
    /// How many seeds are played.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// How many faults each of them has.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    faults: u32,
    /// The first seed; the others follow it.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    first_seed: u64,
    /// How many are played at a time. Mostly they wait.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=64))]
    jobs: u32,
}

/// Plays all seeds and prints the summary. `false` means that something did not hold.
pub(crate) fn run(root: &Path, args: &SoakArgs, interrupt: &Interrupt) -> anyhow::Result<bool> {
    let folder = root.join("target/xtask/soak");
    let binaries = build(root, &folder, interrupt)?;
    let (next, started) = (AtomicU64::new(0), system::now());
    let summary = Mutex::new(Summary::default());
    let play_on = || {
        while !interrupt.is_raised() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= args.seeds {
                return;
            }
            let number = args.first_seed.saturating_add(index);
            let seed = play(root, &folder, &binaries, (number, args.faults), interrupt);
            println!("{seed}");
            let mut summary = summary.lock().unwrap_or_else(PoisonError::into_inner);
            summary.add(seed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..args.jobs {
            scope.spawn(play_on);
        }
    });
    anyhow::ensure!(!interrupt.is_raised(), "interrupted");
    let summary = summary.into_inner().unwrap_or_else(PoisonError::into_inner);
    let minutes = started.elapsed().as_secs_f64() / 60.0;
    println!(
        "\n{}\n{minutes:.1} minutes, {} seeds at a time\n",
        summary.table(),
        args.jobs
    );
    println!("{}", summary.verdict(args.seeds, args.faults));
    Ok(summary.is_ok(args.seeds, args.faults))
}

/// The names under which the tests and the program are kept while seeds are played.
const KEPT: [&str; 2] = ["e2e", "reasonix"];

/// Builds the tests and the program, and keeps copies of both: a long run is of one build, whatever is built meanwhile.
fn build(root: &Path, folder: &Path, interrupt: &Interrupt) -> anyhow::Result<Binaries> {
    let tests = build_tests(root, folder, interrupt)?;
    let program = match system::environment(PROGRAM) {
        Some(program) => PathBuf::from(program),
        None => tests
            .parent()
            .and_then(Path::parent)
            .context("the tests lie in no target folder")?
            .join(KEPT[1]),
    };
    let [tests, program] = [(tests, KEPT[0]), (program, KEPT[1])].map(|(from, name)| {
        let to = folder.join(name);
        // Not written over: it may run.
        drop(std::fs::remove_file(&to));
        std::fs::copy(&from, &to)
            .with_context(|| format!("could not copy {} to {}", from.display(), to.display()))
            .map(|_| to)
    });
    Ok(Binaries {
        tests: tests?,
        program: program?,
    })
}

/// What is played.
#[derive(Debug)]
struct Binaries {
    tests: PathBuf,
    program: PathBuf,
}

/// Builds the tests and the program, and gives the tests' binary.
fn build_tests(root: &Path, folder: &Path, interrupt: &Interrupt) -> anyhow::Result<PathBuf> {
    println!("building the end-to-end tests");
    let mut command = system::cargo(root);
    command.args(["test", "--package", "local", "--test", "e2e", "--no-run"]);
    // As the tests are built otherwise, so that nothing is built twice.
    command.arg("--all-features");
    command.arg("--message-format=json-render-diagnostics");
    let options = JobOptions {
        log: folder.join("build.log"),
        echo: Echo::Silent,
        deadline: system::now() + BUILD,
        interrupt: interrupt.clone(),
    };
    let said = Job::start(command, options)?
        .finish()
        .context("could not build the end-to-end tests, see target/xtask/soak/build.log")?;
    let mut binary = said.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_it = message.get("target")?.get("name")?.as_str()? == "e2e";
        is_it.then(|| message.get("executable")?.as_str().map(PathBuf::from))?
    });
    binary.next_back().context("cargo built no end-to-end tests")
}

/// Plays one seed in a process of its own.
fn play(root: &Path, folder: &Path, binaries: &Binaries, what: (u64, u32), interrupt: &Interrupt) -> Seed {
    let (number, faults) = what;
    let log = folder.join(format!("seed-{number}.log"));
    let mut command = system::command(&binaries.tests);
    command
        .args([TEST, "--exact", "--nocapture"])
        .current_dir(root.join("local"))
        .env(PROGRAM, &binaries.program)
        .env("REASONIX_SOAK_SEED", number.to_string())
        .env("REASONIX_SOAK_FAULTS", faults.to_string());
    let options = JobOptions {
        log: log.clone(),
        echo: Echo::Silent,
        deadline: system::now() + A_SEED + A_FAULT * faults,
        interrupt: interrupt.clone(),
    };
    let started = system::now();
    let ended = Job::start(command, options).and_then(Job::finish_any);
    let took = started.elapsed();
    match ended {
        Ok((status, said)) => Seed::read(what, took, status.success(), &said),
        Err(error) => {
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            Seed::read(what, took, false, &format!("{said}\n{error:#}"))
        }
    }
}
