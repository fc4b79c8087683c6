//! Checks the repository, builds release artifacts and writes generated pages: `cargo xtask --help`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a development tool talks on the terminal"
)]

mod bench;
mod deny;
mod dist;
mod docgen;
mod elf;
mod fuzz;
mod job;
mod metadata;
mod protocol_hash;
mod shots;
mod soak;
mod stages;
mod system;
#[cfg(test)]
mod tidy;
mod tree;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Repository tasks.
#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    disable_help_subcommand = true
)]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every check and test of the repository, in stages.
    Test(stages::TestArgs),
    /// Build the static binary into `dist/`, with its checksum.
    Dist,
    /// Measure something and print it as `figure NAME VALUE UNIT goal OP LIMIT ok|short`.
    Bench(bench::BenchArgs),
    /// Check banned dependencies, licences and sources against `.deny.toml`.
    Deny,
    /// Write docs/CLI.md and docs/CONFIG.md.
    Docgen {
        /// Change nothing; fail where a page differs from what would be written.
        #[arg(long)]
        check: bool,
        /// Ask this binary for its help texts instead of building one.
        #[arg(long, value_name = "FILE")]
        binary: Option<PathBuf>,
    },
    /// Let everything go wrong between a client and a host, seed by seed: `soak: ok …` is the last line.
    Soak(soak::SoakArgs),
    /// Feed odd input to the parsers of what others write, with libFuzzer.
    Fuzz(fuzz::FuzzArgs),
    /// Draw pictures of real screens into docs/pictures/.
    Shots {
        /// Change nothing; fail where a page shows a picture that is missing.
        #[arg(long)]
        check: bool,
    },
    /// Print the hash of the wire types that docs/PROTOCOL.md must carry.
    ProtocolHash {
        /// Put the hash into docs/PROTOCOL.md.
        #[arg(long)]
        write: bool,
    },
}

fn main() -> ExitCode {
    match run(Args::parse().task) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Performs `task`; `false` means that it ran and found something wrong, and has said so.
fn run(task: Task) -> anyhow::Result<bool> {
    let root = system::repository_root();
    let interrupt = job::Interrupt::install()?;
    match task {
        Task::Test(args) => stages::run(&root, &args, interrupt),
        Task::Dist => dist::run(&root, interrupt).map(|_| true),
        Task::Bench(args) => bench::run(&root, args, interrupt),
        Task::Deny => deny::run(&root),
        Task::Docgen { check, binary } => {
            let binary = match binary {
                Some(binary) => binary,
                None => docgen::build_binary(&root, interrupt)?,
            };
            let mode = if check {
                docgen::Mode::Check
            } else {
                docgen::Mode::Write
            };
            docgen::run(&root, &binary, mode)
        }
        Task::Soak(args) => soak::run(&root, &args, &interrupt),
        Task::Fuzz(args) => fuzz::run(&root, &args, &interrupt),
        Task::Shots { check: true } => shots::check(&root),
        Task::Shots { check: false } => shots::run(&root, interrupt),
        Task::ProtocolHash { write } => protocol_hash::run(&root, write).map(|()| true),
    }
}
