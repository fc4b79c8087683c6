//! What a name of the client means here: where relative names begin, what `~` is, and names without links.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

use rustix::io::Errno;

use super::accounts;

/// As many links are followed in one name (MAXSYMLINKS).
const LINKS: usize = 20;
/// The longest name that is looked at, in bytes (PATH_MAX).
const LONGEST: usize = 4096;

/// Where names begin.
#[derive(Debug, Clone)]
pub(super) struct Paths {
    home: PathBuf,
}

impl Paths {
    /// Lets relative names and `~` begin in a home, which is resolved as far as it exists.
    pub(super) fn from_home(home: &Path) -> Self {
        let home = fs::canonicalize(home).unwrap_or_else(|_| home.to_path_buf());
        Self { home }
    }

    /// Gives the path of a name.
    ///
    /// # Errors
    /// `ENOENT` for an empty name, `EINVAL` for one with a zero byte, as system calls have it.
    pub(super) fn at(&self, name: &[u8]) -> Result<PathBuf, Errno> {
        if name.is_empty() {
            return Err(Errno::NOENT);
        }
        if name.contains(&0) {
            return Err(Errno::INVAL);
        }
        Ok(self.home.join(OsStr::from_bytes(name)))
    }

    /// Resolves a name as realpath(3) does, but its last part need not exist. An empty name is the home.
    ///
    /// # Errors
    /// Whatever looking at its parts answers.
    pub(super) fn real(&self, name: &[u8]) -> Result<Vec<u8>, Errno> {
        if name.contains(&0) {
            return Err(Errno::INVAL);
        }
        let begin = self.home.as_os_str().as_bytes();
        match name.strip_prefix(b"/") {
            Some(rest) => Walk::from(b"/", rest).end(),
            None => Walk::from(begin, name).end(),
        }
    }

    /// Resolves a name whose `~` or `~user` stands for a home.
    ///
    /// # Errors
    /// `ENOENT` for a user that is not known, and as [`Paths::real`].
    pub(super) fn expand(&self, name: &[u8]) -> Result<Vec<u8>, Errno> {
        let Some(rest) = name.strip_prefix(b"~") else {
            return self.real(name);
        };
        let end = rest.iter().position(|&byte| byte == b'/').unwrap_or(rest.len());
        let (user, below) = rest.split_at(end);
        let mut path = self.home_of(user)?;
        path.extend_from_slice(below);
        self.real(&path)
    }

    /// Gives the home of a user; that of this account for an empty name.
    ///
    /// # Errors
    /// `ENOENT` for one that passwd(5) does not list.
    pub(super) fn home_of(&self, user: &[u8]) -> Result<Vec<u8>, Errno> {
        if user.is_empty() {
            return Ok(self.home.as_os_str().as_bytes().to_vec());
        }
        accounts::home_of(user).ok_or(Errno::NOENT)
    }
}

/// A name that is resolved part by part.
struct Walk {
    /// What is resolved so far.
    done: Vec<u8>,
    /// What is still to be resolved.
    left: Vec<u8>,
    links: usize,
}

impl Walk {
    fn from(done: &[u8], left: &[u8]) -> Self {
        Self {
            done: done.to_vec(),
            left: left.to_vec(),
            links: 0,
        }
    }

    fn end(mut self) -> Result<Vec<u8>, Errno> {
        while !self.left.is_empty() {
            if self.done.len() + self.left.len() >= LONGEST {
                return Err(Errno::NAMETOOLONG);
            }
            let slash = self.left.iter().position(|&byte| byte == b'/');
            let part: Vec<u8> = self.left.drain(..slash.unwrap_or(self.left.len())).collect();
            if slash.is_some() {
                self.left.remove(0);
            }
            match part.as_slice() {
                b"" | b"." => {}
                b".." => self.up(),
                _ => {
                    let is_last = slash.is_none();
                    self.down(&part);
                    match fs::symlink_metadata(self.path()) {
                        Ok(found) if found.is_symlink() => self.follow(!is_last)?,
                        Ok(_) => {}
                        Err(error) if is_last && error.kind() == std::io::ErrorKind::NotFound => break,
                        Err(error) => return Err(errno(&error)),
                    }
                }
            }
        }
        Ok(self.done)
    }

    fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.done))
    }

    fn down(&mut self, part: &[u8]) {
        if !self.done.ends_with(b"/") {
            self.done.push(b'/');
        }
        self.done.extend_from_slice(part);
    }

    fn up(&mut self) {
        let slash = self.done.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        self.done.truncate(slash.max(1));
    }

    fn follow(&mut self, has_more: bool) -> Result<(), Errno> {
        self.links += 1;
        if self.links > LINKS {
            return Err(Errno::LOOP);
        }
        let target = fs::read_link(self.path()).map_err(|error| errno(&error))?;
        let mut target = OsString::from(target).into_vec();
        if target.starts_with(b"/") {
            self.done = b"/".to_vec();
        } else {
            self.up();
        }
        if has_more {
            target.push(b'/');
            target.append(&mut self.left);
        }
        self.left = target;
        Ok(())
    }
}

/// Gives the number of an error of the system.
pub(super) fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
