//! A folder with all that is in it, from a host.

use std::{os::unix::ffi::OsStrExt as _, path::Path, sync::Arc};

use futures_util::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use sftp::{Attributes, Kind, name::join};

use super::{Call, file::Fetch};
use crate::{
    Entry, Error, Outcome,
    listing::Listing,
    local::{Finish, Folder},
    part::{self, Key},
    sweep::tidy_local,
    transfer::{Done, FILES, Stop, until},
};

/// Something to do. What is found last is done first, so that little waits at a time.
enum Task {
    /// A folder of the host, and where it goes.
    Folder(Vec<u8>, Attributes, Arc<Folder>, Vec<u8>),
    /// The same, for the folder that was named: it is open already.
    Root(Vec<u8>, Arc<Folder>),
    File(Vec<u8>, Attributes, Arc<Folder>, Vec<u8>),
    Link(Vec<u8>, Arc<Folder>, Vec<u8>),
}

/// What a task gave.
enum Gave {
    Folder(Vec<u8>, Arc<Folder>, Vec<Entry>),
    File(Done),
    Link,
}

impl Call<'_> {
    pub(super) async fn tree(
        &self,
        from: Vec<u8>,
        attributes: Attributes,
        to: &Path,
        outcome: &mut Outcome,
    ) -> Result<(), Stop> {
        let root = self.root(to, &attributes).await?;
        // A fatal failure of one task ends the others as a cancel does.
        let cancel = self.cancel.child_token();
        let call = Call {
            cancel: &cancel,
            ..*self
        };
        let mut tasks = vec![Task::Root(from, root)];
        let mut running: FuturesUnordered<BoxFuture<'_, Result<Gave, Stop>>> = FuturesUnordered::new();
        let mut fatal = None;
        let widen = self.host.sessions().widen();
        tokio::pin!(widen);
        let mut widening = true;
        loop {
            while running.len() < FILES
                && let Some(task) = tasks.pop()
            {
                running.push(Box::pin(call.work(task)));
            }
            let gave = tokio::select! {
                biased;
                gave = running.next() => gave,
                () = &mut widen, if widening => {
                    widening = false;
                    continue;
                }
            };
            let Some(gave) = gave else {
                break;
            };
            let noted = match gave {
                Ok(gave) => {
                    self.take(gave, &mut tasks, outcome);
                    Ok(())
                }
                Err(stop) => outcome.fail(stop),
            };
            if let Err(stop) = noted {
                cancel.cancel();
                tasks.clear();
                // The first says what happened; the others were only cancelled by it.
                fatal.get_or_insert(stop);
            }
            if fatal.is_some() {
                tasks.clear();
            }
        }
        fatal.map_or(Ok(()), Err)
    }

    /// Opens the folder that everything goes to, and makes it where it is missing.
    async fn root(&self, to: &Path, attributes: &Attributes) -> Result<Arc<Folder>, Stop> {
        let (path, stale, finish) = (
            to.to_path_buf(),
            self.transfer.stale,
            self.folder_finish(attributes),
        );
        let opened = self.host.disk(move || {
            let made = match std::fs::create_dir(&path) {
                Ok(()) => true,
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => false,
                Err(error) => return Err(error),
            };
            let folder = Folder::open(&path)?;
            if made {
                folder.finish_with(finish);
            } else {
                // What cannot be cleaned up is no reason to copy nothing.
                drop(tidy_local(&path, stale, None));
            }
            Ok(Arc::new(folder))
        });
        let opened: std::io::Result<_> = opened.await;
        opened.map_err(|error| Error::local("make the folder", to.as_os_str().as_bytes(), error).into())
    }

    fn folder_finish(&self, attributes: &Attributes) -> Finish {
        Finish {
            mode: attributes.mode,
            times: attributes.times.filter(|_| self.transfer.times),
        }
    }

    async fn work(&self, task: Task) -> Result<Gave, Stop> {
        match task {
            Task::Root(from, folder) => self.list(from, folder).await,
            Task::Folder(from, attributes, above, name) => {
                let folder = self.below(above, name, &attributes).await?;
                self.list(from, folder).await
            }
            Task::File(from, attributes, folder, name) => {
                let fetch = Fetch {
                    call: *self,
                    from,
                    attributes,
                    folder,
                    name,
                    single: false,
                };
                Ok(Gave::File(fetch.run().await?))
            }
            Task::Link(from, folder, name) => self.link(&from, folder, name).await,
        }
    }

    async fn below(
        &self,
        above: Arc<Folder>,
        name: Vec<u8>,
        attributes: &Attributes,
    ) -> Result<Arc<Folder>, Stop> {
        let (stale, finish) = (self.transfer.stale, self.folder_finish(attributes));
        let path = above.path_of(&name);
        let opened = self.host.disk(move || {
            let (folder, made) = above.below(&name)?;
            if made {
                folder.finish_with(finish);
            } else {
                // As for the folder that was named.
                drop(tidy_local(folder.path(), stale, None));
            }
            Ok(Arc::new(folder))
        });
        let opened: std::io::Result<_> = opened.await;
        opened.map_err(|error| Error::local("make the folder", path.as_os_str().as_bytes(), error).into())
    }

    async fn list(&self, from: Vec<u8>, folder: Arc<Folder>) -> Result<Gave, Stop> {
        let work = async {
            let client = self.host.sessions().any();
            let mut listing = Listing::open(&client, &from).await?;
            let mut all = Vec::new();
            while let Some(entries) = listing.next().await? {
                all.extend(entries);
            }
            Ok(all)
        };
        let entries = until(self.cancel, work).await?;
        Ok(Gave::Folder(from, folder, entries))
    }

    async fn link(&self, from: &[u8], folder: Arc<Folder>, name: Vec<u8>) -> Result<Gave, Stop> {
        let client = self.host.sessions().any();
        let target = until(self.cancel, async { Ok(client.read_link(from).await?) }).await?;
        let path = folder.path_of(&name);
        let part = part::name(&name, &Key::new(&name, &[]));
        let made = self.host.disk(move || folder.link(&part, &name, &target));
        made.await
            .map_err(|error| Error::local("make the link", path.as_os_str().as_bytes(), error))?;
        Ok(Gave::Link)
    }

    /// Counts what was done, and notes what is to be done next.
    fn take(&self, gave: Gave, tasks: &mut Vec<Task>, outcome: &mut Outcome) {
        match gave {
            Gave::Link => outcome.links += 1,
            Gave::File(done) => {
                outcome.files += 1;
                outcome.bytes += done.bytes;
                outcome.resumed += done.resumed;
            }
            Gave::Folder(from, folder, entries) => {
                outcome.folders += 1;
                for entry in entries.into_iter().rev() {
                    let (path, folder) = (join(&from, &entry.name), Arc::clone(&folder));
                    match entry.kind() {
                        // Half-written by somebody; it is nobody's file.
                        _ if part::is_part(&entry.name) => {}
                        Kind::Folder => tasks.push(Task::Folder(path, entry.attributes, folder, entry.name)),
                        Kind::Link => tasks.push(Task::Link(path, folder, entry.name)),
                        Kind::File | Kind::Unknown => {
                            self.progress.found(entry.attributes.size.unwrap_or(0));
                            tasks.push(Task::File(path, entry.attributes, folder, entry.name));
                        }
                        Kind::Pipe => outcome.note(&path, "a pipe is not copied"),
                        Kind::Socket => outcome.note(&path, "a socket is not copied"),
                        Kind::Device => outcome.note(&path, "a device is not copied"),
                    }
                }
            }
        }
    }
}
