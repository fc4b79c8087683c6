//! A folder with all that is in it, to a host.

use std::os::unix::ffi::OsStrExt as _;

use futures_util::{
    StreamExt as _,
    future::BoxFuture,
    stream::{self, FuturesUnordered},
};
use sftp::{Attributes, Kind, name::join};

use super::{
    Call, Mode,
    file::{Send, Target},
    part::Part,
    source::Source,
};
use crate::{
    Error, Outcome,
    error::Cause,
    local::PERMISSIONS,
    part::{self, Key},
    sweep::sweep_host,
    transfer::{Done, FILES, Stop, until},
};

/// Something to do. What is found last is done first, so that little waits at a time.
enum Task {
    Folder(Source, Vec<u8>),
    /// A file, and the folder of the host that it goes to.
    File(Source, Vec<u8>),
    Link(Source, Vec<u8>),
}

/// What a task gave.
enum Gave {
    /// A folder of the host, what goes into it, and what it gets at the end where it was made.
    Folder(Vec<u8>, Vec<Source>, Option<Attributes>),
    File(Done),
    Link,
}

impl Call<'_> {
    pub(super) async fn tree(&self, source: Source, to: Vec<u8>, outcome: &mut Outcome) -> Result<(), Stop> {
        // A fatal failure of one task ends the others as a cancel does.
        let cancel = self.cancel.child_token();
        let call = Call {
            cancel: &cancel,
            ..*self
        };
        let mut tasks = vec![Task::Folder(source, to)];
        let mut made = Vec::new();
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
                    self.take(gave, &mut tasks, &mut made, outcome);
                    Ok(())
                }
                // The folder that was named is the whole of it.
                Err(stop) if outcome.folders == 0 => Err(stop),
                Err(stop) => outcome.fail(stop),
            };
            if let Err(stop) = noted {
                cancel.cancel();
                // The first says what happened; the others were only cancelled by it.
                fatal.get_or_insert(stop);
            }
            if fatal.is_some() {
                tasks.clear();
            }
        }
        match fatal {
            Some(stop) => Err(stop),
            None => until(self.cancel, self.finish(made)).await,
        }
    }

    /// Sets what the folders get that were made, from the deepest up.
    async fn finish(&self, made: Vec<(Vec<u8>, Attributes)>) -> Result<(), Stop> {
        let client = self.host.client();
        let mut set = stream::iter(made.iter().rev())
            .map(|(path, attributes)| client.set_stat(path, *attributes))
            .buffered(64);
        while let Some(set) = set.next().await {
            set?;
        }
        Ok(())
    }

    async fn work(&self, task: Task) -> Result<Gave, Stop> {
        match task {
            Task::Folder(source, to) => {
                let made = until(self.cancel, self.folder(&source, &to)).await?;
                let entries = source.list(self.host).await?;
                Ok(Gave::Folder(to, entries, made))
            }
            Task::File(source, folder) => {
                let name = source.name();
                let send = Send {
                    call: *self,
                    source,
                    target: Target {
                        folder,
                        name,
                        replaced: None,
                        known: None,
                    },
                    mode: Mode::Source,
                    fresh: false,
                    single: false,
                };
                Ok(Gave::File(send.run().await?))
            }
            Task::Link(source, to) => self.link(&source, &to).await,
        }
    }

    /// Makes a folder where it is missing; gives what it gets at the end then.
    async fn folder(&self, source: &Source, to: &[u8]) -> Result<Option<Attributes>, Stop> {
        let client = self.host.client();
        let mode = source.mode & PERMISSIONS;
        let Err(error) = client.make_folder(to, Some(mode | 0o700)).await else {
            return Ok(Some(Attributes {
                mode: Some(mode),
                times: self.transfer.times.then(|| source.times()),
                ..Attributes::default()
            }));
        };
        match client.stat(to).await {
            Ok(found) if found.kind() == Kind::Folder => {
                // What cannot be cleaned up is no reason to copy nothing.
                drop(sweep_host(client, to, self.transfer.stale).await);
                Ok(None)
            }
            Ok(_) => {
                let why = Cause::WrongKind("something that is no folder has this name");
                Err(Error::host("make the folder", to, why).into())
            }
            Err(lost) if lost.is_lost() => Err(lost.into()),
            Err(_) => Err(error.into()),
        }
    }

    async fn link(&self, source: &Source, to: &[u8]) -> Result<Gave, Stop> {
        let client = self.host.sessions().any();
        let path = source.path.clone();
        let target = self.host.disk(move || std::fs::read_link(path)).await;
        let target = target.map_err(|error| source.unread(error))?;
        let (folder, name) = sftp::name::split(to);
        let part = part::name(name, &Key::new(name, &[]));
        let part = Part::new(&client, join(folder, &part));
        let made = async { Ok(client.symlink(target.as_os_str().as_bytes(), part.path()).await?) };
        match until(self.cancel, made).await {
            Ok(()) => part.place(to, false).await?,
            Err(stop) => {
                part.discard().await;
                return Err(stop);
            }
        }
        Ok(Gave::Link)
    }

    /// Counts what was done, and notes what is to be done next.
    fn take(
        &self,
        gave: Gave,
        tasks: &mut Vec<Task>,
        made: &mut Vec<(Vec<u8>, Attributes)>,
        outcome: &mut Outcome,
    ) {
        match gave {
            Gave::Link => outcome.links += 1,
            Gave::File(done) => {
                outcome.files += 1;
                outcome.bytes += done.bytes;
                outcome.resumed += done.resumed;
            }
            Gave::Folder(to, entries, new) => {
                outcome.folders += 1;
                made.extend(new.map(|attributes| (to.clone(), attributes)));
                for entry in entries {
                    let name = entry.name();
                    let path = entry.path.as_os_str().as_bytes();
                    match entry.kind {
                        // Half-written by somebody; it is nobody's file.
                        _ if part::is_part(&name) => {}
                        Kind::Folder => tasks.push(Task::Folder(entry, join(&to, &name))),
                        Kind::Link => tasks.push(Task::Link(entry, join(&to, &name))),
                        Kind::File | Kind::Unknown => {
                            self.progress.found(entry.size);
                            tasks.push(Task::File(entry, to.clone()));
                        }
                        Kind::Pipe => outcome.note(path, "a pipe is not copied"),
                        Kind::Socket => outcome.note(path, "a socket is not copied"),
                        Kind::Device => outcome.note(path, "a device is not copied"),
                    }
                }
            }
        }
    }
}

impl std::fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call")
            .field("transfer", &self.transfer)
            .finish_non_exhaustive()
    }
}
