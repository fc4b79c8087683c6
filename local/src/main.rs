//! `reasonix`: a coding agent that runs where the code is. This package is the one program; everything it does is
//! in the crates it puts together (`docs/ARCHITECTURE.md`).

mod args;
mod ask;
mod broker;
mod commands;
mod connect;
mod control;
mod dial;
mod exit;
mod forwards;
mod headless;
mod host;
mod invocation;
mod key_agent;
mod logging;
mod progress;
mod report;
mod screen;
mod setup;
mod shell;
mod stored_secrets;
mod terminal;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let cli = match args::Cli::read(&arguments) {
        Ok(cli) => cli,
        Err(error) => return report::usage(&error, &arguments),
    };
    commands::run(cli)
}
