//! The lock that says that a daemon of a home lives, and the end of its run directory.
//!
//! Who holds the lock removes its file and the directory when it ends. Another starter may have opened the file before
//! that and gets its lock afterwards, so a lock counts only while its file is the one that the path names; else the
//! starter begins anew. The file is removed by its holder only, before the lock is released.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
};

use crate::{
    daemon::DaemonError,
    run_dir::{RunDir, RunDirError},
};

/// How often a starter begins anew. Each time, another daemon has ended within an instant.
const TRIES: u32 = 100;

/// A held lock. The kernel releases it with the process; dropping it removes the run directory too.
#[derive(Debug)]
pub(crate) struct RunLock {
    file: fs::File,
    run_dir: RunDir,
}

impl RunLock {
    /// Makes the run directory if it is missing and takes its lock.
    ///
    /// # Errors
    /// [`DaemonError`] when the directory cannot be used, the lock's file cannot be made, or a daemon holds it.
    pub(crate) fn take(run_dir: &RunDir) -> Result<Self, DaemonError> {
        let path = run_dir.lock();
        let shown = path.display().to_string();
        let failed = |source| DaemonError::Prepare {
            path: shown.clone(),
            source,
        };
        for _ in 0..TRIES {
            match run_dir.prepare() {
                // It was there, and was removed before it was looked at.
                Err(RunDirError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => continue,
                prepared => prepared?,
            }
            let file = fs::OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .mode(0o600)
                .open(&path);
            let file = match file {
                // The directory was removed after it was prepared.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                file => file.map_err(failed)?,
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(fs::TryLockError::WouldBlock) => return Err(DaemonError::Running(shown)),
                Err(fs::TryLockError::Error(source)) => return Err(failed(source)),
            }
            if is_at_its_path(&file, run_dir) {
                let run_dir = run_dir.clone();
                return Ok(Self { file, run_dir });
            }
        }
        Err(failed(io::Error::other("it keeps being removed")))
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        if !is_at_its_path(&self.file, &self.run_dir) {
            return;
        }
        // A directory that stays does no harm: the next daemon takes it over. One that holds anything stays.
        drop(fs::remove_file(self.run_dir.lock()));
        drop(fs::remove_dir(self.run_dir.path()));
        // Likewise: the first place's directory goes with the last daemon, whichever it is.
        if let Some(first) = self.run_dir.first() {
            drop(fs::remove_dir(first.path()));
        }
    }
}

/// Says whether the path of the lock names this very file.
fn is_at_its_path(file: &fs::File, run_dir: &RunDir) -> bool {
    let same =
        |held: fs::Metadata, named: fs::Metadata| (held.dev(), held.ino()) == (named.dev(), named.ino());
    match (file.metadata(), fs::symlink_metadata(run_dir.lock())) {
        (Ok(held), Ok(named)) => same(held, named),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn run_dir(home: &tempfile::TempDir) -> RunDir {
        RunDir::locate(home.path(), Some(home.path()), true)
    }

    #[test]
    fn is_held_once_and_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let dir = run_dir(&home);
        let lock = RunLock::take(&dir).unwrap();
        assert!(matches!(RunLock::take(&dir), Err(DaemonError::Running(_))));
        drop(lock);
        assert!(!dir.path().exists());
        drop(RunLock::take(&dir).unwrap());
    }

    #[test]
    fn a_file_that_is_no_longer_there_is_no_lock_and_is_not_removed() {
        let home = tempfile::tempdir().unwrap();
        let dir = run_dir(&home);
        let old = RunLock::take(&dir).unwrap();
        fs::remove_file(dir.lock()).unwrap();
        let new = RunLock::take(&dir).unwrap();
        drop(old);
        assert!(is_at_its_path(&new.file, &dir), "the other one's lock stays");
        assert!(matches!(RunLock::take(&dir), Err(DaemonError::Running(_))));
    }

    #[test]
    fn places_are_held_beside_each_other_and_the_last_one_takes_the_directory_along() {
        let home = tempfile::tempdir().unwrap();
        let dir = run_dir(&home);
        let (first, second) = (
            RunLock::take(&dir).unwrap(),
            RunLock::take(&dir.place(1)).unwrap(),
        );
        assert!(matches!(
            RunLock::take(&dir.place(1)),
            Err(DaemonError::Running(_))
        ));
        drop(first);
        assert!(dir.path().exists() && !dir.lock().exists());
        let again = RunLock::take(&dir).unwrap();
        drop(again);
        drop(second);
        assert!(!dir.path().exists());
    }

    #[test]
    fn what_else_is_in_the_directory_stays() {
        let home = tempfile::tempdir().unwrap();
        let dir = run_dir(&home);
        let lock = RunLock::take(&dir).unwrap();
        fs::write(dir.path().join("other"), "").unwrap();
        drop(lock);
        assert!(dir.path().join("other").exists() && !dir.lock().exists());
    }

    #[test]
    fn many_starters_and_enders_never_hold_it_together() {
        let home = tempfile::tempdir().unwrap();
        let dir = run_dir(&home);
        let (holders, taken) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| {
                    for _ in 0..500 {
                        match RunLock::take(&dir) {
                            Ok(lock) => {
                                assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0, "two hold it");
                                taken.fetch_add(1, Ordering::SeqCst);
                                holders.fetch_sub(1, Ordering::SeqCst);
                                drop(lock);
                            }
                            Err(DaemonError::Running(_)) => {}
                            Err(other) => panic!("{other:?}"),
                        }
                    }
                });
            }
        });
        assert!(taken.load(Ordering::SeqCst) > 0);
        assert!(!dir.path().exists());
    }
}
