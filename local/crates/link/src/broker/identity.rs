//! Which brokers of this machine run: each holds a lock as long as it lives.
//!
//! A broker that was killed leaves a file whose lock is free. Whoever comes next names it to the agent, so that what it
//! had claimed is free at once; an hour later nobody needs to know any more.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use protocol::BrokerId;
use rustix::fs::{FlockOperation, flock};

/// What a file is called until it is locked.
const FRESH: &str = ".new-";
/// What the name of a broker ends with that was found dead.
const DEAD: &str = ".dead";
/// How long it is remembered that a broker is dead.
const REMEMBERED: Duration = Duration::from_secs(60 * 60);
/// How many dead brokers are named; the newest.
const NAMED: usize = 32;

/// The place of a broker among those of this machine. It is given up when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    file: PathBuf,
    /// Holds the lock. Children do not inherit it.
    _lock: File,
}

impl Seat {
    /// Takes a place.
    pub(crate) fn take(folder: &Path, id: BrokerId) -> io::Result<Self> {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let fresh = folder.join(format!("{FRESH}{id}"));
        let mut options = fs::OpenOptions::new();
        let lock = options.write(true).create_new(true).mode(0o600).open(&fresh)?;
        let file = folder.join(id.to_string());
        let locked = flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(io::Error::from);
        if let Err(error) = locked.and_then(|()| fs::rename(&fresh, &file)) {
            drop(fs::remove_file(&fresh));
            return Err(error);
        }
        Ok(Self { file, _lock: lock })
    }

    /// Gives the brokers of this machine that are known to be dead, the newest first, and forgets those of long ago.
    pub(crate) fn dead(&self, now_millis: u64) -> Vec<BrokerId> {
        let Some(folder) = self.file.parent() else {
            return Vec::new();
        };
        let entries = fs::read_dir(folder).map(|entries| entries.filter_map(Result::ok));
        let Ok(entries) = entries else { return Vec::new() };
        let mut dead: Vec<(u64, BrokerId)> = entries
            .filter_map(|entry| judge(&entry.path(), now_millis))
            .collect();
        dead.sort_unstable_by(|a, b| b.cmp(a));
        dead.truncate(NAMED);
        dead.into_iter().map(|(_, id)| id).collect()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // It may have gone in mid-answer, so it counts as dead and not as one that never was. The lock goes right after.
        mark(&self.file, stdx::clock::unix_millis());
    }
}

/// Gives when a broker was found dead, and which it was; `None` for one that lives or cannot be judged.
fn judge(path: &Path, now_millis: u64) -> Option<(u64, BrokerId)> {
    let name = path.file_name()?.to_str()?;
    if let Some(id) = name.strip_suffix(DEAD) {
        let id = id.parse().ok()?;
        let since = modified(path)?;
        let age = u128::from(now_millis.saturating_sub(since));
        if age > REMEMBERED.as_millis() {
            // What cannot be removed is met again.
            drop(fs::remove_file(path));
            return None;
        }
        return Some((since, id));
    }
    let id = name.parse().ok()?;
    let file = File::open(path).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    mark(path, now_millis);
    Some((now_millis, id))
}

fn mark(path: &Path, now_millis: u64) {
    let mut dead = path.as_os_str().to_owned();
    dead.push(DEAD);
    let marked = fs::rename(path, &dead).and_then(|()| {
        let file = File::options().write(true).open(&dead)?;
        file.set_modified(UNIX_EPOCH + Duration::from_millis(now_millis))
    });
    if let Err(error) = marked {
        tracing::debug!(%error, path = %path.display(), "a dead broker stays as it is");
    }
}

fn modified(path: &Path) -> Option<u64> {
    let since = fs::metadata(path).ok()?.modified().ok()?;
    let since = since.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_lives_is_never_called_dead_and_who_died_is_for_an_hour() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("brokers");
        let (own, other, killed) = (
            BrokerId(uuid::Uuid::from_u128(1)),
            BrokerId(uuid::Uuid::from_u128(2)),
            BrokerId(uuid::Uuid::from_u128(3)),
        );
        let seat = Seat::take(&place, own).unwrap();
        let living = Seat::take(&place, other).unwrap();
        // One that was killed leaves its file, and the kernel gives its lock back.
        fs::write(place.join(killed.to_string()), "").unwrap();
        fs::write(place.join("something else"), "").unwrap();
        let now = stdx::clock::unix_millis();
        assert_eq!(seat.dead(now), [killed]);
        assert_eq!(seat.dead(now), [killed], "it is still known");
        drop(living);
        assert_eq!(seat.dead(now + 1).len(), 2, "who left counts as dead");
        assert!(seat.dead(now + 3_700_000).is_empty());
        assert!(!place.join(format!("{killed}{DEAD}")).exists());
        assert!(place.join("something else").exists());
        assert!(place.join(own.to_string()).exists());
    }

    #[test]
    fn nobody_else_may_look() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("run/brokers");
        let seat = Seat::take(&place, BrokerId(uuid::Uuid::from_u128(7))).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&place), mode(&seat.file)), (0o700, 0o600));
    }
}
