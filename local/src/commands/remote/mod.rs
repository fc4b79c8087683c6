//! `reasonix remote`: hosts.

mod add;
mod key;
mod list;
mod remove;
mod stop;

use crate::{args::RemoteCommand, exit::Exit, invocation::Invocation, report::Failure};

/// Picks the command.
pub(crate) fn run(invocation: &Invocation, command: RemoteCommand) -> Result<Exit, Failure> {
    match command {
        RemoteCommand::Add(args) => add::run(invocation, args),
        RemoteCommand::List(args) => list::run(invocation, &args),
        RemoteCommand::Remove(args) => remove::run(invocation, &args),
        RemoteCommand::Key(args) => super::in_runtime(key::run(invocation, args)),
        RemoteCommand::Stop(args) => super::in_runtime(stop::run(invocation, args)),
    }
}
