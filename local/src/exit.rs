//! Exit codes, the same for every command (`docs/CLI.md`).

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// It did what was asked.
    Success = 0,
    /// The work failed: a turn error, a denied call, a failed test.
    Failed = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// The host could not be reached or kept.
    Unreachable = 3,
    /// Login or host key.
    Authentication = 4,
    /// The program could not be put on the host or started there.
    Bootstrap = 5,
    /// No key, no budget, or an endpoint that is not reached or keeps failing.
    ModelAccess = 6,
    /// A limit was reached; continuing is possible.
    Paused = 7,
    /// The hidden `daemon` found another one in place; `serve --detach` reads this.
    InPlace = 75,
    /// A person interrupted it.
    Interrupted = 130,
}

impl Exit {
    /// Gives the number.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
