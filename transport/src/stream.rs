//! A forwarded connection as `AsyncRead` + `AsyncWrite`.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::{
    Error,
    backlog::BacklogReader,
    channel::{ChannelWriter, Ends, Lease, Stall},
};

/// A byte stream through the SSH connection.
///
/// Shutting down the writing side keeps the reading side open. A lost connection is an error, never an end-of-file;
/// [`crate::Error::from_io`] tells why. Dropping the stream closes its channel.
#[derive(Debug)]
pub struct Stream {
    input: ChannelWriter,
    output: BacklogReader,
    stall: Stall,
    _lease: Lease,
}

impl Stream {
    pub(crate) fn new(ends: Ends) -> Self {
        Self {
            input: ends.input,
            output: ends.output,
            stall: ends.stall,
            _lease: ends.lease,
        }
    }

    /// Waits until the channel was given up since its reader stood still. A reader that is held up by where the bytes go
    /// would learn of it only when it reads again.
    pub fn stalled(&self) -> impl Future<Output = Error> + Send + 'static + use<> {
        self.stall.clone().happened()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_read(cx, buf)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.input).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.input).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.input.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_shutdown(cx)
    }
}
