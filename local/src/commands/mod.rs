//! One file per command; this one only picks.

mod attach;
mod bridge;
mod chat;
mod config;
mod demo;
mod help_all;
mod key;
mod remote;
mod run;
mod serve;
mod sessions;
mod setup;

use std::process::ExitCode;

use crate::{
    args::{Cli, Command, LinkCommand, RemoteCommand},
    exit::Exit,
    invocation::Invocation,
    logging,
    report::{self, Failure},
    screen, terminal,
};

/// Runs what the command line says and gives the exit code of the process.
pub(crate) fn run(cli: Cli) -> ExitCode {
    let json = cli.command.as_ref().is_some_and(Command::prints_json);
    let outcome = match &cli.command {
        // It has no environment, and needs nothing of it.
        Some(Command::Guard { folder }) => guard(folder),
        _ => Invocation::from_process(cli.global.verbose).and_then(|invocation| pick(cli, &invocation)),
    };
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

fn pick(cli: Cli, invocation: &Invocation) -> Result<Exit, Failure> {
    let Some(command) = cli.command else {
        return with_screen(invocation, chat::run(invocation, cli.screen));
    };
    match command {
        // The daemon logs to its own file.
        Command::Daemon(args) => return serve::daemon(invocation, &args),
        // It leaves nothing behind, not even a log.
        Command::Demo(args) if demo::opens_screen(invocation, &args) => {
            return in_runtime(demo::on_screen(invocation));
        }
        Command::Attach(args) if attach::opens_screen(invocation, &args) => {
            return with_screen(invocation, attach::on_screen(invocation, args));
        }
        Command::Remote(RemoteCommand::Link(LinkCommand::Connect(args)))
            if remote::connect::opens_screen(invocation, &args) =>
        {
            return with_screen(invocation, remote::connect::on_screen(invocation, args));
        }
        _ => {}
    }
    logging::to_stderr(invocation.verbose, invocation.variable("REASONIX_LOG"));
    plain(command, invocation)
}

/// Runs a command that opens the screen.
fn with_screen(
    invocation: &Invocation,
    command: impl Future<Output = Result<Exit, Failure>>,
) -> Result<Exit, Failure> {
    if screen::is_possible(invocation) {
        screen::log_to_file(invocation);
    } else {
        logging::to_stderr(invocation.verbose, invocation.variable("REASONIX_LOG"));
    }
    in_runtime(command)
}

/// Runs a command that only prints.
fn plain(command: Command, invocation: &Invocation) -> Result<Exit, Failure> {
    match command {
        Command::Run(args) => in_runtime(run::run(invocation, args)),
        Command::Attach(args) => in_runtime(attach::run(invocation, args)),
        Command::Sessions(args) => in_runtime(sessions::run(invocation, args)),
        Command::Remote(command) => remote::run(invocation, command),
        Command::Demo(_) => in_runtime(demo::run()),
        Command::Config(command) => config::run(invocation, &command),
        Command::Serve(args) => in_runtime(serve::run(invocation, args)),
        Command::Setup => in_runtime(setup::run(invocation)),
        Command::Daemon(args) => serve::daemon(invocation, &args),
        Command::Guard { folder } => guard(&folder),
        Command::Bridge(args) => in_runtime(bridge::run(invocation, args)),
        Command::Key(args) => key::run(invocation, &args),
        Command::HelpAll => help_all::run(),
    }
}

/// Runs a command on a fresh runtime.
pub(crate) fn in_runtime(command: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Failed, format!("could not start the runtime: {error}")))?;
    let outcome = runtime.block_on(command);
    // A question that nobody answered keeps a thread in a read; the process ends without it.
    runtime.shutdown_background();
    outcome
}

/// Becomes the guard of another process of this program.
fn guard(folder: &std::path::Path) -> Result<Exit, Failure> {
    let watched = remote_agent::guard(folder);
    watched
        .map(|()| Exit::Success)
        .map_err(|error| Failure::new(Exit::Failed, format!("could not watch: {error}")))
}
