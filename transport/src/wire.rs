//! The byte stream below SSH: counts what arrives and can be cut from our side at any time.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Any stream that SSH can run over.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> ByteStream for T {}

/// The outside view of a [`Wire`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    received: Arc<AtomicU64>,
    cut: CancellationToken,
}

impl Meter {
    /// Gives the number of bytes that ever arrived.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Ends the stream; a session that hangs in a write sees an error too.
    pub(crate) fn cut(&self) {
        self.cut.cancel();
    }
}

/// A byte stream with a [`Meter`].
pub(crate) struct Wire {
    stream: Box<dyn ByteStream>,
    meter: Meter,
    cut_while_reading: Pin<Box<WaitForCancellationFutureOwned>>,
    cut_while_writing: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Wire {
    pub(crate) fn new(stream: Box<dyn ByteStream>, meter: &Meter) -> Self {
        let wait = || Box::pin(meter.cut.clone().cancelled_owned());
        Self {
            stream,
            meter: meter.clone(),
            cut_while_reading: wait(),
            cut_while_writing: wait(),
        }
    }

    fn poll_cut(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.cut_while_writing.as_mut().poll(cx) {
            Poll::Ready(()) => Err(cut_error()),
            Poll::Pending => Ok(()),
        }
    }
}

fn cut_error() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the connection was given up")
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.cut_while_reading.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(cut_error()));
        }
        let before = buf.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.meter
            .received
            .fetch_add((buf.filled().len() - before) as u64, Ordering::Relaxed);
        result
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_cut(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_cut(cx)?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_cut(cx)?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
