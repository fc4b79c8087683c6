//! One file per command; this one only picks.

mod attach;
mod bridge;
mod config;
mod demo;
mod help_all;
mod key;
mod remote;
mod run;
mod serve;
mod sessions;

use std::process::ExitCode;

use crate::{
    args::{Cli, Command},
    exit::Exit,
    invocation::Invocation,
    logging,
    report::{self, Failure},
    terminal,
};

/// Runs what the command line says and gives the exit code of the process.
pub(crate) fn run(cli: Cli) -> ExitCode {
    let json = cli.command.prints_json();
    let outcome =
        Invocation::from_process(cli.global.verbose).and_then(|invocation| pick(cli.command, &invocation));
    match (outcome, terminal::lost()) {
        (Err(failure), _) => report::fail(&failure, json),
        (Ok(_), Some(why)) => {
            let failure = Failure::new(Exit::Failed, format!("could not write to standard output: {why}"));
            report::fail(
                &failure.hint("what was to be printed is lost; the work itself was done"),
                false,
            )
        }
        (Ok(exit), None) => exit.into(),
    }
}

fn pick(command: Command, invocation: &Invocation) -> Result<Exit, Failure> {
    // The daemon logs to its own file.
    if !matches!(&command, Command::Daemon) {
        logging::to_stderr(invocation.verbose, invocation.variable("REASONIX_LOG"));
    }
    match command {
        Command::Run(args) => in_runtime(run::run(invocation, args)),
        Command::Attach(args) => in_runtime(attach::run(invocation, args)),
        Command::Sessions(args) => in_runtime(sessions::run(invocation, args)),
        Command::Remote(command) => remote::run(invocation, command),
        Command::Demo(args) => in_runtime(demo::run(args)),
        Command::Config(command) => config::run(invocation, &command),
        Command::Serve(args) => in_runtime(serve::run(invocation, args)),
        Command::Daemon => serve::daemon(invocation),
        Command::Bridge(args) => in_runtime(bridge::run(invocation, args)),
        Command::Key(args) => key::run(invocation, &args),
        Command::HelpAll => help_all::run(),
    }
}

/// Runs a command on a fresh runtime.
fn in_runtime(command: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Failed, format!("could not start the runtime: {error}")))?;
    let outcome = runtime.block_on(command);
    // A question that nobody answered keeps a thread in a read; the process ends without it.
    runtime.shutdown_background();
    outcome
}
