//! Folders of a host, read with several requests under way.

use std::collections::{HashSet, VecDeque};

use futures_util::{StreamExt as _, TryStreamExt as _, future::BoxFuture, stream, stream::FuturesOrdered};
use sftp::{
    Client, Code, Kind,
    client::{Folder, Pull},
    name::{is_plain, join},
    packet::{Name, OpenFlags},
};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

use crate::{Entry, Error, State, error::Cause};

/// Requests for names under way: OpenSSH gives 100 names an answer.
const DEPTH: usize = 16;
/// Names that one folder may have.
const MOST: usize = 4_000_000;

/// The names of a folder, as they come.
pub(crate) struct Listing {
    folder: Arc<Folder>,
    path: Vec<u8>,
    under_way: FuturesOrdered<BoxFuture<'static, Result<Vec<Name>, sftp::Error>>>,
    seen: HashSet<Vec<u8>>,
    ended: bool,
}

impl Listing {
    pub(crate) async fn open(client: &Client, path: &[u8]) -> Result<Self, Error> {
        Ok(Self {
            folder: Arc::new(client.open_folder(path).await?),
            path: path.to_vec(),
            under_way: FuturesOrdered::new(),
            seen: HashSet::new(),
            ended: false,
        })
    }

    /// Gives the next names without `.` and `..`; `None` is the end. A name that is given twice comes once.
    ///
    /// # Errors
    /// As the host answers, or it gives a name that cannot be one.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Entry>>, Error> {
        if self.ended {
            return Ok(None);
        }
        // The first answer is waited for with one more: most folders end with that.
        let depth = if self.seen.is_empty() { 2 } else { DEPTH };
        while self.under_way.len() < depth {
            let folder = Arc::clone(&self.folder);
            self.under_way
                .push_back(Box::pin(async move { folder.next().await }));
        }
        let names = match self.under_way.next().await {
            Some(names) => names?,
            None => Vec::new(),
        };
        if names.is_empty() {
            self.ended = true;
            return Ok(None);
        }
        let mut entries = Vec::with_capacity(names.len());
        for name in names {
            entries.extend(self.admit(name)?);
        }
        Ok(Some(entries))
    }

    /// Judges a name that the host gave.
    fn admit(&mut self, name: Name) -> Result<Option<Entry>, Error> {
        if name.name == b"." || name.name == b".." {
            return Ok(None);
        }
        if !is_plain(&name.name) {
            let path = join(&self.path, &name.name);
            return Err(Error::host("list", &path, Cause::UnsafeName));
        }
        if self.seen.len() >= MOST {
            let why = Cause::WrongKind("it has too many names");
            return Err(Error::host("list", &self.path, why));
        }
        Ok(self.seen.insert(name.name.clone()).then_some(Entry {
            name: name.name,
            attributes: name.attributes,
            target: None,
        }))
    }
}

/// Gives the state of a file, through links.
pub(crate) async fn state(client: &Client, path: &[u8], hash: bool) -> Result<Option<State>, Error> {
    let attributes = match client.stat(path).await {
        Ok(attributes) => attributes,
        Err(error) if error.code() == Some(Code::NO_SUCH_FILE) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut state = State::of(&attributes);
    if hash {
        let file = client.open(path, OpenFlags::READ, None).await?;
        let mut pull = match state.size {
            // It may have content nevertheless, as in /proc.
            0 => Pull::new(&file, 0..u64::MAX, client.read_size(), 1),
            size => Pull::new(&file, 0..size, client.read_size(), 16),
        };
        let mut hash = Sha256::new();
        while let Some(bytes) = pull.next().await? {
            hash.update(&bytes);
        }
        state.hash = Some(hash.finalize().into());
    }
    Ok(Some(state))
}

/// Removes a folder with all that is in it.
pub(crate) async fn remove_tree(client: &Client, path: Vec<u8>) -> Result<(), Error> {
    let mut folders = Vec::new();
    let mut todo = VecDeque::from([path]);
    while let Some(folder) = todo.pop_front() {
        let mut listing = Listing::open(client, &folder).await?;
        while let Some(entries) = listing.next().await? {
            let (below, files): (Vec<_>, Vec<_>) = entries
                .into_iter()
                .partition(|entry| entry.kind() == Kind::Folder);
            todo.extend(below.iter().map(|entry| join(&folder, &entry.name)));
            stream::iter(files)
                .map(|entry| {
                    let path = join(&folder, &entry.name);
                    async move { client.remove(&path).await }
                })
                .buffer_unordered(64)
                .try_collect::<Vec<()>>()
                .await?;
        }
        folders.push(folder);
    }
    for folder in folders.iter().rev() {
        client.remove_folder(folder).await?;
    }
    Ok(())
}
