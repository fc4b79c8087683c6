//! Temporary folders that do not outlive their process for long, even when it is killed.
//!
//! A folder is locked (flock(2)) as long as its owner lives; the kernel gives the lock back when the owner dies, however
//! that happens. Whoever starts next removes what nobody holds any more with [`sweep`].

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FlockOperation, Mode, OFlags},
    process::geteuid,
};

/// What a folder is called until it is locked, so that [`sweep`] never meets one that is not.
const UNFINISHED: &str = ".reasonix-new-";

/// A folder of mode 0700 that goes with this value.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
    /// Holds the lock. Children do not inherit it.
    _lock: File,
}

impl PrivateFolder {
    /// Makes an empty folder in `parent`; its name begins with `prefix`.
    ///
    /// # Errors
    /// Any error of making, opening, locking or renaming it; nothing is left then.
    pub fn create(parent: &Path, prefix: &str) -> io::Result<Self> {
        let fresh = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(parent)?;
        let lock = open_folder(fresh.path())?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let name = fresh.path().file_name().unwrap_or_default().to_string_lossy();
        let path = parent.join(format!("{prefix}{}", name.trim_start_matches(UNFINISHED)));
        // A folder of this name that holds something is not replaced.
        fs::rename(fresh.path(), &path)?;
        // It has another name now and is this value's to remove.
        let _old_name = fresh.keep();
        Ok(Self { path, _lock: lock })
    }

    /// Gives where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // What cannot be removed now is swept by the next start.
        let _stays = fs::remove_dir_all(&self.path);
    }
}

/// Removes the folders of this user in `parent` whose names begin with one of `prefixes` and whose owners are dead.
/// Gives how many went. Whatever cannot be judged stays.
pub fn sweep(parent: &Path, prefixes: &[&str]) -> usize {
    sweep_after(parent, prefixes, |_| {})
}

/// Does the same, and calls `last` with each folder before it goes.
pub fn sweep_after(parent: &Path, prefixes: &[&str], last: impl Fn(&Path)) -> usize {
    let Ok(entries) = fs::read_dir(parent) else {
        return 0;
    };
    let ours = entries.filter_map(Result::ok).filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        prefixes.iter().any(|prefix| name.starts_with(prefix))
    });
    ours.filter(|entry| remove_if_abandoned(&entry.path(), &last))
        .count()
}

fn remove_if_abandoned(path: &Path, last: &impl Fn(&Path)) -> bool {
    let Ok(folder) = open_folder(path) else {
        return false;
    };
    let is_ours = rustix::fs::fstat(&folder).is_ok_and(|stat| stat.st_uid == geteuid().as_raw());
    let is_free = || rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok();
    if !is_ours || !is_free() {
        return false;
    }
    last(path);
    fs::remove_dir_all(path).is_ok()
}

fn open_folder(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn goes_with_its_value_and_is_never_swept_before() {
        let parent = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::create(parent.path(), "mine-").unwrap();
        fs::write(folder.path().join("file"), "text").unwrap();
        assert_eq!(sweep(parent.path(), &["mine-"]), 0);
        assert!(folder.path().join("file").exists());
        assert_eq!(names(parent.path()).len(), 1);
        drop(folder);
        assert_eq!(names(parent.path()), [""; 0]);
    }

    #[test]
    fn what_nobody_holds_is_swept_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let place = |name: &str| parent.path().join(name);
        fs::create_dir_all(place("mine-old/full")).unwrap();
        fs::create_dir(place("other-old")).unwrap();
        fs::write(place("mine-file"), "text").unwrap();
        std::os::unix::fs::symlink(place("other-old"), place("mine-link")).unwrap();
        assert_eq!(sweep(parent.path(), &["mine-", "yours-"]), 1);
        assert_eq!(names(parent.path()), ["mine-file", "mine-link", "other-old"]);
    }
}
