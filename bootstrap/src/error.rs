//! What went wrong while getting the program onto a host, where, and what to do.

use std::fmt;

use crate::{
    answer::stderr_lines,
    artifact::ArtifactError,
    machine::Known,
    platform::UnknownPlatform,
    probe::Workspace,
    remote::{RemoteError, Status},
};

/// The part of the way that was being gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Asking the host what it is and what it has.
    Probe,
    /// Deciding what to do.
    Choose,
    /// Carrying the program over.
    Upload,
    /// Comparing checksums on the host.
    Verify,
    /// Running the program once.
    Trial,
    /// Starting the daemon.
    Launch,
    /// Reaching the daemon.
    Attach,
    /// Taking what is ours off the host again.
    Uninstall,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Probe => "probe",
            Self::Choose => "choose",
            Self::Upload => "upload",
            Self::Verify => "verify",
            Self::Trial => "trial run",
            Self::Launch => "launch",
            Self::Attach => "attach",
            Self::Uninstall => "uninstall",
        })
    }
}

/// A failed bootstrap. Displays as `STAGE on HOST: WHAT`, without a stage where something was only decided; the rest is
/// in the accessors.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    stage: Stage,
    host: String,
    kind: ErrorKind,
    trace: Trace,
    hint: Option<String>,
}

/// What the host's command said, for the error.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub(crate) command: Option<String>,
    pub(crate) status: Option<Status>,
    pub(crate) stderr: Vec<String>,
}

/// What a caller has to distinguish.
#[derive(Debug, thiserror::Error)]
pub enum ErrorKind {
    /// The command was not carried out.
    #[error("{0}")]
    Remote(#[source] RemoteError),
    /// The login shell did something else than run a command.
    #[error("the login shell did not run /bin/sh{}", answered(.0.as_deref()))]
    NoShell(Option<String>),
    /// An answer ended early or makes no sense.
    #[error("{0}")]
    BadAnswer(String),
    /// The workspace is not there, is no folder or cannot be entered.
    #[error("{0}")]
    Workspace(Workspace),
    /// No build exists for the host.
    #[error("{0}")]
    Platform(UnknownPlatform),
    /// The build for the host could not be read here.
    #[error("{0}")]
    Artifact(#[source] ArtifactError),
    /// Nothing usable is installed and nothing may be.
    #[error("no usable reasonix is installed, and installing is off")]
    NotInstalled,
    /// No agent runs, and none may be started.
    #[error("no agent runs there")]
    NotRunning,
    /// What must be written has no place.
    #[error("{0}")]
    Storage(StorageError),
    /// The host cannot compute SHA-256.
    #[error("the host has none of sha256sum, shasum and openssl")]
    NoHashTool,
    /// What arrived is not what was sent.
    #[error("the uploaded program has the wrong checksum {got}, expected {expected}")]
    WrongSum {
        /// SHA-256 of the program.
        expected: String,
        /// What the host computed.
        got: String,
    },
    /// A program does not do on the host what it should.
    #[error("{0}")]
    Program(String),
    /// The daemon speaks no protocol version of ours.
    #[error("the daemon speaks protocol {theirs}, this program {ours}")]
    NoCommonProtocol {
        /// Its range, as `MIN..MAX`.
        theirs: String,
        /// Our range.
        ours: String,
    },
    /// The host is another machine, or this is another user on it; nothing was put there.
    #[error("another machine or user answers")]
    OtherMachine(Known),
    /// Another client got in between; trying again helps.
    #[error("another upload took over the partial file")]
    Contended,
}

/// What must be written has no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// No folder takes programs.
    #[error("no folder on the host takes a program: {0}")]
    NoDirectory(String),
    /// There is too little room for the program.
    #[error("no space in {directory}: {}", lacking(*scarce, *missing))]
    NoSpace {
        /// Absolute path on the host.
        directory: String,
        /// Bytes that must become free.
        missing: u64,
        /// What there is too little of.
        scarce: Scarce,
    },
    /// Sessions cannot be written.
    #[error("sessions cannot be kept in {directory}: {reason}")]
    Sessions {
        /// Absolute path on the host.
        directory: String,
        /// The host's words.
        reason: String,
    },
    /// The account has no home and `REASONIX_HOME` is not set.
    #[error("the account has no home directory, and REASONIX_HOME is not set there")]
    NoHome,
}

/// What a disk has too little of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scarce {
    /// Free blocks.
    Space,
    /// Free inodes: places for files.
    Inodes,
    /// What the user may use.
    Quota,
}

impl Scarce {
    /// Judges by the host's words and by the free inodes.
    pub(crate) fn judge(words: &str, inodes: Option<u64>) -> Self {
        if words.contains("quota") {
            Self::Quota
        } else if inodes == Some(0) {
            Self::Inodes
        } else {
            Self::Space
        }
    }
}

fn lacking(scarce: Scarce, missing: u64) -> String {
    match scarce {
        Scarce::Space => format!("{missing} more bytes are needed"),
        Scarce::Inodes => "no inode is free, so no file can be made however much space is left".to_owned(),
        Scarce::Quota => format!("the quota of this user allows no more, {missing} more bytes are needed"),
    }
}

fn answered(line: Option<&str>) -> String {
    line.map(|line| format!(", it answered `{line}`"))
        .unwrap_or_default()
}

impl Error {
    pub(crate) fn new(stage: Stage, host: &str, kind: ErrorKind) -> Self {
        let hint = hint(stage, &kind);
        let trace = match &kind {
            ErrorKind::Remote(RemoteError::TimedOut { stderr, .. }) => Trace {
                stderr: stderr_lines(stderr),
                ..Trace::default()
            },
            _ => Trace::default(),
        };
        Self(Box::new(Inner {
            stage,
            host: host.to_owned(),
            kind,
            trace,
            hint,
        }))
    }

    pub(crate) fn with_trace(mut self, trace: Trace) -> Self {
        self.0.trace = trace;
        self
    }

    /// Says how long was waited in all, where several waits came to nothing.
    pub(crate) fn of_all(mut self, waited: std::time::Duration) -> Self {
        if let ErrorKind::Remote(RemoteError::TimedOut { limit, .. }) = &mut self.0.kind {
            *limit = waited;
        }
        self
    }

    /// Says where on the way it happened.
    #[must_use]
    pub fn stage(&self) -> Stage {
        self.0.stage
    }

    /// Names the host.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.0.host
    }

    /// Says what it is.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Gives what was run on the host, in words a person could repeat.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        self.0.trace.command.as_deref()
    }

    /// Says how the command ended.
    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        self.0.trace.status.as_ref()
    }

    /// Gives the first lines of the command's standard error, without control sequences.
    #[must_use]
    pub fn stderr(&self) -> &[String] {
        &self.0.trace.stderr
    }

    /// Says what to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Says whether the connection is gone: dial again, then bootstrap again.
    #[must_use]
    pub fn is_connection_lost(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Remote(RemoteError::Lost(_)))
    }

    /// Gives the exit code for it: 5, or 3 for a lost connection.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if self.is_connection_lost() { 3 } else { 5 }
    }

    /// Gives command, status and standard error as lines to print below the message.
    #[must_use]
    pub fn details(&self) -> Vec<String> {
        let trace = &self.0.trace;
        let command = trace.command.iter().map(|command| format!("command: {command}"));
        let status = trace.status.iter().map(|status| format!("ended with: {status}"));
        command
            .chain(status)
            .chain(trace.stderr.iter().map(|line| format!("stderr: {line}")))
            .collect()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Choosing is no step that a person knows; what was found says enough.
        if self.0.stage != Stage::Choose {
            write!(f, "{} ", self.0.stage)?;
        }
        write!(f, "on {}: {}", self.0.host, self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The kind is part of the message, so the chain goes on below it.
        std::error::Error::source(&self.0.kind).and_then(|inner| match &self.0.kind {
            ErrorKind::Remote(_) | ErrorKind::Artifact(_) => inner.source(),
            _ => Some(inner),
        })
    }
}

fn overdue_hint(stage: Stage) -> &'static str {
    match stage {
        Stage::Uninstall => "try again, it goes on with what is left; does a disk of the host hang?",
        Stage::Upload | Stage::Verify | Stage::Trial => {
            "try again, the upload goes on where it stopped; if it stops there once more, does a disk of the host hang?"
        }
        Stage::Launch | Stage::Attach => {
            "does a disk of the host hang? `reasonix remote logs` shows how far the agent came"
        }
        Stage::Probe | Stage::Choose => "does a start-up file of the login shell wait for input?",
    }
}

fn storage_hint(error: &StorageError) -> &'static str {
    match error {
        StorageError::NoDirectory(_) => "set REASONIX_HOME on the host to a folder in which programs may run",
        StorageError::NoSpace {
            scarce: Scarce::Inodes,
            ..
        } => "remove files there, or set REASONIX_HOME on the host to another disk",
        StorageError::NoSpace { .. } => {
            "free some space there, or set REASONIX_HOME on the host to another disk"
        }
        StorageError::Sessions { .. } => {
            "make the folder writable with some space free, or set REASONIX_HOME on the host to one that is"
        }
        StorageError::NoHome => {
            "give the account a home, or set REASONIX_HOME in a start-up file of its login shell"
        }
    }
}

/// Says what to do, where stage and kind alone tell.
fn hint(stage: Stage, kind: &ErrorKind) -> Option<String> {
    let text = match kind {
        ErrorKind::NoShell(_) => "the account must be allowed to run commands: try `ssh HOST true`",
        ErrorKind::Remote(RemoteError::TimedOut { .. }) => overdue_hint(stage),
        ErrorKind::BadAnswer(_) => {
            "does a start-up file of the login shell read standard input or end the shell?"
        }
        ErrorKind::Workspace(Workspace::Missing(_)) => "create it on the host, or name another workspace",
        ErrorKind::Workspace(_) => "name another workspace, or let this user enter it",
        ErrorKind::Platform(_) => "build reasonix on the host yourself and put it on its PATH",
        ErrorKind::Artifact(ArtifactError::NoBuild { target, .. }) => {
            return Some(format!(
                "put a build for it into REASONIX_DIST/{target}/reasonix or ~/.reasonix/dist/{target}/reasonix here, \
                 or `reasonix` on the PATH of the host"
            ));
        }
        ErrorKind::OtherMachine(_) => {
            "if the host was replaced, `reasonix remote trust HOST --machine` accepts the new one; if several machines \
             share the name, name one of them"
        }
        ErrorKind::NotRunning => "any command that works on the host starts one",
        ErrorKind::NotInstalled => "set install = \"auto\" for this host, or put `reasonix` on its PATH",
        ErrorKind::Storage(error) => storage_hint(error),
        ErrorKind::NoHashTool => "install coreutils or openssl on the host",
        ErrorKind::NoCommonProtocol { .. } => "use the same version on both sides: `reasonix remote upgrade`",
        ErrorKind::Remote(RemoteError::Flooded { .. }) => {
            "does a start-up file of the login shell print without end? try `ssh HOST true`"
        }
        ErrorKind::Remote(RemoteError::NoInput) => {
            "does a start-up file of the login shell read standard input?"
        }
        ErrorKind::Remote(RemoteError::NoFiles) => {
            "let the host's sshd offer sftp, or put `reasonix` on its PATH"
        }
        ErrorKind::Remote(RemoteError::FilesOnly) => {
            "let the account run commands: without `ForceCommand internal-sftp`, or as another user"
        }
        ErrorKind::WrongSum { .. } | ErrorKind::Contended => "try again",
        ErrorKind::Remote(_) | ErrorKind::Program(_) | ErrorKind::Artifact(_) => return None,
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn silence_names_stage_host_limit_last_words_and_what_to_do() {
        for (stage, advice) in [
            (Stage::Probe, "start-up file"),
            (Stage::Upload, "goes on where it stopped"),
            (Stage::Launch, "remote logs"),
        ] {
            let silence = RemoteError::TimedOut {
                limit: Duration::from_secs(15),
                stderr: b"\x1b[1mcannot lock\x1b[0m\n".to_vec(),
            };
            let error = Error::new(stage, "box", ErrorKind::Remote(silence));
            assert_eq!(
                error.to_string(),
                format!("{stage} on box: no answer within 15 s")
            );
            assert!(error.hint().unwrap().contains(advice), "{error:?}");
            assert_eq!(error.details(), ["stderr: cannot lock"]);
        }
    }
}
