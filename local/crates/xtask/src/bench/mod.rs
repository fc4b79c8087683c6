//! Measures, on demand and never in a test: machines are noisy, so figures are medians beside a goal.
//!
//! Each prints `figure NAME VALUE UNIT goal OP LIMIT ok|short` and, indented below it, how the value came about.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | measure the link beside OpenSSH | `link.rs`, on the ground of `host.rs` |
//! | measure what goes through the link beside OpenSSH | `ssh.rs` and what is below it, on the same ground |
//! | measure what stays resident | `memory.rs` |
//! | measure how fast a local run starts | `start.rs` |
//! | change the network between client and server | the crate `faultnet` |

mod approval;
mod figure;
mod host;
mod link;
mod memory;
mod model;
mod process;
mod ssh;
mod start;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::{dist, job::Interrupt};
use figure::Figure;

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// An approval while 64 event streams of a flooding session are held still.
    Approval,
    /// The link beside OpenSSH on the same sshd, at 0 ms and at 50 ms round trip; takes root and `dist/`.
    Link,
    /// What goes through the link beside OpenSSH's forwards and `sftp`, on the same sshd; takes root and `dist/`.
    Ssh,
    /// From the start of a local run to its first model request; takes `dist/`.
    Start,
}

/// What to measure, and how to print it.
#[derive(Debug, Clone, Args)]
pub(crate) struct BenchArgs {
    /// What to measure.
    what: What,
    /// Print one JSON array instead of lines.
    #[arg(long)]
    json: bool,
    /// Measure only this part: of `link` warm, cold, reconnect, memory or size; of `ssh` as its lines are called, without
    /// the round trip.
    #[arg(long, value_name = "PART")]
    only: Option<String>,
    /// How many pairs `ssh` measures.
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// The only round trip at which `ssh` measures pairs, in milliseconds.
    #[arg(long, value_name = "MS")]
    rtt: Option<u32>,
    /// What `ssh` lets ours add to `remote connect`, to compare ways.
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    with: Vec<String>,
    /// How often each pair is measured.
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Measure this program instead of the one in `dist/`.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// What every measurement needs.
struct Task {
    program: PathBuf,
    runs: u32,
    interrupt: Interrupt,
    report: Report,
}

/// Where figures go.
pub(crate) struct Report {
    json: bool,
    figures: Vec<Figure>,
}

impl Report {
    /// Takes a figure, and shows it at once unless all are printed together.
    fn add(&mut self, figure: Figure) {
        if !self.json {
            println!("{figure}");
        }
        self.figures.push(figure);
    }
}

/// Finds the part of a measurement that is meant.
fn part<P: ValueEnum>(name: Option<&str>) -> anyhow::Result<Option<P>> {
    let Some(name) = name else { return Ok(None) };
    match P::from_str(name, false) {
        Ok(part) => Ok(Some(part)),
        Err(_) => {
            let known = P::value_variants().iter().filter_map(P::to_possible_value);
            let known: Vec<String> = known.map(|value| value.get_name().to_owned()).collect();
            anyhow::bail!(
                "{name} is no part of this measurement, which has {}",
                known.join(", ")
            )
        }
    }
}

/// Measures. `false` means that a goal was missed.
pub(crate) fn run(root: &Path, args: BenchArgs, interrupt: Interrupt) -> anyhow::Result<bool> {
    let report = Report {
        json: args.json,
        figures: Vec::new(),
    };
    let mut task = Task {
        program: args.program.unwrap_or_else(|| dist::artifact(root)),
        runs: args.runs,
        interrupt,
        report,
    };
    match args.what {
        What::Approval => approval::run(root, &mut task)?,
        What::Link => link::run(&mut task, part(args.only.as_deref())?)?,
        What::Ssh => {
            let wanted = ssh::Wanted {
                only: part(args.only.as_deref())?,
                pairs: args.pairs,
                round_trip: args.rtt,
                with: args.with,
            };
            ssh::run(&mut task, &wanted)?;
        }
        What::Start => start::run(&mut task)?,
    }
    let figures = task.report.figures;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&figures)?);
    }
    Ok(figures.iter().all(|figure| figure.ok))
}
