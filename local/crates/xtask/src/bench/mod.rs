//! Measures, on demand and never in a test: machines are noisy, so figures are medians beside a goal.
//!
//! Each prints `figure NAME VALUE UNIT goal OP LIMIT ok|short` and, indented below it, how the value came about.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | measure the link beside OpenSSH | `link.rs`, on the ground of `host.rs` |
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
    /// Measure only this part of the link.
    #[arg(long, value_name = "PART")]
    only: Option<link::Part>,
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
        What::Link => link::run(&mut task, args.only)?,
        What::Start => start::run(&mut task)?,
    }
    let figures = task.report.figures;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&figures)?);
    }
    Ok(figures.iter().all(|figure| figure.ok))
}
