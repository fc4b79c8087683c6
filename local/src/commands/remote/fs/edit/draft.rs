//! The private copy that an editor works on. It lies in Reasonix's own folder, so that it outlives whatever happens.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::{exit::Exit, report::Failure};

/// The private copy of a file.
pub(super) struct Draft {
    folder: PathBuf,
    file: PathBuf,
    /// The hash of what was opened, once it is there.
    before: std::sync::OnceLock<[u8; 32]>,
}

impl Draft {
    /// Makes a folder of its own for a file with this name; editors tell kinds of text by the name.
    pub(super) async fn create(home: &Path, name: &[u8]) -> Result<Self, Failure> {
        let edits = home.join("edits");
        let name = if sftp::name::is_plain(name) { name } else { b"file" };
        let stamp = stdx::clock::unix_millis();
        let folder = edits.join(format!("{stamp}-{}", std::process::id()));
        let file = folder.join(OsStr::from_bytes(name));
        let made = folder.clone();
        let making = stdx::task::blocking(move || {
            let mut private = fs::DirBuilder::new();
            private.mode(0o700);
            match private.create(&edits) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            private.create(&made)
        });
        making.await.map_err(|error| {
            let message = format!(
                "could not make the folder {} for the text: {error}",
                folder.display()
            );
            Failure::new(Exit::Failed, message)
        })?;
        Ok(Self {
            folder,
            file,
            before: std::sync::OnceLock::new(),
        })
    }

    /// Gives the file.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Makes the file private and writable, empty where it is missing, and remembers how it is.
    pub(super) async fn begin(&self) -> Result<(), Failure> {
        let file = self.file.clone();
        let begun = stdx::task::blocking(move || {
            let mut options = fs::OpenOptions::new();
            if !file.exists() {
                options.write(true).create_new(true).mode(0o600).open(&file)?;
            }
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
            hash(&file)
        });
        let hash = begun.await.map_err(|error| {
            let message = format!(
                "could not prepare {} for the editor: {error}",
                self.file.display()
            );
            Failure::new(Exit::Failed, message)
        })?;
        // Only the first counts, and there is one.
        let _first = self.before.set(hash);
        Ok(())
    }

    /// Says whether the text is another one now.
    pub(super) async fn is_changed(&self) -> io::Result<bool> {
        let file = self.file.clone();
        let now = stdx::task::blocking(move || hash(&file)).await?;
        Ok(self.before.get() != Some(&now))
    }

    /// Gives the hash of the text as it is now.
    pub(super) async fn hash(&self) -> Option<[u8; 32]> {
        let file = self.file.clone();
        stdx::task::blocking(move || hash(&file)).await.ok()
    }

    /// Gives where the person's text is: the file, or its folder where the editor left it under another name; `None`
    /// where the editor left nothing.
    pub(super) async fn left(&self) -> Option<PathBuf> {
        let (file, folder) = (self.file.clone(), self.folder.clone());
        let looking = stdx::task::blocking(move || {
            if fs::symlink_metadata(&file).is_ok() {
                return Some(file);
            }
            // A folder that cannot be read may still hold something.
            let is_empty = fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_none());
            (!is_empty).then_some(folder)
        });
        looking.await
    }

    /// Removes it with its folder, in which editors may have left files of their own.
    pub(super) async fn remove(&self) {
        let folder = self.folder.clone();
        // What stays is only visible to the user.
        drop(stdx::task::blocking(move || fs::remove_dir_all(folder)).await);
    }
}

fn hash(file: &Path) -> io::Result<[u8; 32]> {
    // Reading a pipe in its place would wait for ever.
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    Ok(Sha256::digest(fs::read(file)?).into())
}
