//! `reasonix remote`: hosts.

mod add;
pub(super) mod connect;
mod guide;
mod key;
mod list;
mod logs;
mod remove;
mod show;
mod status;
mod stop;
mod test;

use crate::{args::RemoteCommand, exit::Exit, invocation::Invocation, report::Failure};

/// Picks the command.
pub(crate) fn run(invocation: &Invocation, command: RemoteCommand) -> Result<Exit, Failure> {
    match command {
        RemoteCommand::Add(args) => add::run(invocation, args),
        RemoteCommand::List(args) => list::run(invocation, &args),
        RemoteCommand::Show(args) => super::in_runtime(show::run(invocation, args)),
        RemoteCommand::Test(args) => super::in_runtime(test::run(invocation, args)),
        RemoteCommand::Connect(args) => super::in_runtime(connect::run(invocation, args)),
        RemoteCommand::Status(args) => super::in_runtime(status::run(invocation, args)),
        RemoteCommand::Logs(args) => super::in_runtime(logs::run(invocation, args)),
        RemoteCommand::Remove(args) => remove::run(invocation, &args),
        RemoteCommand::Key(args) => super::in_runtime(key::run(invocation, args)),
        RemoteCommand::Stop(args) => super::in_runtime(stop::run(invocation, args)),
    }
}
