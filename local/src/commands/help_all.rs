//! `reasonix help-all`: the help of every command, from which `docs/CLI.md` is made.

use clap::CommandFactory as _;

use crate::{args::Cli, exit::Exit, report::Failure, terminal};

/// Prints the help of the program and of every command below it.
pub(crate) fn run() -> Result<Exit, Failure> {
    let mut root = Cli::command();
    root.build();
    print(&mut root, "reasonix");
    Ok(Exit::Success)
}

fn print(command: &mut clap::Command, path: &str) {
    terminal::line(&format!("## {path}\n\n{}", command.render_long_help()));
    for inner in command.get_subcommands_mut().filter(|inner| !inner.is_hide_set()) {
        let path = format!("{path} {}", inner.get_name());
        print(inner, &path);
    }
}
