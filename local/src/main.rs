//! `reasonix`: a coding agent that runs where the code is. This package is the one program; everything it does is
//! in the crates it puts together (`docs/ARCHITECTURE.md`).

mod args;
mod ask;
mod commands;
mod connect;
mod exit;
mod headless;
mod host;
mod invocation;
mod logging;
mod progress;
mod report;
mod terminal;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return report::usage(&error),
    };
    commands::run(cli)
}
