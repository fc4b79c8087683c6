//! The run directory: where a daemon's socket, lock and identity live (settled details 7).
//!
//! A daemon that is started beside another one, because that one is older and finishes its turns, has its own in a
//! numbered folder of the first one's.
//!
//! It is not in the home, which may be on a network file system. Its name carries a hash of home, machine and boot,
//! so that a demo, a test and the real daemon of one user never meet, and a rebooted machine starts clean.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::identity;

/// A socket path must stay below this many bytes (`sun_path` holds 108).
const SOCKET_PATH: usize = 100;

/// How many daemons of one home may run beside each other: the one that serves, and older ones that drain.
pub const PLACES: u8 = 9;

/// The run directory of a daemon of one home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDir {
    path: PathBuf,
}

/// Why a run directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RunDirError {
    /// It cannot be made or looked at.
    #[error("could not prepare the run directory {}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Somebody else made it, or it is a link: nothing in it can be trusted.
    #[error("the run directory {} is not ours: {why}", path.display())]
    NotOurs {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The path of its socket would be too long for the kernel.
    #[error("the path {} is too long for a socket", .0.display())]
    TooLong(PathBuf),
}

impl RunDir {
    /// Names the run directory for `home`. `runtime` is the user's runtime directory (`XDG_RUNTIME_DIR`), and is used
    /// only where it outlives the login (`lingering`).
    #[must_use]
    pub fn locate(home: &Path, runtime: Option<&Path>, lingering: bool) -> Self {
        let digest = Sha256::new()
            .chain_update(home.as_os_str().as_encoded_bytes())
            .chain_update([0])
            .chain_update(identity::machine_id())
            .chain_update([0])
            .chain_update(identity::boot_id())
            .finalize();
        let hash: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let path = match runtime.filter(|dir| lingering && dir.is_absolute() && dir.is_dir()) {
            Some(dir) => dir.join(format!("reasonix-{hash}")),
            None => PathBuf::from(format!(
                "/tmp/reasonix-{}-{hash}",
                rustix::process::getuid().as_raw()
            )),
        };
        Self { path }
    }

    /// Names the run directory of a daemon beside the first one: a folder in its directory, so that what hides that one
    /// hides them all. Place 0 is the first one's.
    #[must_use]
    pub fn place(&self, place: u8) -> Self {
        match place {
            0 => self.clone(),
            _ => Self {
                path: self.path.join(place.to_string()),
            },
        }
    }

    /// Lists the run directories that daemons of this home may have, the first one first.
    pub fn places(&self) -> impl Iterator<Item = (u8, Self)> {
        (0..PLACES).map(|place| (place, self.place(place)))
    }

    /// Names the run directory of the daemon that listens on `socket`; `None` if that is empty.
    pub(crate) fn of_socket(socket: &str) -> Option<Self> {
        let path = Path::new(socket).parent().filter(|path| path.is_absolute())?;
        Some(Self {
            path: path.to_path_buf(),
        })
    }

    /// Names the folder of the socket through which a client lends tools its SSH agent. It is beside the first place's
    /// directory, which is hidden from tools.
    pub(crate) fn keys(&self) -> KeysDir {
        let first = self.first();
        let mut path = first.as_ref().unwrap_or(self).path.clone().into_os_string();
        path.push("-keys");
        if let (Some(_), Some(place)) = (first, self.path.file_name()) {
            path.push("-");
            path.push(place);
        }
        KeysDir(path.into())
    }

    /// Makes the directory if it is missing, and checks that it is ours alone.
    ///
    /// # Errors
    /// [`RunDirError`] when it cannot be made, belongs to somebody else, is a link, or its socket path is too long.
    pub fn prepare(&self) -> Result<(), RunDirError> {
        if let Some(first) = self.first() {
            first.prepare()?;
        }
        make_ours(&self.path)?;
        is_short(self.socket())
    }

    /// Gives the directory of the first place, if this is another one's.
    pub(crate) fn first(&self) -> Option<Self> {
        let name = self.path.file_name()?.to_str()?;
        let is_place = name.parse::<u8>().is_ok_and(|place| place < PLACES);
        let path = self.path.parent().filter(|_| is_place)?;
        Some(Self {
            path: path.to_path_buf(),
        })
    }

    /// Gives the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the socket's path.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.path.join("s")
    }

    /// Gives the path of the lock that the daemon holds while it lives.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// Gives the path of the daemon's identity.
    #[must_use]
    pub fn identity(&self) -> PathBuf {
        self.path.join("identity.json")
    }
}

/// The folder of the socket through which a client lends tools its SSH agent.
#[derive(Debug)]
pub(crate) struct KeysDir(PathBuf);

impl KeysDir {
    /// Gives the socket's path.
    pub(crate) fn socket(&self) -> PathBuf {
        self.0.join("agent.sock")
    }

    /// Makes the folder if it is missing, and checks that it is ours alone.
    pub(crate) fn prepare(&self) -> Result<(), RunDirError> {
        is_short(self.socket())?;
        make_ours(&self.0)
    }

    /// Removes the folder, with a socket that a client left.
    pub(crate) fn remove(&self) {
        // Most often there is none, and whatever else stays does no harm.
        drop(fs::remove_file(self.socket()));
        drop(fs::remove_dir(&self.0));
    }
}

fn make_ours(path: &Path) -> Result<(), RunDirError> {
    let io = |source| RunDirError::Io {
        path: path.to_path_buf(),
        source,
    };
    let not_ours = |why: &str| RunDirError::NotOurs {
        path: path.to_path_buf(),
        why: why.to_owned(),
    };
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(io(error)),
        _ => {}
    }
    let found = fs::symlink_metadata(path).map_err(io)?;
    if !found.is_dir() {
        return Err(not_ours("it is not a directory"));
    }
    if found.uid() != rustix::process::getuid().as_raw() {
        return Err(not_ours("another user owns it"));
    }
    if found.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(io)?;
    }
    Ok(())
}

fn is_short(socket: PathBuf) -> Result<(), RunDirError> {
    if socket.as_os_str().len() >= SOCKET_PATH {
        Err(RunDirError::TooLong(socket))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_do_not_meet() {
        let (a, b) = (
            RunDir::locate(Path::new("/a"), None, false),
            RunDir::locate(Path::new("/b"), None, false),
        );
        assert_ne!(a, b);
        assert!(a.socket().as_os_str().len() < SOCKET_PATH);
    }

    #[test]
    fn the_place_for_keys_is_outside_what_is_hidden() {
        let first = RunDir::locate(Path::new("/a"), None, false);
        let sockets = [0, 1, 2].map(|place| first.place(place).keys().socket());
        for (at, socket) in sockets.iter().enumerate() {
            assert!(!socket.starts_with(first.path()) && !sockets[..at].contains(socket));
        }
        let text = first.place(1).socket().display().to_string();
        assert_eq!(RunDir::of_socket(&text), Some(first.place(1)));
        assert_eq!(RunDir::of_socket(""), None);
    }

    #[test]
    fn a_runtime_directory_counts_only_with_lingering() {
        let dir = tempfile::tempdir().unwrap();
        let home = Path::new("/a");
        assert!(
            RunDir::locate(home, Some(dir.path()), true)
                .path()
                .starts_with(dir.path())
        );
        assert!(
            RunDir::locate(home, Some(dir.path()), false)
                .path()
                .starts_with("/tmp")
        );
        assert!(
            RunDir::locate(home, Some(&dir.path().join("gone")), true)
                .path()
                .starts_with("/tmp")
        );
    }

    #[test]
    fn refuses_links_and_mends_modes() {
        let dir = tempfile::tempdir().unwrap();
        let real = RunDir {
            path: dir.path().join("real"),
        };
        fs::create_dir(real.path()).unwrap();
        fs::set_permissions(real.path(), fs::Permissions::from_mode(0o755)).unwrap();
        real.prepare().unwrap();
        assert_eq!(
            fs::metadata(real.path()).unwrap().permissions().mode() & 0o777,
            0o700
        );
        let link = RunDir {
            path: dir.path().join("link"),
        };
        std::os::unix::fs::symlink(real.path(), link.path()).unwrap();
        assert!(matches!(link.prepare(), Err(RunDirError::NotOurs { .. })));
        let long = RunDir {
            path: dir.path().join("x".repeat(90)),
        };
        assert!(matches!(long.prepare(), Err(RunDirError::TooLong(_))));
    }
}
