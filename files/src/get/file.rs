//! One file from a host.

use std::sync::Arc;

use sftp::{
    Attributes, Client,
    client::{File, Pull},
    packet::OpenFlags,
};

use super::Call;
use crate::{
    Error, State,
    error::Cause,
    local::{Finish, Folder},
    part::{self, Key},
    transfer::{Done, SMALL, Stop, until},
};

/// How often a file that changes while it is read is read again.
const TRIES: usize = 3;
/// The most that is read of a file whose size is said to be 0, in bytes.
const ENDLESS: u64 = 64 << 20;

/// One file to copy.
#[derive(Debug)]
pub(super) struct Fetch<'a> {
    pub(super) call: Call<'a>,
    pub(super) from: Vec<u8>,
    pub(super) attributes: Attributes,
    pub(super) folder: Arc<Folder>,
    pub(super) name: Vec<u8>,
    /// It is the only one, and worth a wait for the disk.
    pub(super) single: bool,
}

/// What a small file turned out to be.
enum Small {
    Whole(Vec<u8>, Attributes),
    /// It is larger by now.
    Larger,
}

impl Fetch<'_> {
    /// Copies it. A file that changes while it is read is read again, twice.
    pub(super) async fn run(self) -> Result<Done, Stop> {
        self.call.progress.current(&self.from);
        let mut attributes = self.attributes;
        for _ in 1..TRIES {
            match self.once(attributes).await {
                Err(Stop::Failed(error)) if matches!(error.cause(), Cause::Changed) => {
                    let again = async { Ok(self.call.host.client().stat(&self.from).await?) };
                    attributes = until(self.call.cancel, again).await?;
                }
                result => return result,
            }
        }
        self.once(attributes).await
    }

    async fn once(&self, attributes: Attributes) -> Result<Done, Stop> {
        if attributes.size.unwrap_or(0) > SMALL {
            return self.carry().await;
        }
        match until(self.call.cancel, self.read_small(attributes)).await? {
            Small::Larger => self.carry().await,
            Small::Whole(content, attributes) => self.write_small(content, &attributes).await,
        }
    }

    /// Reads it with two round trips: one opens, one reads and looks at it before and after.
    async fn read_small(&self, attributes: Attributes) -> Result<Small, Stop> {
        let client = self.call.host.sessions().any();
        let file = client.open(&self.from, OpenFlags::READ, None).await?;
        let length = match attributes.size.unwrap_or(0) {
            0 => 4096,
            // One more shows whether it has grown.
            size => u32::try_from(size + 1).unwrap_or(4096),
        };
        let before = file.begin_stat().await?;
        let read = file.begin_read(0, length).await?;
        let after = file.begin_stat().await?;
        let (before, content, after) = (before.await?, read.await?, after.await?);
        let size = before.size.unwrap_or(0);
        if State::of(&before) != State::of(&after) {
            return Err(self.changed().into());
        }
        if size == 0 && !content.is_empty() {
            return self.read_endless(&client, &file, before).await;
        }
        if size != content.len() as u64 {
            return Ok(Small::Larger);
        }
        Ok(Small::Whole(content.to_vec(), before))
    }

    /// Reads a file that has no size, as in `/proc`.
    async fn read_endless(
        &self,
        client: &Client,
        file: &File,
        attributes: Attributes,
    ) -> Result<Small, Stop> {
        let mut content = Vec::new();
        let mut pull = Pull::new(file, 0..ENDLESS, client.read_size(), 1);
        while let Some(bytes) = pull.next().await? {
            content.extend_from_slice(&bytes);
        }
        if content.len() as u64 >= ENDLESS {
            let why = Cause::WrongKind("it is said to be empty, and has no end");
            return Err(Error::host("copy", &self.from, why).into());
        }
        Ok(Small::Whole(content, attributes))
    }

    async fn write_small(&self, content: Vec<u8>, attributes: &Attributes) -> Result<Done, Stop> {
        let state = State::of(attributes);
        let part = part::name(&self.name, &Key::new(&self.name, &[]));
        let finish = self.finish(attributes);
        let (folder, name, sync) = (Arc::clone(&self.folder), self.name.clone(), self.single);
        let bytes = content.len() as u64;
        let written = self
            .call
            .host
            .disk(move || folder.write(&part, &name, &content, finish, sync));
        written.await.map_err(|error| self.unwritten(error))?;
        self.call.progress.moved(bytes);
        self.call.progress.placed();
        Ok(Done {
            bytes,
            resumed: 0,
            state,
        })
    }

    /// Gives what the file gets when it is whole.
    pub(super) fn finish(&self, attributes: &Attributes) -> Finish {
        Finish {
            mode: attributes.mode,
            times: attributes.times.filter(|_| self.call.transfer.times),
        }
    }

    pub(super) fn changed(&self) -> Error {
        Error::host("copy", &self.from, Cause::Changed)
    }

    pub(super) fn unwritten(&self, error: std::io::Error) -> Error {
        use std::os::unix::ffi::OsStrExt as _;
        let path = self.folder.path_of(&self.name);
        Error::local("write", path.as_os_str().as_bytes(), error)
    }
}
