//! Where control sockets are: `REASONIX_HOME/run/links/HOST-PID.sock`, in a folder of this user alone.
//!
//! Where that path is too long for a socket, a folder below `XDG_RUNTIME_DIR` or `/tmp` takes its place, named after the
//! home, so that two homes of one user never meet.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use sha2::{Digest as _, Sha256};

use crate::invocation::Invocation;

/// A socket path must stay below this many bytes (`sun_path` holds 108).
const SOCKET_PATH: usize = 100;
/// `HOST-PID.sock` has no more bytes than this.
const LONGEST_NAME: usize = 8 + 1 + 10 + 5;

/// The folder of the control sockets of a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    folder: PathBuf,
}

/// A socket that somebody left there, living or dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// The socket.
    pub(crate) path: PathBuf,
    /// The process that made it, by its name.
    pub(crate) pid: u32,
    /// When.
    pub(crate) since: SystemTime,
}

impl Place {
    /// Names the folder of this invocation's home.
    pub(crate) fn of(invocation: &Invocation) -> Self {
        let runtime = invocation.variable("XDG_RUNTIME_DIR").map(Path::new);
        Self::locate(&invocation.home, runtime)
    }

    fn locate(home: &Path, runtime: Option<&Path>) -> Self {
        let folder = home.join("run").join("links");
        if folder.as_os_str().len() + 1 + LONGEST_NAME < SOCKET_PATH {
            return Self { folder };
        }
        let hash = short_hash(home.as_os_str().as_encoded_bytes());
        let uid = rustix::process::getuid().as_raw();
        let folder = match runtime.filter(|folder| folder.is_absolute() && folder.as_os_str().len() < 50) {
            Some(runtime) => runtime.join(format!("reasonix-links-{hash}")),
            None => PathBuf::from(format!("/tmp/reasonix-links-{uid}-{hash}")),
        };
        Self { folder }
    }

    /// Makes the folder if it is missing, and checks that nobody else could have put something there.
    pub(crate) fn prepare(&self) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.mode(0o700).recursive(true).create(&self.folder)?;
        self.check()?;
        fs::set_permissions(&self.folder, fs::Permissions::from_mode(0o700))
    }

    /// Says whether what lies in the folder can be trusted.
    fn check(&self) -> io::Result<()> {
        let found = fs::symlink_metadata(&self.folder)?;
        if found.is_dir() && found.uid() == rustix::process::getuid().as_raw() {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("{} is not a folder of this user", self.folder.display()),
        ))
    }

    /// Names the socket of this process for a host.
    pub(crate) fn socket(&self, host: &str) -> PathBuf {
        let name = format!("{}-{}.sock", short_hash(host.as_bytes()), std::process::id());
        self.folder.join(name)
    }

    /// Lists the sockets for a host, or all, the oldest first. Some may be of processes that are gone.
    pub(crate) fn list(&self, host: Option<&str>) -> Vec<Found> {
        if self.check().is_err() {
            return Vec::new();
        }
        let wanted = host.map(|host| short_hash(host.as_bytes()));
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let sockets = entries.filter_map(Result::ok).filter_map(|entry| {
            let name = entry.file_name();
            let (hash, pid) = name.to_str()?.strip_suffix(".sock")?.split_once('-')?;
            let pid = pid.parse().ok()?;
            let fits = wanted.as_deref().is_none_or(|wanted| wanted == hash);
            let since = entry.metadata().and_then(|metadata| metadata.modified()).ok()?;
            let path = entry.path();
            fits.then_some(Found { path, pid, since })
        });
        let mut sockets: Vec<Found> = sockets.collect();
        sockets.sort_by_key(|found| (found.since, found.pid));
        sockets
    }
}

/// Gives eight digits for something of any length.
fn short_hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_path_is_never_too_long() {
        let long = "/home/".to_owned() + &"x".repeat(120);
        for (home, runtime) in [
            ("/home/me/.reasonix", None),
            (long.as_str(), None),
            (&long, Some("/run/user/1000")),
            (&long, Some("relative")),
            (&long, Some(long.as_str())),
        ] {
            let place = Place::locate(Path::new(home), runtime.map(Path::new));
            let socket = place.socket(&"host".repeat(100));
            assert!(socket.as_os_str().len() < SOCKET_PATH, "{}", socket.display());
            assert!(socket.is_absolute());
        }
        let ordinary = Place::locate(Path::new("/home/me/.reasonix"), None);
        assert!(ordinary.folder.ends_with("run/links"));
        let (one, two) = (long.clone() + "1", long + "2");
        assert_ne!(
            Place::locate(Path::new(&one), None),
            Place::locate(Path::new(&two), None)
        );
    }

    #[test]
    fn lists_the_sockets_of_a_host_and_nothing_else() {
        let home = stdx::PrivateFolder::create(&std::env::temp_dir(), "rx-links-").unwrap();
        let place = Place::locate(home.path(), None);
        assert!(place.list(None).is_empty());
        place.prepare().unwrap();
        let mine = place.socket("box");
        for path in [
            mine.clone(),
            place.socket("other"),
            place.folder.join("x.sock"),
            place.folder.join("a-b.sock"),
        ] {
            fs::write(path, "").unwrap();
        }
        let found = place.list(Some("box"));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].path.clone(), found[0].pid), (mine, std::process::id()));
        assert_eq!(place.list(None).len(), 2);
        let mode = fs::metadata(&place.folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn a_folder_that_is_a_link_is_not_trusted() {
        let home = stdx::PrivateFolder::create(&std::env::temp_dir(), "rx-links-").unwrap();
        let place = Place::locate(home.path(), None);
        fs::create_dir_all(home.path().join("run")).unwrap();
        fs::create_dir(home.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(home.path().join("elsewhere"), &place.folder).unwrap();
        assert!(place.prepare().is_err());
        fs::write(place.socket("box"), "").unwrap();
        assert!(place.list(None).is_empty());
    }
}
