//! `reasonix remote`: hosts.

mod add;
pub(super) mod connect;
mod doctor;
mod forward;
mod fs;
mod guide;
mod import;
mod key;
mod list;
mod logs;
mod look;
mod machine;
mod offers;
mod remove;
mod shell;
mod show;
mod status;
mod stop;
mod test;
mod trust;
mod uninstall;
mod upgrade;

use crate::{
    args::{LinkCommand, RemoteCommand},
    exit::Exit,
    invocation::Invocation,
    report::Failure,
};

/// Picks the command.
pub(crate) fn run(invocation: &Invocation, command: RemoteCommand) -> Result<Exit, Failure> {
    match command {
        RemoteCommand::Add(args) => add::run(invocation, args),
        RemoteCommand::List(args) => list::run(invocation, &args),
        RemoteCommand::Show(args) => super::in_runtime(show::run(invocation, args)),
        RemoteCommand::Test(args) => super::in_runtime(test::run(invocation, args)),
        RemoteCommand::Doctor(args) => super::in_runtime(doctor::run(invocation, args)),
        RemoteCommand::Trust(args) => super::in_runtime(trust::run(invocation, args)),
        RemoteCommand::Link(LinkCommand::Connect(args)) => super::in_runtime(connect::run(invocation, args)),
        RemoteCommand::Link(LinkCommand::Forward(command)) => {
            super::in_runtime(forward::run(invocation, command))
        }
        RemoteCommand::Link(LinkCommand::Fs(command)) => super::in_runtime(fs::run(invocation, command)),
        RemoteCommand::Link(LinkCommand::Shell(args)) => super::in_runtime(shell::run(invocation, args)),
        RemoteCommand::Status(args) => super::in_runtime(status::run(invocation, args)),
        RemoteCommand::Logs(args) => super::in_runtime(logs::run(invocation, args)),
        RemoteCommand::Remove(args) => remove::run(invocation, &args),
        RemoteCommand::Key(args) => super::in_runtime(key::run(invocation, args)),
        RemoteCommand::Import(args) => super::in_runtime(import::run(invocation, args)),
        RemoteCommand::Upgrade(args) => super::in_runtime(upgrade::run(invocation, args)),
        RemoteCommand::Uninstall(args) => super::in_runtime(uninstall::run(invocation, args)),
        RemoteCommand::Stop(args) => super::in_runtime(stop::run(invocation, args)),
    }
}
