//! What is asked of a host: run a command and, where a command cannot be given a file, write one.

use std::{fmt, future::Future, pin::Pin, time::Duration};

use tokio::io::AsyncRead;

/// A boxed future, so that [`Remote`] can be used as `dyn Remote`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A host that runs commands through its user's login shell, as `sshd` does for an exec request.
pub trait Remote: Send + Sync {
    /// Names the host for messages.
    fn host(&self) -> &str;

    /// Runs one command to its end and gives what it said.
    ///
    /// Standard input is written while output is read, and closed at its end. A command that stops reading early is
    /// not an error: its output and status still count. The channel is closed when the future ends or is dropped.
    ///
    /// # Errors
    /// [`RemoteError`] when the command could not be started, did not end in time, or the connection went away.
    fn exec<'a>(&'a self, exec: Exec<'a>) -> BoxFuture<'a, Result<Output, RemoteError>>;

    /// Writes a file without a command, as SFTP does. The channel is closed when the future ends or is dropped.
    ///
    /// # Errors
    /// [`RemoteError::NoFiles`] where the host offers no such thing, which is also what this default says; the others
    /// as they come.
    fn put<'a>(&'a self, put: Put<'a>) -> BoxFuture<'a, Result<(), RemoteError>> {
        drop(put);
        Box::pin(async { Err(RemoteError::NoFiles) })
    }

    /// Says whether the host takes files without a command. Asked only of a host that runs no commands.
    fn takes_files(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { false })
    }
}

/// One file to write, all writes at stated positions.
pub struct Put<'a> {
    /// Absolute path. Made if it is not there, for the user alone; never cut.
    pub path: &'a str,
    /// A file that becomes this one first, by a rename that succeeds for one claimant only.
    pub claim: Option<&'a str>,
    /// Where the content begins, in bytes.
    pub offset: u64,
    /// What is written. Reading it is how upload progress is seen.
    pub content: Box<dyn AsyncRead + Send + Unpin + 'a>,
    /// How long it may take.
    pub deadline: Deadline,
}

impl fmt::Debug for Put<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Put")
            .field("path", &self.path)
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}

/// One command to run.
pub struct Exec<'a> {
    /// The command line, for the login shell.
    pub command: &'a str,
    /// What the command reads. Reading it is how upload progress is seen.
    pub stdin: Box<dyn AsyncRead + Send + Unpin + 'a>,
    /// Bytes kept of standard output and of standard error each: where there is more, one half from the beginning and
    /// one from the end, since noise comes first and answers last.
    pub keep: usize,
    /// How long it may take.
    pub deadline: Deadline,
}

impl fmt::Debug for Exec<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exec")
            .field("command", &self.command)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// How long a command may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    /// Longest time in which no byte moves either way.
    pub idle: Duration,
    /// Longest time altogether.
    pub total: Duration,
}

impl Deadline {
    /// Makes a deadline that only looks at the whole time.
    #[must_use]
    pub const fn total(total: Duration) -> Self {
        Self { idle: total, total }
    }
}

/// What a command said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub status: Status,
    /// Standard output, as far as it was kept.
    pub stdout: Vec<u8>,
    /// Standard error, as far as it was kept.
    pub stderr: Vec<u8>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// With an exit code.
    Exited(u32),
    /// By a signal of this name, without `SIG` (RFC 4254 section 6.10).
    Signaled(String),
    /// The host did not say.
    Unknown,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Signaled(name) => write!(f, "signal {name}"),
            Self::Unknown => f.write_str("no exit status"),
        }
    }
}

/// A command was not carried out, or a file not written.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The connection is gone.
    #[error("connection lost")]
    Lost(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The host refused to run commands at all.
    #[error("the host refused to run a command")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The account is for file transfer: whatever is asked, an SFTP server answers.
    #[error("the account may transfer files (sftp) but not run commands, and an agent is a command")]
    FilesOnly,
    /// No way is left to carry a program over.
    #[error("the input of commands does not arrive there, and files are not taken either (sftp)")]
    NoFiles,
    /// The file that was to be claimed is not there any more.
    #[error("the partial file is gone")]
    Unclaimed,
    /// The host could not write the file.
    #[error("the host could not write the file")]
    Unwritten(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The command ran, but what was written to it did not arrive.
    #[error("the input of commands does not arrive there")]
    NoInput,
    /// The command printed without end, so that nobody waits for its answer.
    #[error("the host printed more than {} MiB before the first answer", .limit >> 20)]
    Flooded {
        /// The limit that was reached, in bytes.
        limit: u64,
    },
    /// Nothing moved, or the command did not end.
    #[error("no answer within {} s", .limit.as_secs())]
    TimedOut {
        /// The limit that was reached.
        limit: Duration,
        /// What the command had said on standard error so far, or else on standard output.
        stderr: Vec<u8>,
    },
}
