//! One file to a host.

use bytes::Bytes;
use sftp::{Attributes, client::File, name::join, packet::OpenFlags};

use super::{Call, Mode, part::Part, source::Source};
use crate::{
    Error, State,
    error::Cause,
    listing,
    local::PERMISSIONS,
    part::{self, Key},
    sweep::sweep_host,
    transfer::{Done, SMALL, SYNCED, Stop, until},
};

/// One file to copy.
#[derive(Debug)]
pub(super) struct Send<'a> {
    pub(super) call: Call<'a>,
    pub(super) source: Source,
    pub(super) target: Target,
    pub(super) mode: Mode,
    /// It may only take a name that is free.
    pub(super) fresh: bool,
    /// It is the only one, and worth a wait for the disk.
    pub(super) single: bool,
}

/// Where a file goes.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) folder: Vec<u8>,
    pub(super) name: Vec<u8>,
    /// What has the name so far, as far as that was asked.
    pub(super) replaced: Option<Attributes>,
    /// The state in which it must still be when the new file takes its place.
    pub(super) known: Option<State>,
}

impl Target {
    pub(super) fn path(&self) -> Vec<u8> {
        join(&self.folder, &self.name)
    }
}

impl Send<'_> {
    pub(super) async fn run(self) -> Result<Done, Stop> {
        use std::os::unix::ffi::OsStrExt as _;
        self.call
            .progress
            .current(self.source.path.as_os_str().as_bytes());
        let done = if self.source.size > SMALL {
            self.carry().await
        } else if self.single {
            let (host, stale) = (self.call.host, self.call.transfer.stale);
            // What cannot be cleaned up is no reason to copy nothing.
            let tidy = async { drop(sweep_host(host.client(), &self.target.folder, stale).await) };
            let tidy = until(self.call.cancel, async {
                tidy.await;
                Ok(())
            });
            let (done, _) = tokio::join!(self.small(), tidy);
            done
        } else {
            self.small().await
        }?;
        self.call.progress.placed();
        Ok(done)
    }

    /// Writes it with three round trips: one opens, one writes and sets and closes, one puts it in its place.
    async fn small(&self) -> Result<Done, Stop> {
        let host = self.call.host;
        let _room = until(self.call.cancel, async { Ok(host.room(self.source.size).await) }).await?;
        let content = self.source.read(host).await?;
        let bytes = content.len() as u64;
        let client = host.sessions().any();
        let name = part::name(&self.target.name, &Key::new(&self.target.name, &[]));
        let part = Part::new(&client, join(&self.target.folder, &name));
        let written = until(self.call.cancel, async {
            let flags = OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
            let file = client.open(part.path(), flags, Some(0o600)).await?;
            let write = match content.is_empty() {
                true => None,
                false => Some(file.begin_write(0, Bytes::from(content)).await?),
            };
            let state = self.finish(file, client.offers("fsync@openssh.com"));
            let (state, written) = tokio::join!(state, async {
                match write {
                    Some(write) => write.await,
                    None => Ok(()),
                }
            });
            written?;
            state
        })
        .await;
        let state = self.place(part, written).await?;
        self.call.progress.moved(bytes);
        Ok(Done {
            bytes,
            resumed: 0,
            state,
        })
    }

    /// Sets what a whole file gets, looks whether it is whole, and closes it: all in one round trip.
    pub(super) async fn finish(&self, file: File, can_sync: bool) -> Result<State, Stop> {
        let path = file.path().to_vec();
        let owner = match (self.mode, self.target.replaced) {
            (Mode::Target, Some(replaced)) => replaced.owner,
            _ => None,
        };
        let owned = match owner {
            // Before the mode, of which a change of the owner takes bits away.
            Some(_) => Some(
                file.begin_set_stat(Attributes {
                    owner,
                    ..Attributes::default()
                })
                .await?,
            ),
            None => None,
        };
        let attributes = Attributes {
            mode: Some(self.permissions()),
            times: self.call.transfer.times.then(|| self.source.times()),
            ..Attributes::default()
        };
        let set = file.begin_set_stat(attributes).await?;
        // A file that takes the place of another must not be empty after a crash of the host. Trees are not waited for:
        // they are new, or can be copied again.
        let replaces = self.target.replaced.is_some();
        let sync = match self.single && can_sync && replaces && self.source.size <= SYNCED {
            true => Some(file.begin_sync().await?),
            false => None,
        };
        let stat = file.begin_stat().await?;
        let close = file.begin_close().await?;
        if let Some(owned) = owned {
            // Who is not root cannot give files away. The file is the user's then, as with every other program.
            drop(owned.await);
        }
        set.await?;
        if let Some(sync) = sync {
            sync.await?;
        }
        let stat = stat.await?;
        close.await?;
        if stat.size.is_some_and(|size| size != self.source.size) {
            let why = Cause::WrongKind("the host has another number of bytes than were sent");
            return Err(Error::host("write", &path, why).into());
        }
        Ok(State::of(&stat))
    }

    fn permissions(&self) -> u32 {
        match (
            self.mode,
            self.target.replaced.and_then(|found| found.permissions()),
        ) {
            (Mode::Exact(mode), _) => mode & 0o7777,
            (Mode::Target, Some(mode)) => mode,
            _ => self.source.mode & PERMISSIONS,
        }
    }

    /// Puts the file in its place, or removes it where it did not become whole.
    pub(super) async fn place(&self, part: Part, written: Result<State, Stop>) -> Result<State, Stop> {
        let checked = match written {
            Ok(state) => self.still_known().await.map(|()| state),
            Err(stop) => Err(stop),
        };
        match checked {
            Ok(state) => {
                part.place(&self.target.path(), self.fresh).await?;
                Ok(state)
            }
            Err(stop) => {
                part.discard().await;
                Err(stop)
            }
        }
    }

    /// Sees whether the target is still in the state in which it was found as expected.
    async fn still_known(&self) -> Result<(), Stop> {
        let Some(known) = self.target.known else {
            return Ok(());
        };
        let path = self.target.path();
        let found = until(self.call.cancel, async {
            Ok(listing::state(self.call.host.client(), &path, false).await?)
        })
        .await?;
        let same = |found: &State| (found.size, found.modified) == (known.size, known.modified);
        if found.as_ref().is_some_and(same) {
            return Ok(());
        }
        let expected = Some(known);
        Err(Error::host("write", &path, Cause::Conflict { expected, found }).into())
    }
}
