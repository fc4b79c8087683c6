//! What can go wrong with a session on disk.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::Holder;

/// An operation on a session's files failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A log was to be created where one with records exists.
    #[error("session log {} already has records", .0.display())]
    Exists(PathBuf),
    /// The folder holds no log.
    #[error("there is no session log in {}", .0.display())]
    Missing(PathBuf),
    /// The system refused an operation.
    #[error("could not {action} {}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A record cannot be expressed in JSON.
    #[error("record could not be encoded")]
    Encode(#[from] serde_json::Error),
    /// An earlier sync failed, so what is on disk is unknown until the log is opened again.
    #[error("session log {} takes no records: an earlier sync failed", .0.display())]
    SyncLost(PathBuf),
    /// Another process writes this session.
    #[error("session writer is owned by another runtime: {}", holder_text(.holder.as_deref()))]
    Held {
        /// Who holds it; `None` while that process has not said so yet.
        holder: Option<Box<Holder>>,
    },
    /// A session id is not a UUID.
    #[error("{0:?} is not a session id")]
    BadId(String),
    /// No session has this id or prefix.
    #[error("no session matches {0:?}")]
    NoSession(String),
    /// Several sessions have this prefix.
    #[error("{wanted:?} matches several sessions: {}", matches.join(", "))]
    Ambiguous {
        /// The prefix.
        wanted: String,
        /// The ids that it matches.
        matches: Vec<String>,
    },
}

impl StoreError {
    /// Says whether the disk, the quota or a file size limit is exhausted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge))
    }
}

/// Names what was done to which file, for `map_err`.
pub(crate) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError::Io {
        action,
        path: path.to_owned(),
        source,
    }
}

fn holder_text(holder: Option<&Holder>) -> String {
    match holder {
        Some(holder) => holder.to_string(),
        None => "one that has not named itself yet".to_owned(),
    }
}
