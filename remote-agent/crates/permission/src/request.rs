//! What is asked of the policy.

use crate::mode::{Effect, Family};

/// One tool call, as far as a rule can see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    /// The tool's name, such as `edit_file`.
    pub tool: &'a str,
    /// The group of tools it belongs to; [`Family::of`] knows the built-in ones.
    pub family: Family,
    /// What it would do.
    pub effect: Effect,
    /// What it would do it to. Every subject must pass: `move_file` has two paths.
    pub subjects: Vec<Subject>,
}

/// The thing a call acts on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A file or directory.
    Path {
        /// The path as the model wrote it.
        raw: String,
        /// The path made absolute and [cleaned](crate::path::clean).
        cleaned: String,
        /// The path with symbolic links followed as far as it exists.
        resolved: String,
    },
    /// A command line.
    Command {
        /// The text given to the shell.
        text: String,
        /// The shell's working directory, absolute.
        directory: String,
    },
    /// Anything else: a search pattern, an address, a server name.
    Text(String),
}
