//! What is run and how it is watched.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::Duration,
};

use stdx::AbsPath;
use tokio_util::sync::CancellationToken;

use crate::{Environment, LiveOutput, OutputLimits};

/// The POSIX shell that runs scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shell {
    program: PathBuf,
}

impl Shell {
    /// Finds bash, else sh, in the absolute folders of `search_path` (a `PATH`), else `/bin/sh`.
    #[must_use]
    pub fn find(search_path: &OsStr) -> Self {
        let found = ["bash", "sh"]
            .iter()
            .find_map(|name| executables(search_path, name).into_iter().next());
        Self {
            program: found.unwrap_or_else(|| PathBuf::from("/bin/sh")),
        }
    }

    /// Uses the shell at `program`.
    #[must_use]
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
        }
    }

    /// Gives the path of the program.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }
}

/// Lists the files called `name` in the absolute folders of `search_path` that somebody may execute, in order.
///
/// Relative entries are left out: what they name depends on the folder a command happens to be in.
pub(crate) fn executables(search_path: &OsStr, name: &str) -> Vec<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    std::env::split_paths(search_path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .filter(|path| {
            path.metadata()
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
        .collect()
}

/// A script for the shell. It starts in the workspace of its policy with `/dev/null` as standard input.
#[derive(Debug, Clone)]
pub struct Command {
    /// The script, passed as `-c`.
    pub script: String,
    /// What the script sees as `$0`, `$1`, …
    pub arguments: Vec<OsString>,
    /// The environment. `TMPDIR`, `TMP` and `TEMP` are set on top of it.
    pub environment: Environment,
    /// Folders the script may write whatever the mode.
    pub private_dirs: Vec<AbsPath>,
    /// Folders the script sees wherever they are, read-only. A read-only folder does not stop it from connecting to a
    /// socket in it.
    pub shown_dirs: Vec<AbsPath>,
}

impl Command {
    /// Gives a command that runs `script` without arguments.
    #[must_use]
    pub fn new(script: impl Into<String>, environment: Environment) -> Self {
        Self {
            script: script.into(),
            arguments: Vec::new(),
            environment,
            private_dirs: Vec::new(),
            shown_dirs: Vec::new(),
        }
    }
}

/// How a command is watched.
#[derive(Debug)]
pub struct RunOptions {
    /// Cancelling it ends the command's process group.
    pub token: CancellationToken,
    /// How long the command may run; `None` is for ever.
    pub timeout: Option<Duration>,
    /// How long a process group has between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Where output goes while the command runs.
    pub live: Option<LiveOutput>,
    /// How much output is kept.
    pub limits: OutputLimits,
}

impl RunOptions {
    /// Gives options without timeout and live output, with a grace of two seconds.
    #[must_use]
    pub fn new(token: CancellationToken) -> Self {
        Self {
            token,
            timeout: None,
            grace: Duration::from_secs(2),
            live: None,
            limits: OutputLimits::default(),
        }
    }
}
