//! Exit codes, the same for every command (`docs/CLI.md`).

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what was asked.
    Success,
    /// The work failed: a turn error, a denied call, a failed test.
    Failed,
    /// The command line or the configuration is wrong.
    Usage,
    /// The host could not be reached or kept.
    Unreachable,
    /// Login or host key.
    Authentication,
    /// The program could not be put on the host or started there.
    Bootstrap,
    /// No key, no budget, or an endpoint that is not reached or keeps failing.
    ModelAccess,
    /// A limit was reached; continuing is possible.
    Paused,
    /// The hidden `daemon` found another one in place; `serve --detach` reads this.
    InPlace,
    /// A person interrupted it.
    Interrupted,
    /// What ran on a host in a person's stead ended with this code, which is passed on.
    Theirs(u8),
}

impl Exit {
    /// Gives the number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Unreachable => 3,
            Self::Authentication => 4,
            Self::Bootstrap => 5,
            Self::ModelAccess => 6,
            Self::Paused => 7,
            Self::InPlace => 75,
            Self::Interrupted => 130,
            Self::Theirs(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
