//! What is open on the server.

use std::sync::Arc;

use bytes::Bytes;

use super::{Cause, Error, Inner, ended, unexpected};
use crate::{Attributes, Code, Extension, Reply, Request, Target, packet::Name};

/// An open file. Dropping it closes it without asking how that went; [`File::close`] asks.
#[derive(Debug)]
pub struct File(Open);

/// An open folder. Dropping it closes it.
#[derive(Debug)]
pub struct Folder(Open);

#[derive(Debug)]
struct Open {
    inner: Arc<Inner>,
    handle: Bytes,
    path: Vec<u8>,
    open: bool,
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.open {
            self.inner.shared.close_handle(self.handle.clone());
        }
    }
}

impl Open {
    fn new(inner: Arc<Inner>, handle: Bytes, path: &[u8]) -> Self {
        Self {
            inner,
            handle,
            path: path.to_vec(),
            open: true,
        }
    }

    fn fail(&self, operation: &'static str, cause: Cause) -> Error {
        Error::new(operation, &self.path, cause)
    }

    async fn submit(
        &self,
        operation: &'static str,
        request: &Request,
        awaited: usize,
    ) -> Result<impl Future<Output = Result<Reply, Error>> + Send + use<>, Error> {
        let answer = self.inner.shared.submit(request, awaited).await;
        let answer = answer.map_err(|cause| self.fail(operation, cause))?;
        let path = self.path.clone();
        Ok(async move { answer.await.map_err(|cause| Error::new(operation, &path, cause)) })
    }
}

impl File {
    pub(super) fn new(inner: Arc<Inner>, handle: Bytes, path: &[u8]) -> Self {
        Self(Open::new(inner, handle, path))
    }

    /// Gives the path by which it was opened.
    #[must_use]
    pub fn path(&self) -> &[u8] {
        &self.0.path
    }

    /// Reads up to `length` bytes at `offset`. The server may give less than is there; nothing is the end of the file.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn read(&self, offset: u64, length: u32) -> Result<Bytes, Error> {
        self.begin_read(offset, length).await?.await
    }

    /// Asks for bytes and gives a future of them, so that many reads can be under way in order.
    ///
    /// # Errors
    /// The connection is gone.
    pub async fn begin_read(
        &self,
        offset: u64,
        length: u32,
    ) -> Result<impl Future<Output = Result<Bytes, Error>> + Send + use<>, Error> {
        let operation = "read";
        let request = Request::Read {
            handle: self.0.handle.clone(),
            offset,
            length,
        };
        let answer = self.0.submit(operation, &request, length as usize).await?;
        let path = self.0.path.clone();
        Ok(async move {
            match answer.await? {
                Reply::Data(data) if data.len() > length as usize => Err(Error::new(
                    operation,
                    &path,
                    Cause::Unexpected("more than was asked for"),
                )),
                Reply::Data(data) if data.is_empty() && length > 0 => Err(Error::new(
                    operation,
                    &path,
                    Cause::Unexpected("no bytes, and no end"),
                )),
                Reply::Data(data) => Ok(data),
                Reply::Status { code: Code::END, .. } => Ok(Bytes::new()),
                other => Err(unexpected(operation, &path, other)),
            }
        })
    }

    /// Writes at `offset`, at most what [`super::Client::write_size`] says.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn write(&self, offset: u64, data: Bytes) -> Result<(), Error> {
        self.begin_write(offset, data).await?.await
    }

    /// Sends bytes and gives a future of the answer, so that many writes can be under way in order.
    ///
    /// # Errors
    /// The connection is gone.
    pub async fn begin_write(
        &self,
        offset: u64,
        data: Bytes,
    ) -> Result<impl Future<Output = Result<(), Error>> + Send + use<>, Error> {
        let request = Request::Write {
            handle: self.0.handle.clone(),
            offset,
            data,
        };
        self.begin("write", &request).await
    }

    /// Asks for attributes.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn stat(&self) -> Result<Attributes, Error> {
        self.begin_stat().await?.await
    }

    /// Asks for attributes and gives a future of them.
    ///
    /// # Errors
    /// The connection is gone.
    pub async fn begin_stat(
        &self,
    ) -> Result<impl Future<Output = Result<Attributes, Error>> + Send + use<>, Error> {
        let operation = "look at";
        let of = Target::Handle(self.0.handle.clone());
        let answer = self.0.submit(operation, &Request::Stat { of }, 0).await?;
        let path = self.0.path.clone();
        Ok(async move {
            match answer.await? {
                Reply::Attributes(attributes) => Ok(attributes),
                other => Err(unexpected(operation, &path, other)),
            }
        })
    }

    /// Sets attributes; what is `None` stays.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn set_stat(&self, attributes: Attributes) -> Result<(), Error> {
        self.begin_set_stat(attributes).await?.await
    }

    /// Sets attributes and gives a future of the answer.
    ///
    /// # Errors
    /// The connection is gone.
    pub async fn begin_set_stat(
        &self,
        attributes: Attributes,
    ) -> Result<impl Future<Output = Result<(), Error>> + Send + use<>, Error> {
        let of = Target::Handle(self.0.handle.clone());
        self.begin("set the attributes of", &Request::SetStat { of, attributes })
            .await
    }

    /// Waits until it is on the disk (`fsync@openssh.com`).
    ///
    /// # Errors
    /// As the server answers, or it does not offer that.
    pub async fn sync(&self) -> Result<(), Error> {
        self.begin_sync().await?.await
    }

    /// Asks to put it on the disk and gives a future of the answer.
    ///
    /// # Errors
    /// The connection is gone, or the server does not offer that.
    pub async fn begin_sync(&self) -> Result<impl Future<Output = Result<(), Error>> + Send + use<>, Error> {
        let operation = "sync";
        let handle = self.0.handle.clone();
        let extension = Extension::Fsync { handle };
        let request = self.0.inner.extended(operation, &self.0.path, extension)?;
        self.begin(operation, &request).await
    }

    async fn begin(
        &self,
        operation: &'static str,
        request: &Request,
    ) -> Result<impl Future<Output = Result<(), Error>> + Send + use<>, Error> {
        let answer = self.0.submit(operation, request, 0).await?;
        let path = self.0.path.clone();
        Ok(async move { ended(operation, &path, answer.await?) })
    }

    /// Copies on the server from this file, from `from` on to its end, to `to` at `at` (`copy-data`).
    ///
    /// # Errors
    /// As the server answers, or it does not offer that.
    pub async fn copy_to(&self, from: u64, to: &Self, at: u64) -> Result<(), Error> {
        let operation = "copy";
        let extension = Extension::CopyData {
            from: self.0.handle.clone(),
            from_offset: from,
            length: 0,
            to: to.0.handle.clone(),
            to_offset: at,
        };
        let request = self.0.inner.extended(operation, &self.0.path, extension)?;
        self.0.inner.done(operation, &self.0.path, &request).await
    }

    /// Closes it and says how that went: some file systems tell only then that writing failed.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn close(self) -> Result<(), Error> {
        self.begin_close().await?.await
    }

    /// Asks to close it and gives a future of the answer.
    ///
    /// # Errors
    /// The connection is gone.
    pub async fn begin_close(
        mut self,
    ) -> Result<impl Future<Output = Result<(), Error>> + Send + use<>, Error> {
        let operation = "close";
        let request = Request::Close {
            handle: self.0.handle.clone(),
        };
        let answer = self.0.submit(operation, &request, 0).await?;
        self.0.open = false;
        let path = std::mem::take(&mut self.0.path);
        Ok(async move { ended(operation, &path, answer.await?) })
    }
}

impl Folder {
    pub(super) fn new(inner: Arc<Inner>, handle: Bytes, path: &[u8]) -> Self {
        Self(Open::new(inner, handle, path))
    }

    /// Reads the next names, in the order of the server; nothing is the end. `.` and `..` are among them.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn next(&self) -> Result<Vec<Name>, Error> {
        let operation = "list";
        let request = Request::ReadFolder {
            handle: self.0.handle.clone(),
        };
        // A packet of names may be as long as any.
        let reply = self.0.inner.ask(operation, &self.0.path, &request, 32 * 1024);
        match reply.await? {
            Reply::Names(names) if !names.is_empty() => Ok(names),
            Reply::Names(_) => Err(self.0.fail(operation, Cause::Unexpected("no names, and no end"))),
            Reply::Status { code: Code::END, .. } => Ok(Vec::new()),
            other => Err(unexpected(operation, &self.0.path, other)),
        }
    }
}
