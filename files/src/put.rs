//! Copying to a host.

mod carry;
mod file;
mod part;
mod source;
mod tree;

use std::{os::unix::ffi::OsStrExt as _, path::PathBuf};

use sftp::{
    Attributes, Code, Kind,
    name::{join, split},
};

use crate::{
    Cancel, Error, Host, Outcome, Progress, State, Transfer,
    error::Cause,
    listing,
    transfer::{CLEANING, Stop, ended, until},
};
use file::{Send, Target};
use source::Source;

/// What to copy to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// A file or folder of this machine; a link is followed.
    pub from: PathBuf,
    /// What it is to be called there: the exact name, not the folder to put it in. Where a link has this name, what it
    /// points to is replaced by a single file.
    pub to: Vec<u8>,
    /// How to copy.
    pub transfer: Transfer,
    /// Which mode a single file gets.
    pub mode: Mode,
    /// In which state the target of a single file must be.
    pub expected: Expected,
}

/// Which mode a file gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// That of the source.
    #[default]
    Source,
    /// That of the file which is replaced, and its owner as far as the host allows; that of the source where there is
    /// none.
    Target,
    /// This one.
    Exact(u32),
}

/// In which state the target must be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Expected {
    /// In any.
    #[default]
    Anything,
    /// It must not exist.
    Missing,
    /// In this one.
    Is(State),
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
    /// Copies a file or a tree to the host. Files replace what has their name, when they are whole.
    ///
    /// In a tree, what fails is in [`Outcome::failed`] and the rest goes on. Sockets, pipes and devices are left out
    /// with a note.
    ///
    /// # Errors
    /// The source cannot be read, a single file cannot be written, its target is not as expected ([`Cause::Conflict`]),
    /// or the connection is lost. What is left of a big file is found again by the next call.
    pub async fn put(&self, put: &Put, progress: &Progress, cancel: &Cancel) -> Result<Outcome, Error> {
        let mut outcome = Outcome::default();
        let call = Call {
            host: self,
            transfer: put.transfer,
            progress,
            cancel,
        };
        let result = call.run(put, &mut outcome).await;
        if !matches!(result, Ok(())) {
            // Dropped work has asked the host to remove what it began; that is done when this returns.
            drop(tokio::time::timeout(CLEANING, self.sessions().settle()).await);
        }
        ended(result, outcome)
    }
}

impl Call<'_> {
    async fn run(&self, put: &Put, outcome: &mut Outcome) -> Result<(), Stop> {
        let wrong = |why| {
            Error::new(
                "copy",
                put.from.as_os_str().as_bytes(),
                crate::Side::Local,
                Cause::WrongKind(why),
            )
        };
        let source = Source::look(self.host, &put.from).await?;
        let to = until(self.cancel, async { Ok(self.host.resolve(&put.to).await?) }).await?;
        match source.kind {
            Kind::Folder if self.transfer.recursive && put.expected != Expected::Anything => {
                return Err(wrong("a folder has no state that could be expected").into());
            }
            Kind::Folder if self.transfer.recursive => return self.tree(source, to, outcome).await,
            Kind::Folder => return Err(wrong("it is a folder").into()),
            Kind::File => {}
            _ => return Err(wrong("it is neither file nor folder").into()),
        }
        let (to, found) = until(self.cancel, self.behind_links(to)).await?;
        if found.is_some_and(|found| found.kind() == Kind::Folder) {
            let why = Cause::WrongKind("it is a folder");
            return Err(Error::host("write", &to, why).into());
        }
        let known = until(self.cancel, self.check(&to, put.expected)).await?;
        self.progress.found(source.size);
        let send = Send {
            call: *self,
            source,
            target: Target {
                folder: folder_of(&to),
                name: split(&to).1.to_vec(),
                replaced: found,
                known,
            },
            mode: put.mode,
            fresh: put.expected == Expected::Missing,
            single: true,
        };
        let done = send.run().await?;
        outcome.files = 1;
        outcome.bytes = done.bytes;
        outcome.resumed = done.resumed;
        outcome.state = Some(done.state);
        Ok(())
    }

    /// Follows a link at the end of a path, so that what it points to is replaced and not the link.
    async fn behind_links(&self, mut path: Vec<u8>) -> Result<(Vec<u8>, Option<Attributes>), Stop> {
        let client = self.host.client();
        // As many as Linux follows.
        for _ in 0..40 {
            match client.stat_link(&path).await {
                Ok(found) if found.kind() == Kind::Link => {
                    let target = client.read_link(&path).await?;
                    path = join(split(&path).0, &target);
                }
                Ok(found) => return Ok((path, Some(found))),
                Err(error) if error.code() == Some(Code::NO_SUCH_FILE) => return Ok((path, None)),
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::host("write", &path, Cause::WrongKind("links lead in a circle")).into())
    }

    /// Sees whether the target is as expected. It gives its state where one was expected, without the hash.
    async fn check(&self, to: &[u8], expected: Expected) -> Result<Option<State>, Stop> {
        let client = self.host.client();
        let (expected, hash) = match expected {
            Expected::Anything => return Ok(None),
            Expected::Missing => (None, false),
            Expected::Is(state) => (Some(state), state.hash.is_some()),
        };
        let found = listing::state(client, to, hash).await?;
        let agrees = match (&expected, &found) {
            (None, None) => true,
            (Some(expected), Some(found)) => expected.agrees(found),
            _ => false,
        };
        if !agrees {
            return Err(Error::host("write", to, Cause::Conflict { expected, found }).into());
        }
        Ok(found)
    }
}

/// Gives the folder of an absolute path.
fn folder_of(path: &[u8]) -> Vec<u8> {
    match split(path).0 {
        b"" => b".".to_vec(),
        folder => folder.to_vec(),
    }
}
