//! Copying from a host.

mod carry;
mod file;
mod tree;

use std::{
    io::Read as _,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use sftp::{Kind, name::show};
use sha2::{Digest as _, Sha256};

use crate::{
    Cancel, Error, Host, Outcome, Progress, Transfer,
    error::Cause,
    local::{self, Folder},
    transfer::{Done, Stop, ended, until},
};

/// What to copy from a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Get {
    /// A file or folder of the host; a link is followed.
    pub from: Vec<u8>,
    /// What it is to be called here: the exact name, not the folder to put it in. Where a link has this name, what it
    /// points to is replaced.
    pub to: PathBuf,
    /// How to copy.
    pub transfer: Transfer,
    /// Gives the hash of a single file in [`Outcome::state`].
    pub hash: bool,
}

/// What everything in one call shares.
#[derive(Clone, Copy)]
struct Call<'a> {
    host: &'a Host,
    transfer: Transfer,
    progress: &'a Progress,
    cancel: &'a Cancel,
}

impl Host {
    /// Copies a file or a tree from the host. Files replace what has their name, when they are whole.
    ///
    /// In a tree, what fails is in [`Outcome::failed`] and the rest goes on; names that would lead out of the target,
    /// and links in the way of folders, fail. Sockets, pipes and devices are left out with a note.
    ///
    /// # Errors
    /// The source cannot be read, a single file cannot be written, or the connection is lost. What is left of a big file
    /// is found again by the next call.
    pub async fn get(&self, get: &Get, progress: &Progress, cancel: &Cancel) -> Result<Outcome, Error> {
        let mut outcome = Outcome::default();
        let call = Call {
            host: self,
            transfer: get.transfer,
            progress,
            cancel,
        };
        let result = call.run(get, &mut outcome).await;
        ended(result, outcome)
    }
}

impl Call<'_> {
    async fn run(&self, get: &Get, outcome: &mut Outcome) -> Result<(), Stop> {
        let (from, attributes) = until(self.cancel, async {
            let from = self.host.resolve(&get.from).await?;
            let attributes = self.host.client().stat(&from).await?;
            Ok((from, attributes))
        })
        .await?;
        match attributes.kind() {
            Kind::Folder if self.transfer.recursive => {
                return self.tree(from, attributes, &get.to, outcome).await;
            }
            Kind::Folder => {
                return Err(Error::host("copy", &from, Cause::WrongKind("it is a folder")).into());
            }
            Kind::File | Kind::Unknown => {}
            _ => {
                let why = Cause::WrongKind("it is neither file nor folder");
                return Err(Error::host("copy", &from, why).into());
            }
        }
        let (folder, name) = self.target(&get.to).await?;
        let fetch = file::Fetch {
            call: *self,
            from,
            attributes,
            folder: Arc::clone(&folder),
            name: name.clone(),
            single: true,
        };
        self.progress.found(attributes.size.unwrap_or(0));
        let Done {
            bytes,
            resumed,
            mut state,
        } = fetch.run().await?;
        if get.hash {
            state.hash = Some(self.hash(folder.path_of(&name)).await?);
        }
        outcome.files = 1;
        outcome.bytes = bytes;
        outcome.resumed = resumed;
        outcome.state = Some(state);
        Ok(())
    }

    /// Opens the folder of a target and gives the name in it.
    async fn target(&self, to: &Path) -> Result<(Arc<Folder>, Vec<u8>), Stop> {
        let (path, stale) = (to.to_path_buf(), self.transfer.stale);
        let opened = self.host.disk(move || {
            let path = local::behind_links(&path)?;
            let name = path.file_name().ok_or(std::io::ErrorKind::InvalidInput)?;
            let parent = path.parent().unwrap_or(Path::new(""));
            let folder = Folder::open(parent)?;
            // What cannot be cleaned up is no reason to copy nothing.
            drop(crate::sweep::tidy_local(folder.path(), stale, None));
            Ok((Arc::new(folder), name.as_bytes().to_vec()))
        });
        let opened: std::io::Result<_> = opened.await;
        opened.map_err(|error| Error::local("write", to.as_os_str().as_bytes(), error).into())
    }

    async fn hash(&self, path: PathBuf) -> Result<[u8; 32], Stop> {
        let shown = path.clone();
        let hashed = self.host.disk(move || {
            let mut hash = Sha256::new();
            let mut file = std::fs::File::open(path)?;
            let mut buffer = vec![0; 64 * 1024];
            while let count @ 1.. = file.read(&mut buffer)? {
                hash.update(buffer.get(..count).unwrap_or_default());
            }
            Ok(hash.finalize().into())
        });
        let hashed: std::io::Result<[u8; 32]> = hashed.await;
        hashed.map_err(|error| Error::local("read", shown.as_os_str().as_bytes(), error).into())
    }
}

impl std::fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call")
            .field("home", &show(self.host.home()))
            .field("transfer", &self.transfer)
            .finish_non_exhaustive()
    }
}
