//! One writer per session.
//!
//! The lease is an advisory lock (`flock`) on the file `lease` in the session folder, which the kernel drops when its
//! holder dies, however it dies. Beside the lock the file says who the holder is, so that others can be sent there.

use std::{
    fmt,
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{StoreError, blob::make_dir, error::io_error};

/// The process that holds a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The instance id of the daemon, random at its start.
    pub instance: String,
    /// The process id.
    pub pid: u32,
    /// The process's start time in clock ticks since boot (`/proc/<pid>/stat`, field 22), so that a reused process id
    /// is not taken for it; 0 where the system does not tell.
    pub start_time: u64,
    /// The boot during which it runs; process ids of another boot or machine say nothing.
    pub boot_id: String,
    /// Where it listens, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<String>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (pid {}", self.instance, self.pid)?;
        if let Some(socket) = &self.socket {
            write!(f, ", socket {socket}")?;
        }
        f.write_str(")")
    }
}

/// The right to write a session, held until it is dropped or the process ends.
#[derive(Debug)]
pub struct Lease {
    file: File,
    path: PathBuf,
}

/// The most bytes of a lease file that are read.
const LEASE_MAX: u64 = 64 * 1024;

impl Lease {
    /// Takes the lease of the session folder `dir`, without waiting, and writes `holder` into it. The folder is made
    /// where it is missing.
    ///
    /// # Errors
    /// [`StoreError::Held`] with the holder's identity when another has it, also within this process;
    /// [`StoreError::Io`] when the system refuses.
    pub fn acquire(dir: &Path, holder: &Holder) -> Result<Self, StoreError> {
        make_dir(dir)?;
        let path = dir.join("lease");
        loop {
            let mut options = OpenOptions::new();
            options
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600);
            let mut file = options.open(&path).map_err(io_error("open", &path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Held {
                        holder: identity(&mut file).map(Box::new),
                    });
                }
                Err(TryLockError::Error(error)) => return Err(io_error("lock", &path)(error)),
            }
            // Somebody may have removed the file between opening and locking; a lock on a file that has no name
            // keeps nobody out.
            if is_at(&file, &path).map_err(io_error("read", &path))? {
                let mut lease = Self { file, path };
                lease.write(holder)?;
                return Ok(lease);
            }
        }
    }

    /// Reads who holds the lease of `dir`, or held it last: the writer may be dead by now.
    #[must_use]
    pub fn last_holder(dir: &Path) -> Option<Holder> {
        identity(&mut File::open(dir.join("lease")).ok()?)
    }

    /// Replaces the identity, for example when the socket is known.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the disk is full or fails.
    pub fn write(&mut self, holder: &Holder) -> Result<(), StoreError> {
        let mut text = serde_json::to_vec(holder)?;
        text.push(b'\n');
        // Emptied first: a reader in between finds nobody, never the holder before.
        let written = self
            .file
            .set_len(0)
            .and_then(|()| self.file.seek(SeekFrom::Start(0)));
        written
            .and_then(|_| self.file.write_all(&text))
            .map_err(io_error("write", &self.path))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // The identity is only information; the lock goes with the file handle in any case.
        if let Err(error) = self.file.set_len(0) {
            tracing::debug!(%error, "could not empty a lease");
        }
    }
}

fn identity(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.take(LEASE_MAX).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Says whether `path` still names the open file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match path.metadata() {
        Ok(there) => Ok(ours.dev() == there.dev() && ours.ino() == there.ino()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
