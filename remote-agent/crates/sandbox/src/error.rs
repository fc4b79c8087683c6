//! What can go wrong before or around a command; what the command itself does is an [`crate::Outcome`].

use std::{io, path::PathBuf};

/// A command that could not be run at all.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Confinement was demanded and nothing on this host can enforce it.
    #[error("shell sandbox requested but unavailable on this host; refusing to run unconfined ({reason})")]
    Unavailable {
        /// What the probe found.
        reason: String,
    },
    /// The workspace is gone or is not a folder. No other folder takes its place.
    #[error("workspace {} is missing or not a folder", .0.display())]
    WorkspaceMissing(PathBuf),
    /// The private temporary folder could not be made.
    #[error("could not make a private temporary folder in {}", .parent.display())]
    PrivateTmp {
        /// Where it should have been.
        parent: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The command line does not fit into what the system passes to a program.
    #[error("command of {bytes} bytes is too long to be passed to {}", .program.display())]
    TooLong {
        /// The program.
        program: PathBuf,
        /// The length of the script.
        bytes: usize,
    },
    /// The program could not be started.
    #[error("could not start {}", .program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The running command could not be watched any longer; its process group has been killed.
    #[error("could not watch a running command")]
    Watch(#[source] io::Error),
}

impl SandboxError {
    /// Gives what a person can do about it, where there is something.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unavailable { .. } => Some(
                "install bubblewrap (`bwrap`) and allow unprivileged user namespaces, or set `bash = \"off\"` in the \
                 `[sandbox]` table of the user's config.toml to run commands unconfined",
            ),
            Self::WorkspaceMissing(_) => Some("create the folder or start the session in another one"),
            Self::TooLong { .. } => Some("write the script to a file and run that"),
            Self::PrivateTmp { .. } | Self::Spawn { .. } | Self::Watch(_) => None,
        }
    }
}
