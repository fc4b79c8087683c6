//! What happened to a command.

use std::time::Duration;

use crate::{Output, ProcessInfo};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The shell exited with this status. A confined command that a signal ended shows as 128 + signal.
    Exited(i32),
    /// This signal ended the shell.
    Signaled(i32),
    /// It ran longer than this and its process group was killed.
    TimedOut(Duration),
    /// It was cancelled and its process group was killed.
    Cancelled,
}

/// Processes that a command left behind when its shell exited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Background {
    /// The process group the command ran in, to be signalled as a whole.
    pub group: u32,
    /// The processes still in the group, numbered as the host numbers them. Empty when all of them moved to other
    /// groups.
    pub processes: Vec<ProcessInfo>,
    /// Whether a process still holds the command's output. What it writes is read and discarded.
    pub holds_output: bool,
}

/// The end of a command and what it printed until then.
#[must_use = "the outcome says whether the command succeeded"]
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// Standard output and standard error in the order in which they arrived.
    pub output: Output,
    /// What still runs; `None` when nothing is known to.
    pub background: Option<Background>,
    /// How long it took.
    pub elapsed: Duration,
}
