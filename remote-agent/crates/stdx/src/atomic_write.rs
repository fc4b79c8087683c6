//! Replacing a file so that a reader, or a crash, sees the old content or the new, never a mixture.

use std::{fs, io, io::Write as _, os::unix::fs::PermissionsExt as _, path::Path};

/// Writes `content` to `path` through a synced temporary file in the same folder and a rename.
///
/// `mode` is the permission of the new file. A symbolic link at `path` is replaced; callers that must keep links
/// resolve them first.
///
/// # Errors
/// Any error of creating, writing, syncing or renaming; `path` then has its old content and no temporary file is
/// left.
pub fn atomic_write(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".reasonix-")
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(folder)?;
    // The builder's mode is subject to the umask; the wanted one is not.
    file.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_content_and_sets_the_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        atomic_write(&path, b"one", 0o644).unwrap();
        atomic_write(&path, b"two", 0o600).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failure_leaves_no_litter() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dir");
        fs::create_dir_all(path.join("x")).unwrap();
        assert!(atomic_write(&path, b"one", 0o644).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
