//! Files of this machine, without ever following a link below the folder that was named.
//!
//! Everything is done relative to an open folder. A host that first sends a link and then a file "below" it finds the
//! link in its way. All of this blocks.

use std::{
    fs::File,
    io::{self, Write as _},
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt as _, fs::FileExt as _},
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT};
use sftp::packet::Times;

/// Bits of a mode that are taken over from the other side: no set-user, set-group or sticky.
pub(crate) const PERMISSIONS: u32 = 0o777;

/// An open folder. What is to be set of it is set when its last user is gone, so after all that is in it.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
    finish: Mutex<Option<Finish>>,
    /// Those above outlive those below.
    _above: Option<Arc<Self>>,
}

/// What a file or folder gets when it is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Finish {
    pub(crate) mode: Option<u32>,
    pub(crate) times: Option<Times>,
}

impl Drop for Folder {
    fn drop(&mut self) {
        let finish = self.finish.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(finish) = finish.take() {
            // The files are in it; a mode that is not kept is no reason to fail.
            drop(finish.apply(&self.fd));
        }
    }
}

impl Finish {
    fn apply(self, fd: impl std::os::fd::AsFd) -> io::Result<()> {
        if let Some(mode) = self.mode {
            rustix::fs::fchmod(&fd, Mode::from_raw_mode(mode & PERMISSIONS))?;
        }
        if let Some(times) = self.times {
            let times = Timestamps {
                last_access: Timespec {
                    tv_sec: 0,
                    tv_nsec: UTIME_OMIT,
                },
                last_modification: Timespec {
                    tv_sec: i64::from(times.modified),
                    tv_nsec: 0,
                },
            };
            rustix::fs::futimens(&fd, &times)?;
        }
        Ok(())
    }
}

impl Folder {
    /// Opens the folder that the user named, through links.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            fd: rustix::fs::open(path, flags, Mode::empty())?,
            path: path.to_path_buf(),
            finish: Mutex::default(),
            _above: None,
        })
    }

    /// Opens a folder in this one and makes it where it is missing; says whether it was made.
    pub(crate) fn below(self: &Arc<Self>, name: &[u8]) -> io::Result<(Self, bool)> {
        let made = match rustix::fs::mkdirat(&self.fd, name, Mode::RWXU) {
            Ok(()) => true,
            Err(rustix::io::Errno::EXIST) => false,
            Err(error) => return Err(error.into()),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = Self {
            fd: rustix::fs::openat(&self.fd, name, flags, Mode::empty())?,
            path: self.path_of(name),
            finish: Mutex::default(),
            _above: Some(Arc::clone(self)),
        };
        Ok((folder, made))
    }

    /// Says what the folder gets when all that is in it is in place.
    pub(crate) fn finish_with(&self, finish: Finish) {
        *self.finish.lock().unwrap_or_else(PoisonError::into_inner) = Some(finish);
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn path_of(&self, name: &[u8]) -> PathBuf {
        self.path.join(std::ffi::OsStr::from_bytes(name))
    }

    /// Writes a whole file: beside it, then over it.
    pub(crate) fn write(
        &self,
        part: &[u8],
        name: &[u8],
        content: &[u8],
        finish: Finish,
        sync: bool,
    ) -> io::Result<()> {
        let file = self.create(part)?;
        let written = (&file).write_all(content).and_then(|()| {
            finish.apply(&file)?;
            if sync { file.sync_all() } else { Ok(()) }
        });
        let placed = written.and_then(|()| self.rename(part, name));
        if placed.is_err() {
            self.remove(part);
        }
        placed
    }

    /// Makes a half-written file, which no other run takes over while it is open.
    pub(crate) fn create(&self, part: &[u8]) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.fd, part, flags, Mode::RUSR | Mode::WUSR)?;
        // Nobody else knows its name; file systems without locks have none to give.
        let _ = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
        Ok(File::from(file))
    }

    /// Opens a half-written file that an earlier run left. `None`: another run has it.
    pub(crate) fn take_over(&self, part: &[u8]) -> io::Result<Option<File>> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::openat(&self.fd, part, flags, Mode::empty())?;
        let held = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err();
        let file = File::from(file);
        Ok((!held && file.metadata()?.is_file()).then_some(file))
    }

    /// Makes a link: beside its place, then over what is there.
    pub(crate) fn link(&self, part: &[u8], name: &[u8], target: &[u8]) -> io::Result<()> {
        rustix::fs::symlinkat(target, &self.fd, part)?;
        let placed = self.rename(part, name);
        if placed.is_err() {
            self.remove(part);
        }
        placed
    }

    /// Removes a half-written file, where it is still there.
    pub(crate) fn remove(&self, part: &[u8]) {
        // What is gone needs no removing, and there is nobody to tell.
        let _ = rustix::fs::unlinkat(&self.fd, part, AtFlags::empty());
    }

    fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.fd, from, &self.fd, to)?)
    }
}

/// A half-written file. Dropping it removes it, unless it was kept.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) folder: Arc<Folder>,
    pub(crate) name: Vec<u8>,
    pub(crate) file: Arc<File>,
    pub(crate) keep: bool,
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.keep {
            self.folder.remove(&self.name);
        }
    }
}

impl Part {
    /// Sets what a whole file gets, and puts it in its place.
    pub(crate) fn place(mut self, name: &[u8], size: u64, finish: Finish) -> io::Result<()> {
        // A file that was taken over may be longer.
        self.file.set_len(size)?;
        finish.apply(&*self.file)?;
        self.folder.rename(&self.name, name)?;
        // Nothing has the old name any more.
        self.keep = true;
        Ok(())
    }
}

/// Reads exactly a range of a file.
pub(crate) fn read_at(file: &File, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}

/// Follows a link at the end of a path, so that what it points to is replaced and not the link.
pub(crate) fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    // As many as Linux follows.
    for _ in 0..40 {
        match std::fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_symlink() => {
                let target = std::fs::read_link(&path)?;
                let folder = path.parent().unwrap_or(Path::new(""));
                path = folder.join(target);
            }
            _ => return Ok(path),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}
