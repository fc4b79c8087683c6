//! Files of this machine, to be read.

use std::{
    fs::{File, Metadata},
    io::Read as _,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{FileTypeExt as _, MetadataExt as _},
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use sftp::{Kind, packet::Times};

use crate::{Error, Host, error::Cause};

/// Something of this machine, as it was when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    pub(super) size: u64,
    pub(super) mode: u32,
    /// Seconds and nanoseconds since 1970.
    pub(super) modified: (i64, i64),
    pub(super) accessed: i64,
}

impl Source {
    /// Looks at what a path leads to.
    pub(super) async fn look(host: &Host, path: &Path) -> Result<Self, Error> {
        let own = path.to_path_buf();
        let looked: std::io::Result<_> = host
            .disk(move || Ok(Self::of(&std::fs::metadata(&own)?, own)))
            .await;
        looked.map_err(|error| Error::local("read", path.as_os_str().as_bytes(), error))
    }

    fn of(metadata: &Metadata, path: PathBuf) -> Self {
        let file_type = metadata.file_type();
        let kind = if file_type.is_file() {
            Kind::File
        } else if file_type.is_dir() {
            Kind::Folder
        } else if file_type.is_symlink() {
            Kind::Link
        } else if file_type.is_fifo() {
            Kind::Pipe
        } else if file_type.is_socket() {
            Kind::Socket
        } else {
            Kind::Device
        };
        Self {
            path,
            kind,
            size: metadata.len(),
            mode: metadata.mode(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            accessed: metadata.atime(),
        }
    }

    /// Lists what is in a folder.
    pub(super) async fn list(&self, host: &Host) -> Result<Vec<Self>, Error> {
        let path = self.path.clone();
        let listed: std::io::Result<_> = host
            .disk(move || {
                let mut found = Vec::new();
                for entry in std::fs::read_dir(&path)? {
                    let entry = entry?;
                    // What is gone by now is not copied.
                    if let Ok(metadata) = entry.metadata() {
                        found.push(Self::of(&metadata, entry.path()));
                    }
                }
                Ok(found)
            })
            .await;
        listed.map_err(|error| self.unread(error))
    }

    /// Opens it, and sees that it is what was looked at.
    pub(super) async fn open(&self, host: &Host) -> Result<Arc<File>, Error> {
        let own = self.clone();
        let opened = host.disk(move || own.open_now()).await;
        opened.map(Arc::new)
    }

    fn open_now(&self) -> Result<File, Error> {
        let file = File::open(&self.path).map_err(|error| self.unread(error))?;
        self.check(&file)?;
        Ok(file)
    }

    /// Reads all of it.
    pub(super) async fn read(&self, host: &Host) -> Result<Vec<u8>, Error> {
        let own = self.clone();
        host.disk(move || {
            let mut file = own.open_now()?;
            let mut content = Vec::new();
            // One more shows whether it has grown.
            let mut limited = (&mut file).take(own.size + 1);
            limited
                .read_to_end(&mut content)
                .map_err(|error| own.unread(error))?;
            own.check(&file)?;
            if content.len() as u64 == own.size {
                Ok(content)
            } else {
                Err(own.changed())
            }
        })
        .await
    }

    /// Sees whether it is unchanged.
    pub(super) fn check(&self, file: &File) -> Result<(), Error> {
        let now = file.metadata().map_err(|error| self.unread(error))?;
        if now.len() == self.size && (now.mtime(), now.mtime_nsec()) == self.modified {
            Ok(())
        } else {
            Err(self.changed())
        }
    }

    pub(super) fn times(&self) -> Times {
        // SFTP has no times before 1970 and after 2106.
        let seconds = |time: i64| u32::try_from(time).unwrap_or(0);
        Times {
            accessed: seconds(self.accessed),
            modified: seconds(self.modified.0),
        }
    }

    pub(super) fn name(&self) -> Vec<u8> {
        self.path
            .file_name()
            .map(|name| name.as_bytes().to_vec())
            .unwrap_or_default()
    }

    pub(super) fn unread(&self, error: std::io::Error) -> Error {
        Error::local("read", self.path.as_os_str().as_bytes(), error)
    }

    fn changed(&self) -> Error {
        let path = self.path.as_os_str().as_bytes();
        Error::new("copy", path, crate::Side::Local, Cause::Changed)
    }
}
