//! What the model has seen of files, so that it never overwrites what it does not know.

use std::{
    collections::HashMap,
    fs::Metadata,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use sha2::{Digest as _, Sha256};

/// Files up to this size are compared by content, larger ones by what the file system says, in bytes.
pub(crate) const MAX_HASHED: u64 = 16 * 1024 * 1024;

/// One state of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Version {
    /// The hash of the content: a change that keeps size and time is still a change.
    Content([u8; 32]),
    /// What changes when a large file is written. The change time cannot be set back by ordinary means.
    Status {
        length: u64,
        modified: (i64, i64),
        changed: (i64, i64),
        inode: u64,
    },
}

impl Version {
    pub(crate) fn of_content(content: &[u8]) -> Self {
        Self::Content(Sha256::digest(content).into())
    }

    pub(crate) fn of_large(meta: &Metadata) -> Self {
        Self::Status {
            length: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            inode: meta.ino(),
        }
    }
}

/// What is known about a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    /// There was no file.
    Absent,
    /// This was the file.
    Present(Version),
}

/// The table of seen files of one agent. Commands neither add to it nor take from it.
#[derive(Debug, Default)]
pub struct Observed {
    seen: Mutex<HashMap<PathBuf, Seen>>,
}

impl Observed {
    /// Makes an empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets everything, as after restoring or rewinding a session.
    pub fn clear(&self) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Records what is known about a resolved path.
    pub(crate) fn record(&self, path: &Path, seen: Seen) {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.to_owned(), seen);
    }

    /// Gives what is known about a resolved path.
    pub(crate) fn of(&self, path: &Path) -> Option<Seen> {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(path)
            .cloned()
    }
}
