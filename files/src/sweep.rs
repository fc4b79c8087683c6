//! What runs that were killed left half-written.

use std::{os::unix::ffi::OsStrExt as _, path::Path, time::Duration};

use rustix::fs::{FlockOperation, Mode, OFlags};
use sftp::{Client, name::join};

use crate::{
    Error,
    listing::Listing,
    part::{self, Key},
};

/// Something half-written of the same transfer, with its length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) name: Vec<u8>,
    pub(crate) length: u64,
}

/// Removes what was left in a folder of the host.
pub(crate) async fn sweep_host(client: &Client, folder: &[u8], age: Duration) -> Result<u64, Error> {
    Ok(tidy_host(client, folder, age, None).await?.0)
}

/// Removes what was left in a folder of the host, but for what has the key `own`: that is given back, the longest first.
pub(crate) async fn tidy_host(
    client: &Client,
    folder: &[u8],
    age: Duration,
    own: Option<&Key>,
) -> Result<(u64, Vec<Left>), Error> {
    let mut listing = Listing::open(client, folder).await?;
    let (mut removed, mut left) = (0, Vec::new());
    while let Some(entries) = listing.next().await? {
        for entry in entries {
            if !part::is_part(&entry.name) {
                continue;
            }
            if own.is_some_and(|own| part::has_key(&entry.name, own)) {
                let length = entry.attributes.size.unwrap_or(0);
                left.push(Left {
                    name: entry.name,
                    length,
                });
                continue;
            }
            let written = entry.attributes.times.map_or(0, |times| times.modified);
            // Somebody else may have removed it, or may be the one who may.
            if is_old(u64::from(written), age) && client.remove(&join(folder, &entry.name)).await.is_ok() {
                removed += 1;
            }
        }
    }
    left.sort_by_key(|left| std::cmp::Reverse(left.length));
    Ok((removed, left))
}

/// Removes what runs left half-written in a folder of this machine, when nothing wrote to it for `age`. It gives how
/// many. It blocks.
///
/// # Errors
/// The folder cannot be read.
pub fn sweep_local(folder: &Path, age: Duration) -> std::io::Result<u64> {
    Ok(tidy_local(folder, age, None)?.0)
}

/// As [`tidy_host`], for a folder of this machine. It blocks.
pub(crate) fn tidy_local(
    folder: &Path,
    age: Duration,
    own: Option<&Key>,
) -> std::io::Result<(u64, Vec<Left>)> {
    let (mut removed, mut left) = (0, Vec::new());
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if !part::is_part(name.as_bytes()) {
            continue;
        }
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        if own.is_some_and(|own| part::has_key(name.as_bytes(), own)) {
            left.push(Left {
                name: name.as_bytes().to_vec(),
                length: metadata.len(),
            });
            continue;
        }
        let written = metadata
            .modified()
            .ok()
            .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
            .map_or(0, |time| time.as_secs());
        // As on the host.
        if is_old(written, age) && !is_held(&entry.path()) && std::fs::remove_file(entry.path()).is_ok() {
            removed += 1;
        }
    }
    left.sort_by_key(|left| std::cmp::Reverse(left.length));
    Ok((removed, left))
}

/// Says whether a running transfer holds the file.
fn is_held(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err(),
        Err(_) => false,
    }
}

fn is_old(written: u64, age: Duration) -> bool {
    written.saturating_add(age.as_secs()) <= stdx::clock::unix_millis() / 1000
}
