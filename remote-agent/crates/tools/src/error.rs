//! What can be wrong with a call, in words for the model.

use std::{io, path::PathBuf};

/// A failed call. The text goes to the model after `error: `, so it says what to do next, and includes the cause.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// An argument is missing or makes no sense.
    #[error("{0}")]
    Argument(String),
    /// The workspace is gone.
    #[error("workspace {} is missing or not a folder", .0.display())]
    WorkspaceMissing(PathBuf),
    /// There is no such file, or it may not be read.
    #[error("FS_NOT_FOUND: file does not exist: {}", .0.display())]
    NotFound(PathBuf),
    /// A file exists that the model has not read.
    #[error(
        "FS_NOT_OBSERVED: {} exists and has not been read in this session; read it with read_file first",
        .0.display()
    )]
    NotObserved(PathBuf),
    /// A file is not what the model last saw.
    #[error("FS_STALE_VERSION: {} has changed since it was last read; read it again before changing it", .0.display())]
    Stale(PathBuf),
    /// A file appeared while one of that name was being created.
    #[error("FS_ALREADY_EXISTS: {} was created by somebody else in the meantime; read it first", .0.display())]
    AlreadyExists(PathBuf),
    /// The text to replace is there several times.
    #[error(
        "WRITE_TARGET_AMBIGUOUS: old_string occurs {count} times in {} (lines {lines}); include more of the \
         surrounding lines so that it is unique",
        .path.display()
    )]
    Ambiguous {
        /// The file.
        path: PathBuf,
        /// How often.
        count: usize,
        /// The line numbers, from 1.
        lines: String,
    },
    /// The text to replace is not there.
    #[error("WRITE_EVIDENCE_STALE: old_string not found in {}{}", .path.display(), .advice)]
    TextNotFound {
        /// The file.
        path: PathBuf,
        /// What may help, with its own separator; may be empty.
        advice: String,
    },
    /// The path is outside what tools may write.
    #[error(
        "this directory is outside the writable roots ({}). To make it writable, name it in [sandbox] allow_write",
        .0.display()
    )]
    OutsideRoots(PathBuf),
    /// The path is of another kind than needed.
    #[error("{} is {what}", .path.display())]
    WrongKind {
        /// The path.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// The system refused something.
    #[error("could not {doing} {}: {source}", .path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The turn was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl ToolError {
    /// Makes a function that wraps an error of the system.
    pub(crate) fn io(doing: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}
