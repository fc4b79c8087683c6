//! Runs all checks and tests in stages: what CI runs, and what a person runs before a push.
//!
//! Order: cheap stages first, so that a slip shows within a minute. Missing programs are installed in the background
//! from the first stage on and awaited by the first stage that needs them. clippy and doc share the metadata of
//! third-party crates; clippy, nextest and the doctests name the same features, so that nothing is built twice.

mod counts;
mod plan;
mod setup;
mod summary;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::{Args, ValueEnum as _};

use self::counts::Counts;
pub(crate) use self::plan::Stage;
use self::setup::Installation;
use self::summary::{Row, Verdict};
use crate::job::{Echo, Interrupt, Job, JobOptions};
use crate::metadata::Metadata;
use crate::{deny, dist, docgen, system};

/// How long a whole run may take, cold, on two cores.
const BUDGET: Duration = Duration::from_secs(75 * 60);

/// Which stages to run.
#[derive(Args)]
pub(crate) struct TestArgs {
    /// Run only these stages.
    #[arg(long, value_name = "STAGE")]
    only: Vec<Stage>,
    /// Leave these stages out.
    #[arg(long, value_name = "STAGE")]
    skip: Vec<Stage>,
    /// Run the remaining stages after one has failed.
    #[arg(long)]
    keep_going: bool,
    /// Name the stages and end.
    #[arg(long)]
    list: bool,
}

impl TestArgs {
    fn chosen(&self) -> impl Iterator<Item = Stage> {
        let wanted =
            |stage: &Stage| (self.only.is_empty() || self.only.contains(stage)) && !self.skip.contains(stage);
        Stage::value_variants().iter().copied().filter(wanted)
    }
}

/// Runs the chosen stages and prints a summary; `false` when a stage failed.
pub(crate) fn run(root: &Path, args: &TestArgs, interrupt: Interrupt) -> anyhow::Result<bool> {
    if args.list {
        for stage in Stage::value_variants() {
            println!("{:8} {}", stage.name(), stage.purpose());
        }
        return Ok(true);
    }
    let mut run = Run::new(root, interrupt)?;
    let mut rows = Vec::new();
    for stage in args.chosen() {
        println!("--- {}", stage.name());
        let row = run.stage(stage);
        println!(
            "--- {}: {} in {:.1} s",
            stage.name(),
            row.verdict,
            row.time.as_secs_f64()
        );
        let stop = run.interrupt.is_raised() || (row.verdict != Verdict::Ok && !args.keep_going);
        rows.push(row);
        if stop {
            break;
        }
    }
    run.settle();
    print!("{}", summary::render(&rows, run.counts));
    Ok(rows.iter().all(|row| row.verdict == Verdict::Ok))
}

/// What the stages of one run share.
struct Run {
    root: PathBuf,
    target: PathBuf,
    interrupt: Interrupt,
    end: Instant,
    installation: Option<Installation>,
    counts: Option<Counts>,
}

impl Run {
    fn new(root: &Path, interrupt: Interrupt) -> anyhow::Result<Self> {
        let target = Metadata::load(root)?.target_directory;
        let end = system::now() + BUDGET;
        Ok(Self {
            root: root.to_path_buf(),
            target,
            interrupt,
            end,
            installation: None,
            counts: None,
        })
    }

    /// Runs one stage, within its own deadline and that of the whole run.
    fn stage(&mut self, stage: Stage) -> Row {
        let started = system::now();
        let deadline = self.end.min(started + stage.deadline());
        let verdict = match self.perform(stage, deadline) {
            Ok(verdict) => verdict,
            Err(error) => {
                println!("{}: {error:#}", stage.name());
                Verdict::Failed
            }
        };
        Row {
            stage,
            time: system::now().saturating_duration_since(started),
            verdict,
        }
    }

    fn perform(&mut self, stage: Stage, deadline: Instant) -> anyhow::Result<Verdict> {
        match stage {
            Stage::Setup => {
                self.installation = setup::start(self.job("install", deadline))?;
                Ok(Verdict::Ok)
            }
            Stage::Fmt => self.cargo(stage, deadline, plan::fmt(&self.root)),
            Stage::Tidy => self.tests(stage, deadline, plan::tidy(&self.root), Counts::of_libtest),
            Stage::Deny => deny::run(&self.root).map(Verdict::from_bool),
            Stage::Clippy => self.cargo(stage, deadline, plan::clippy(&self.root)),
            Stage::Doc => self.cargo(stage, deadline, plan::doc(&self.root)),
            Stage::Dist => {
                dist::build(&self.root, &self.target, self.job(stage.name(), deadline)).map(|_| Verdict::Ok)
            }
            Stage::Nextest => {
                if let Some(installation) = self.installation.take() {
                    installation.finish()?;
                }
                self.tests(stage, deadline, plan::nextest(&self.root), Counts::of_nextest)
            }
            Stage::Doctest => self.tests(stage, deadline, plan::doctest(&self.root), Counts::of_libtest),
            Stage::Docgen => docgen::run(&self.root, &dist::artifact(&self.root), docgen::Mode::Check)
                .map(Verdict::from_bool),
        }
    }

    /// Waits for an installation that no stage waited for: a package manager stopped half-way leaves a mess.
    fn settle(&mut self) {
        let Some(installation) = self.installation.take() else {
            return;
        };
        if self.interrupt.is_raised() {
            return;
        }
        println!("waiting for the installation in the background");
        if let Err(error) = installation.finish() {
            println!("setup: {error:#}");
        }
    }

    fn job(&self, name: &str, deadline: Instant) -> JobOptions {
        let log = self.target.join("xtask").join(format!("{name}.log"));
        JobOptions {
            log,
            echo: Echo::Live,
            deadline,
            interrupt: self.interrupt.clone(),
        }
    }

    fn cargo(&self, stage: Stage, deadline: Instant, command: Command) -> anyhow::Result<Verdict> {
        Job::start(command, self.job(stage.name(), deadline))?
            .finish()
            .map(|_| Verdict::Ok)
    }

    /// Runs a command that runs tests, and adds up what it says about them.
    fn tests(
        &mut self,
        stage: Stage,
        deadline: Instant,
        command: Command,
        count: fn(&str) -> Option<Counts>,
    ) -> anyhow::Result<Verdict> {
        let (status, output) = Job::start(command, self.job(stage.name(), deadline))?.finish_any()?;
        let counts = count(&output);
        if let Some(counts) = counts {
            self.counts = Some(self.counts.unwrap_or_default() + counts);
        }
        anyhow::ensure!(status.success(), "cargo ended with {status}");
        let counts = counts.context("it does not say how many tests ran")?;
        anyhow::ensure!(counts.failed == 0, "{} tests failed", counts.failed);
        anyhow::ensure!(
            counts.skipped == 0 || !system::is_ci(),
            "{} tests were skipped in CI",
            counts.skipped
        );
        Ok(Verdict::Ok)
    }
}
