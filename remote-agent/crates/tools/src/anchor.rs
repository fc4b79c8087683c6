//! Opening what was checked, and nothing that took its place meanwhile.
//!
//! A command that runs in the background can swap a folder for a link between the check of a path and its use. So a
//! resolved path, which has no links, is entered folder by folder without following any, and what is done then is done
//! in the folder that is held open.

use std::{
    io,
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, mkdirat, openat},
    io::Errno,
};

/// What happens to folders on the way that do not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It is an error.
    Fails,
    /// They are made.
    IsMade,
}

/// A name in a folder that is held open.
#[derive(Debug)]
pub(crate) struct Anchor {
    folder: PathBuf,
    path: PathBuf,
    /// `folder` leads to this.
    _held: Option<OwnedFd>,
}

impl Anchor {
    /// Enters the folder of `resolved`, an absolute path without links and `..`.
    ///
    /// # Errors
    /// When a folder on the way is missing, is a link or cannot be entered.
    pub(crate) fn of(resolved: &Path, missing: Missing) -> io::Result<Self> {
        let parent = resolved.parent().unwrap_or(resolved);
        let held = enter(parent, missing)?;
        // Only Linux names open folders, and only there commands are confined, so that a link is worth swapping in.
        let named = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
        let (folder, held) = if cfg!(target_os = "linux") && named.is_dir() {
            (named, Some(held))
        } else {
            (parent.to_owned(), None)
        };
        let path = match resolved.file_name() {
            Some(name) => folder.join(name),
            None => folder.clone(),
        };
        Ok(Self {
            folder,
            path,
            _held: held,
        })
    }

    /// Gives a path of the folder, good while this lives.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Gives a path of the name, good while this lives. A link of that name would still be followed.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn enter(folder: &Path, missing: Missing) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // A folder may be one that can be entered and not listed.
    #[cfg(target_os = "linux")]
    let flags = flags | OFlags::PATH;
    let mut held = openat(CWD, "/", flags, Mode::empty())?;
    for component in folder.components() {
        let name = match component {
            Component::Normal(name) => name,
            Component::RootDir | Component::CurDir => continue,
            Component::ParentDir | Component::Prefix(_) => return Err(io::ErrorKind::InvalidInput.into()),
        };
        held = match openat(&held, name, flags, Mode::empty()) {
            Err(Errno::NOENT) if missing == Missing::IsMade => {
                match mkdirat(&held, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                openat(&held, name, flags, Mode::empty())?
            }
            opened => opened?,
        };
    }
    Ok(held)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_folder_that_became_a_link_is_not_entered() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("inside/sub")).unwrap();
        fs::create_dir(root.join("outside")).unwrap();
        let file = root.join("inside/sub/file");
        let before = Anchor::of(&file, Missing::Fails).unwrap();
        fs::rename(root.join("inside/sub"), root.join("inside/moved")).unwrap();
        symlink(root.join("outside"), root.join("inside/sub")).unwrap();
        for missing in [Missing::Fails, Missing::IsMade] {
            assert!(Anchor::of(&file, missing).is_err(), "{missing:?}");
            assert!(
                Anchor::of(&root.join("inside/sub/new/file"), missing).is_err(),
                "{missing:?}"
            );
        }
        fs::write(before.path(), "x").unwrap();
        assert!(root.join("inside/moved/file").exists());
        assert_eq!(fs::read_dir(root.join("outside")).unwrap().count(), 0);
    }

    #[test]
    fn missing_folders_are_made_on_demand() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().canonicalize().unwrap().join("a/b/file");
        let missing = Anchor::of(&file, Missing::Fails).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        fs::write(Anchor::of(&file, Missing::IsMade).unwrap().path(), "x").unwrap();
        assert!(file.is_file());
        Anchor::of(Path::new("/"), Missing::Fails).unwrap();
    }
}
