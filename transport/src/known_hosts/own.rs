//! Our own known-hosts file, the only one that is written: whole, at once, and by one program at a time.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use russh::keys::PublicKey;

use super::{Entry, Marker, hosts_match, parse};
use crate::disk;

/// How long another program may hold the file.
const PATIENCE: Duration = Duration::from_secs(5);

/// What shall become of the lines of one host.
pub(crate) struct Change<'a> {
    /// The name under which it is listed.
    pub(crate) listed_as: &'a str,
    /// Keys that are listed afterwards.
    pub(crate) add: &'a [PublicKey],
    /// What becomes of its other keys.
    pub(crate) others: Others<'a>,
}

/// What becomes of keys of a host that are not added.
pub(crate) enum Others<'a> {
    /// They stay.
    Stay,
    /// Those that are not among these go.
    GoUnless(&'a [PublicKey]),
}

/// What was done to the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

/// Changes the lines of one host in our file, making the file (0600) and its folder (0700) if need be. Everything else
/// in the file stays as it is, byte by byte. Blocks.
///
/// # Errors
/// Whatever the file system says; the file is as it was then.
pub(crate) fn change(file: &Path, change: &Change<'_>) -> io::Result<Done> {
    change_by(file, change, |file, new| {
        stdx::atomic_write::atomic_write(file, new, 0o600)
    })
}

fn change_by(
    file: &Path,
    change: &Change<'_>,
    write: impl FnOnce(&Path, &[u8]) -> io::Result<()>,
) -> io::Result<Done> {
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    // A link is followed, so that a file that is kept elsewhere stays there.
    let file = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let is_new = !file.exists();
    let held = lock(&file)?;
    // A pipe has no end, and a device, `/dev/null` above all, must not be replaced by a file.
    if !held.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file",
        ));
    }
    let replaced = replace(&held, change, |new| write(&file, new));
    if replaced.is_err() && is_new {
        // It was made to be locked. Whoever waits for it meanwhile looks for it again.
        let _gone = std::fs::remove_file(&file);
    }
    replaced
}

fn replace(
    held: &File,
    change: &Change<'_>,
    write: impl FnOnce(&[u8]) -> io::Result<()>,
) -> io::Result<Done> {
    let old = disk::read_limited(held)?;
    let (new, done) = changed(&old, change)?;
    if new != old {
        write(&new)?;
    }
    Ok(done)
}

/// Opens the file and keeps other programs of ours out until it is closed. Where a file system has no locks, nothing is
/// kept out, and the last one to write wins.
fn lock(file: &Path) -> io::Result<File> {
    let begun = stdx::clock::monotonic();
    loop {
        let held = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(file)?;
        match held.try_lock() {
            // Somebody may have replaced the file in between; then this one is not it any more.
            Ok(()) if is_at(&held, file)? => return Ok(held),
            Ok(()) => {}
            Err(TryLockError::Error(_)) => return Ok(held),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
        }
        if begun.elapsed() > PATIENCE {
            let message = format!("another program holds it for more than {} s", PATIENCE.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
    }
}

fn is_at(held: &File, file: &Path) -> io::Result<bool> {
    let (ours, there) = (held.metadata()?, std::fs::metadata(file));
    Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
}

fn changed(old: &[u8], change: &Change<'_>) -> io::Result<(Vec<u8>, Done)> {
    let mut done = Done::default();
    let mut new = Vec::with_capacity(old.len() + 128);
    let mut listed: Vec<PublicKey> = Vec::new();
    for line in old.split_inclusive(|&byte| byte == b'\n') {
        let Some(entry) = plain_entry(line, change.listed_as) else {
            new.extend_from_slice(line);
            continue;
        };
        let goes = match change.others {
            Others::Stay => false,
            Others::GoUnless(kept) => !contains(kept, &entry.key) && !contains(change.add, &entry.key),
        };
        if !goes {
            listed.push(entry.key);
            new.extend_from_slice(line);
            continue;
        }
        done.removed += 1;
        // The key goes for this name only.
        let others: Vec<&str> = match entry.hosts.starts_with('|') {
            true => Vec::new(),
            false => entry.hosts.split(',').collect(),
        };
        let others: Vec<&str> = others
            .into_iter()
            .filter(|name| !hosts_match(name, change.listed_as))
            .collect();
        if !others.is_empty() {
            new.extend_from_slice(line_for(&others.join(","), &entry.key)?.as_bytes());
        }
    }
    for key in change.add.iter().filter(|key| !contains(&listed, key)) {
        if new.last().is_some_and(|&byte| byte != b'\n') {
            new.push(b'\n');
        }
        new.extend_from_slice(line_for(change.listed_as, key)?.as_bytes());
        done.added += 1;
    }
    Ok((new, done))
}

fn contains(keys: &[PublicKey], key: &PublicKey) -> bool {
    keys.iter().any(|other| other.key_data() == key.key_data())
}

/// Reads a line that lists a key for exactly this name; patterns and markers were written by a person and stay.
fn plain_entry(line: &[u8], listed_as: &str) -> Option<Entry> {
    let text = String::from_utf8_lossy(line);
    let entry = parse(&text, &PathBuf::new()).pop()?;
    (entry.marker == Marker::Plain && entry.names_exactly(listed_as)).then_some(entry)
}

fn line_for(hosts: &str, key: &PublicKey) -> io::Result<String> {
    let mut key = key.clone();
    key.set_comment("");
    let key = key.to_openssh().map_err(io::Error::other)?;
    Ok(format!("{hosts} {}\n", key.trim_end()))
}

#[cfg(test)]
#[path = "own/tests.rs"]
mod tests;
