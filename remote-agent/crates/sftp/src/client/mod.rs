//! A client that keeps many requests under way.
//!
//! Dropping a future of a request never breaks the session: the answer is thrown away when it comes, and what it
//! opened is closed. Whether an operation that was dropped had an effect is not known then.

mod connection;
mod error;
mod file;
mod pipeline;

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use stdx::task::Scope;
use tokio::io::{AsyncRead, AsyncWrite};

pub use error::{Cause, Error};
pub use file::{File, Folder};
pub use pipeline::{Pull, Push};

use crate::{
    Attributes, Code, Extension, Reply, Request, Target,
    packet::{FileSystem, Limits, Name, OpenFlags, Version},
};
use connection::Shared;

/// Bytes per read and write where the server does not say what it takes: the draft's figure less the header.
const PLAIN: u64 = 32 * 1024;
/// The most per read and write; OpenSSH takes 255 KiB.
const MOST: u64 = 255 * 1024;

/// How a client behaves.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How long nothing may move while answers are owed, before the session is given up.
    pub silence: Duration,
    /// How long the first answer may take.
    pub greeting: Duration,
    /// Bytes of requests and awaited answers that may be under way together.
    pub budget: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            silence: Duration::from_secs(60),
            greeting: Duration::from_secs(20),
            budget: 2 << 20,
        }
    }
}

/// A session with an SFTP server. Clones share it; it ends with the last of them, with its scope, or by
/// [`Client::close`].
#[derive(Clone, Debug)]
pub struct Client(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    scope: Scope,
    version: Version,
    limits: Limits,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.scope.cancel();
    }
}

impl Client {
    /// Begins a session on a stream. The task that serves it runs in a scope below `scope`.
    ///
    /// # Errors
    /// The other side does not answer, or does not speak SFTP.
    pub async fn start<S>(mut stream: S, options: &Options, scope: &Scope) -> Result<Self, Error>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let fail = |cause| Error::new("start sftp", b"", cause);
        let mut input = BytesMut::new();
        let greeting = connection::greet(&mut stream, &mut input);
        let version = match tokio::time::timeout(options.greeting, greeting).await {
            Ok(version) => version.map_err(fail)?,
            Err(_) => return Err(fail(Cause::Silent(options.greeting))),
        };
        let shared = Arc::new(Shared::new(options.budget));
        let scope = scope.child("sftp");
        let task = connection::run(
            stream,
            input,
            Arc::clone(&shared),
            options.silence,
            scope.token().clone(),
        );
        // Owned by the scope; whoever asks hears of its end.
        drop(scope.spawn(task));
        let mut inner = Inner {
            shared,
            scope,
            version,
            limits: Limits::default(),
        };
        inner.limits = inner.ask_limits().await.map_err(fail)?;
        Ok(Self(Arc::new(inner)))
    }

    /// Says whether the server announced an extension, by its name.
    #[must_use]
    pub fn offers(&self, extension: &str) -> bool {
        self.0.offers(extension)
    }

    /// Gives what the server takes.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.0.limits
    }

    /// Gives how many bytes one read should ask for.
    #[must_use]
    pub fn read_size(&self) -> u32 {
        chunk(self.0.limits.read)
    }

    /// Gives how many bytes one write may carry.
    #[must_use]
    pub fn write_size(&self) -> u32 {
        chunk(self.0.limits.write)
    }

    /// Says whether the session is over.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.shared.end().is_some()
    }

    /// Ends the session: what was asked still leaves, and the server's end is waited for, up to a second.
    pub async fn close(&self) {
        self.0.shared.finish();
        let ended = async {
            while self.0.shared.end().is_none() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        drop(tokio::time::timeout(Duration::from_secs(1), ended).await);
        self.0.scope.close(Duration::from_secs(1)).await;
    }

    /// Opens a file. `mode` counts where it is created; the server's umask is taken off it.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn open(&self, path: &[u8], flags: OpenFlags, mode: Option<u32>) -> Result<File, Error> {
        let request = Request::Open {
            path: path.to_vec(),
            flags,
            attributes: Attributes {
                mode,
                ..Attributes::default()
            },
        };
        let handle = self.handle("open", path, &request).await?;
        Ok(File::new(Arc::clone(&self.0), handle, path))
    }

    /// Opens a folder for reading.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn open_folder(&self, path: &[u8]) -> Result<Folder, Error> {
        let request = Request::OpenFolder { path: path.to_vec() };
        let handle = self.handle("list", path, &request).await?;
        Ok(Folder::new(Arc::clone(&self.0), handle, path))
    }

    /// Asks for attributes, through links.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn stat(&self, path: &[u8]) -> Result<Attributes, Error> {
        self.0.stat(path, Target::Path(path.to_vec())).await
    }

    /// Asks for attributes, of a link itself where it is one.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn stat_link(&self, path: &[u8]) -> Result<Attributes, Error> {
        self.0.stat(path, Target::Link(path.to_vec())).await
    }

    /// Sets attributes, through links; what is `None` stays.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn set_stat(&self, path: &[u8], attributes: Attributes) -> Result<(), Error> {
        let of = Target::Path(path.to_vec());
        self.done(
            "set the attributes of",
            path,
            &Request::SetStat { of, attributes },
        )
        .await
    }

    /// Removes a file or link.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn remove(&self, path: &[u8]) -> Result<(), Error> {
        let request = Request::Remove {
            path: path.to_vec(),
            folder: false,
        };
        self.done("remove", path, &request).await
    }

    /// Removes a file or link without waiting for the answer: for what a dropped future leaves behind.
    pub fn remove_later(&self, path: &[u8]) {
        self.0.shared.later(&Request::Remove {
            path: path.to_vec(),
            folder: false,
        });
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn remove_folder(&self, path: &[u8]) -> Result<(), Error> {
        let request = Request::Remove {
            path: path.to_vec(),
            folder: true,
        };
        self.done("remove the folder", path, &request).await
    }

    /// Makes a folder. The server's umask is taken off `mode`.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn make_folder(&self, path: &[u8], mode: Option<u32>) -> Result<(), Error> {
        let request = Request::MakeFolder {
            path: path.to_vec(),
            attributes: Attributes {
                mode,
                ..Attributes::default()
            },
        };
        self.done("make the folder", path, &request).await
    }

    /// Resolves a path: `.` gives the folder where the session begins, which is the user's home.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn real_path(&self, path: &[u8]) -> Result<Vec<u8>, Error> {
        let request = Request::RealPath { path: path.to_vec() };
        self.name("resolve", path, &request).await
    }

    /// Resolves a path that may begin with `~` or `~user` (`expand-path@openssh.com`).
    ///
    /// # Errors
    /// As the server answers, or it does not offer that.
    pub async fn expand(&self, path: &[u8]) -> Result<Vec<u8>, Error> {
        let extension = Extension::ExpandPath { path: path.to_vec() };
        let request = self.extended("resolve", path, extension)?;
        self.name("resolve", path, &request).await
    }

    /// Asks where a link points to.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn read_link(&self, path: &[u8]) -> Result<Vec<u8>, Error> {
        let request = Request::ReadLink { path: path.to_vec() };
        self.name("read the link", path, &request).await
    }

    /// Makes a symbolic link at `link` that points to `target`.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn symlink(&self, target: &[u8], link: &[u8]) -> Result<(), Error> {
        let request = Request::Symlink {
            target: target.to_vec(),
            link: link.to_vec(),
        };
        self.done("make the link", link, &request).await
    }

    /// Renames in one step over what is there (`posix-rename@openssh.com`).
    ///
    /// # Errors
    /// As the server answers, or it does not offer that.
    pub async fn replace(&self, from: &[u8], to: &[u8]) -> Result<(), Error> {
        let extension = Extension::PosixRename {
            from: from.to_vec(),
            to: to.to_vec(),
        };
        let request = self.extended("rename", to, extension)?;
        self.done("rename a file to", to, &request).await
    }

    /// Renames where the new name is free.
    ///
    /// # Errors
    /// As the server answers; a name that is taken is [`Code::FAILURE`] with OpenSSH.
    pub async fn rename(&self, from: &[u8], to: &[u8]) -> Result<(), Error> {
        let request = Request::Rename {
            from: from.to_vec(),
            to: to.to_vec(),
        };
        self.done("rename a file to", to, &request).await
    }

    /// Asks about the file system of `path` (`statvfs@openssh.com`).
    ///
    /// # Errors
    /// As the server answers, or it does not offer that.
    pub async fn file_system(&self, path: &[u8]) -> Result<FileSystem, Error> {
        let operation = "ask for the file system of";
        let extension = Extension::StatVfs { path: path.to_vec() };
        let request = self.extended(operation, path, extension)?;
        match self.0.ask(operation, path, &request, 0).await? {
            Reply::Extended(data) => {
                FileSystem::decode(data).map_err(|why| Error::new(operation, path, Cause::Malformed(why)))
            }
            other => Err(unexpected(operation, path, other)),
        }
    }

    fn extended(&self, operation: &'static str, path: &[u8], extension: Extension) -> Result<Request, Error> {
        self.0.extended(operation, path, extension)
    }

    async fn handle(&self, operation: &'static str, path: &[u8], request: &Request) -> Result<Bytes, Error> {
        match self.0.ask(operation, path, request, 0).await? {
            Reply::Handle(handle) => Ok(handle),
            other => Err(unexpected(operation, path, other)),
        }
    }

    async fn name(&self, operation: &'static str, path: &[u8], request: &Request) -> Result<Vec<u8>, Error> {
        match self.0.ask(operation, path, request, 0).await? {
            Reply::Names(names) => match <[Name; 1]>::try_from(names) {
                Ok([name]) if !name.name.contains(&0) => Ok(name.name),
                _ => Err(Error::new(operation, path, Cause::Unexpected("not one name"))),
            },
            other => Err(unexpected(operation, path, other)),
        }
    }

    async fn done(&self, operation: &'static str, path: &[u8], request: &Request) -> Result<(), Error> {
        self.0.done(operation, path, request).await
    }
}

impl Inner {
    fn offers(&self, extension: &str) -> bool {
        self.version.extensions.iter().any(|(name, _)| name == extension)
    }

    async fn ask_limits(&self) -> Result<Limits, Cause> {
        if !self.offers(Extension::Limits.name()) {
            return Ok(Limits::default());
        }
        match self.shared.ask(&Request::Extended(Extension::Limits), 0).await? {
            Reply::Extended(data) => Limits::decode(data).map_err(Cause::Malformed),
            // It is announced and not done: as if it were not announced.
            _ => Ok(Limits::default()),
        }
    }

    fn extended(&self, operation: &'static str, path: &[u8], extension: Extension) -> Result<Request, Error> {
        if self.offers(extension.name()) {
            return Ok(Request::Extended(extension));
        }
        let name = match extension {
            Extension::PosixRename { .. } => "posix-rename@openssh.com",
            Extension::StatVfs { .. } => "statvfs@openssh.com",
            Extension::ExpandPath { .. } => "expand-path@openssh.com",
            Extension::Fsync { .. } => "fsync@openssh.com",
            Extension::CopyData { .. } => "copy-data",
            _ => "this extension",
        };
        Err(Error::new(operation, path, Cause::Missing(name)))
    }

    async fn ask(
        &self,
        operation: &'static str,
        path: &[u8],
        request: &Request,
        awaited: usize,
    ) -> Result<Reply, Error> {
        match self.shared.ask(request, awaited).await {
            Ok(reply) => Ok(reply),
            Err(cause) => Err(Error::new(operation, path, cause)),
        }
    }

    async fn done(&self, operation: &'static str, path: &[u8], request: &Request) -> Result<(), Error> {
        ended(operation, path, self.ask(operation, path, request, 0).await?)
    }

    async fn stat(&self, path: &[u8], of: Target) -> Result<Attributes, Error> {
        let operation = "look at";
        match self.ask(operation, path, &Request::Stat { of }, 0).await? {
            Reply::Attributes(attributes) => Ok(attributes),
            other => Err(unexpected(operation, path, other)),
        }
    }
}

/// Judges an answer that can only be a status.
fn ended(operation: &'static str, path: &[u8], reply: Reply) -> Result<(), Error> {
    match reply {
        Reply::Status { code: Code::OK, .. } => Ok(()),
        other => Err(unexpected(operation, path, other)),
    }
}

/// Makes the error of an answer that is not the one hoped for.
fn unexpected(operation: &'static str, path: &[u8], reply: Reply) -> Error {
    let cause = match reply {
        Reply::Status { code: Code::OK, .. } => Cause::Unexpected("done, without what was asked for"),
        Reply::Status { code, message } => Cause::Refused { code, message },
        _ => Cause::Unexpected("it is of another kind"),
    };
    Error::new(operation, path, cause)
}

fn chunk(limit: u64) -> u32 {
    let size = if limit == 0 { PLAIN } else { limit.min(MOST) };
    // It is at most `MOST`, and a server that takes less than 1 KiB is not served.
    u32::try_from(size.max(1024)).unwrap_or(32 * 1024)
}
