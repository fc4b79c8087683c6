//! One host's files.

use std::{ops::Range, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use sftp::{
    Attributes, Client, Code, Kind,
    client::{File, Pull},
    name::{join, split},
    packet::OpenFlags,
};
use stdx::task::Scope;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{Channels, Error, State, channels::Sessions, error::Cause, listing::Listing};

/// How to work with a host.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The most channels that are used at once.
    pub channels: usize,
    /// How each session behaves.
    pub sftp: sftp::client::Options,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            channels: 4,
            sftp: sftp::client::Options::default(),
        }
    }
}

/// The files of one host. Clones share its sessions, which end with the last clone or with the scope.
#[derive(Debug, Clone)]
pub struct Host(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    sessions: Sessions,
    home: Vec<u8>,
    /// What transfers may hold in memory, in KiB.
    room: Semaphore,
    /// Threads that work on files of this machine.
    disk: Semaphore,
}

/// What all transfers of one host may hold in memory together, in KiB.
const ROOM: u32 = 16 * 1024;
/// Threads that work on files of this machine at a time.
const THREADS: usize = 16;

/// A name with what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name in its folder, or the path that was asked for.
    pub name: Vec<u8>,
    /// Size, owner, mode and times.
    pub attributes: Attributes,
    /// Where a link points to.
    pub target: Option<Vec<u8>>,
}

impl Entry {
    /// Gives what the name stands for.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.attributes.kind()
    }
}

impl Host {
    /// Opens the first session.
    ///
    /// # Errors
    /// No channel could be opened, or nobody speaks SFTP on it.
    pub async fn open(channels: Arc<dyn Channels>, options: &Options, scope: &Scope) -> Result<Self, Error> {
        let sessions = Sessions::open(channels, options.sftp, options.channels, scope).await?;
        let home = sessions.first().real_path(b".").await?;
        Ok(Self(Arc::new(Inner {
            sessions,
            home,
            room: Semaphore::new(ROOM as usize),
            disk: Semaphore::new(THREADS),
        })))
    }

    /// Ends the sessions.
    pub async fn close(&self) {
        self.0.sessions.close().await;
    }

    /// Gives the folder where sessions begin: the user's home.
    #[must_use]
    pub fn home(&self) -> &[u8] {
        &self.0.home
    }

    /// Makes a path absolute: `~` and `~/…` are the home, a path without a slash in front lies in it, and `~user` is
    /// asked of the host.
    ///
    /// # Errors
    /// The host knows no such user, or cannot be asked.
    pub async fn resolve(&self, path: &[u8]) -> Result<Vec<u8>, Error> {
        let home = self.home();
        match path {
            b"" | b"~" => Ok(home.to_vec()),
            [b'~', b'/', rest @ ..] => Ok(join(home, trimmed(rest))),
            [b'~', ..] => {
                let user = path.split(|byte| *byte == b'/').next().unwrap_or_default();
                let folder = self.client().expand(user).await?;
                let rest = path.get(user.len()..).unwrap_or_default();
                Ok(join(&folder, trimmed(rest)))
            }
            _ => Ok(join(home, path)),
        }
    }

    /// Lists a folder, in the order of the names. `.` and `..` and what other runs left half-written are not in it.
    ///
    /// # Errors
    /// As the host answers.
    pub async fn list(&self, path: &[u8]) -> Result<Vec<Entry>, Error> {
        let path = self.resolve(path).await?;
        let mut entries = Vec::new();
        let mut listing = Listing::open(self.client(), &path).await?;
        while let Some(names) = listing.next().await? {
            let shown = names
                .into_iter()
                .filter(|entry| !crate::part::is_part(&entry.name));
            entries.extend(shown);
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        let links = entries.iter_mut().filter(|entry| entry.kind() == Kind::Link);
        stream::iter(links)
            .for_each_concurrent(64, |entry| async {
                // It may be gone by now; then it is listed without its target.
                entry.target = self.client().read_link(&join(&path, &entry.name)).await.ok();
            })
            .await;
        Ok(entries)
    }

    /// Looks at what a path leads to; through a link at its end where `follow` says so.
    ///
    /// # Errors
    /// As the host answers; [`Error::is_missing`] where there is none.
    pub async fn stat(&self, path: &[u8], follow: bool) -> Result<Entry, Error> {
        let path = self.resolve(path).await?;
        let client = self.client();
        let attributes = if follow {
            client.stat(&path).await?
        } else {
            client.stat_link(&path).await?
        };
        let target = match attributes.kind() {
            Kind::Link => Some(client.read_link(&path).await?),
            _ => None,
        };
        Ok(Entry {
            name: path,
            attributes,
            target,
        })
    }

    /// Gives the paths that a pattern matches, sorted: `*`, `?` and `[…]` within a name, `**` over folders. A path
    /// without a pattern gives itself where it exists. Nothing matches is an empty list.
    ///
    /// # Errors
    /// As the host answers; folders that may not be read are passed over.
    pub async fn glob(&self, pattern: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let pattern = self.resolve(pattern).await?;
        crate::glob::expand(self.client(), &pattern).await
    }

    /// Opens a file for reading a range of it; the end may lie behind the end of the file.
    ///
    /// # Errors
    /// As the host answers, or it is a folder.
    pub async fn read(&self, path: &[u8], range: Range<u64>) -> Result<Reader, Error> {
        let path = self.resolve(path).await?;
        let file = self.client().open(&path, OpenFlags::READ, None).await?;
        let attributes = file.stat().await?;
        if attributes.kind() == Kind::Folder {
            return Err(Error::host("read", &path, Cause::WrongKind("it is a folder")));
        }
        Ok(Reader {
            file,
            range,
            state: State::of(&attributes),
            chunk: self.client().read_size(),
        })
    }

    /// Gives the state of a file; with the hash where `hash` says so, which reads it. `None`: it does not exist.
    ///
    /// # Errors
    /// As the host answers.
    pub async fn state(&self, path: &[u8], hash: bool) -> Result<Option<State>, Error> {
        let path = self.resolve(path).await?;
        crate::listing::state(self.client(), &path, hash).await
    }

    /// Makes a folder and those above it. What exists stays as it is.
    ///
    /// # Errors
    /// As the host answers, or something that is no folder is in the way.
    pub async fn make_folders(&self, path: &[u8]) -> Result<(), Error> {
        let path = self.resolve(path).await?;
        let mut missing = vec![path.as_slice()];
        loop {
            let Some(folder) = missing.last() else {
                return Ok(());
            };
            match self.client().make_folder(folder, None).await {
                Ok(()) => {
                    missing.pop();
                }
                Err(error) if error.code() == Some(Code::NO_SUCH_FILE) && !split(folder).0.is_empty() => {
                    let above = split(folder).0;
                    if above == *folder {
                        return Err(error.into());
                    }
                    missing.push(above);
                }
                Err(error) => match self.client().stat(folder).await {
                    Ok(found) if found.kind() == Kind::Folder => {
                        missing.pop();
                    }
                    Err(lost) if lost.is_lost() => return Err(lost.into()),
                    _ => return Err(error.into()),
                },
            }
        }
    }

    /// Removes a file or link, or a folder: an empty one, or with all that is in it where `recursive` says so. Links
    /// are removed, never what they point to.
    ///
    /// # Errors
    /// As the host answers.
    pub async fn remove(&self, path: &[u8], recursive: bool) -> Result<(), Error> {
        let path = self.resolve(path).await?;
        let client = self.client();
        match client.stat_link(&path).await?.kind() {
            Kind::Folder if recursive => crate::listing::remove_tree(client, path).await,
            Kind::Folder => Ok(client.remove_folder(&path).await?),
            _ => Ok(client.remove(&path).await?),
        }
    }

    /// Removes what runs left half-written in a folder, when nothing wrote to it for `age`. It gives how many.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub async fn sweep(&self, folder: &[u8], age: Duration) -> Result<u64, Error> {
        let folder = self.resolve(folder).await?;
        crate::sweep::sweep_host(self.client(), &folder, age).await
    }

    /// Waits until a transfer may hold this many bytes in memory.
    pub(crate) async fn room(&self, bytes: u64) -> SemaphorePermit<'_> {
        let units = u32::try_from(bytes / 1024 + 1).unwrap_or(ROOM).min(ROOM);
        match self.0.room.acquire_many(units).await {
            Ok(permit) => permit,
            // It is never closed.
            Err(_) => std::future::pending().await,
        }
    }

    /// Works on files of this machine.
    pub(crate) async fn disk<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        // It is never closed; without a permit there would only be more threads.
        let _permit = self.0.disk.acquire().await;
        stdx::task::blocking(work).await
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    pub(crate) fn client(&self) -> &Client {
        self.0.sessions.first()
    }
}

/// Reads a file of a host from front to back.
#[derive(Debug)]
pub struct Reader {
    file: File,
    range: Range<u64>,
    state: State,
    chunk: u32,
}

impl Reader {
    /// Gives the state in which the file was opened.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Hands the bytes to `sink` as they come, in order, and gives how many there were. `sink` may wait; that holds up
    /// nothing else.
    ///
    /// # Errors
    /// As the host answers; or what `sink` gives, which ends the reading.
    pub async fn copy<E, F>(self, mut sink: impl FnMut(Bytes) -> F) -> Result<u64, E>
    where
        E: From<Error>,
        F: Future<Output = Result<(), E>>,
    {
        // Files whose size is said to be 0 may have content, as in /proc: those are read one piece at a time.
        let depth = if self.state.size == 0 { 1 } else { 16 };
        let mut range = self.range;
        if self.state.size > 0 {
            range.end = range.end.min(self.state.size);
        }
        let mut pull = Pull::new(&self.file, range, self.chunk, depth);
        let mut count = 0;
        while let Some(bytes) = pull.next().await.map_err(|error| E::from(error.into()))? {
            count += bytes.len() as u64;
            sink(bytes).await?;
        }
        Ok(count)
    }
}

fn trimmed(path: &[u8]) -> &[u8] {
    let at = path.iter().position(|byte| *byte != b'/');
    at.and_then(|at| path.get(at..)).unwrap_or_default()
}
