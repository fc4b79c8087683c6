//! The byte stream below SSH: counts what arrives, can be cut from our side at any time, and acknowledges at once.

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

use tokio::{
    io::{AsyncRead, AsyncWrite, BufReader, ReadBuf},
    net::TcpStream,
};
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

/// Bytes that one read takes from the socket: a full SSH packet. Packets are read in two parts otherwise.
const READ: usize = 36 * 1024;

/// A TCP stream whose received bytes are acknowledged at once.
///
/// OpenSSH's sshd switches Nagle's algorithm (RFC 896) off only for connections that run a command, which a link to a
/// socket never does, and not before the login in any case. Each of its small packets then waits for the
/// acknowledgement of the one before, which Linux delays by 40 ms when it has nothing to send itself.
pub(crate) struct PromptTcp(BufReader<Acknowledging>);

impl PromptTcp {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self(BufReader::with_capacity(READ, Acknowledging(stream)))
    }
}

impl AsyncRead for PromptTcp {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for PromptTcp {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

struct Acknowledging(TcpStream);

impl Acknowledging {
    /// Tells the kernel to acknowledge without delay. It forgets that now and then, so it is told after each read.
    #[cfg(target_os = "linux")]
    fn acknowledge(&self) {
        // Only slower when it does not work.
        drop(rustix::net::sockopt::set_tcp_quickack(&self.0, true).map_err(io::Error::from));
    }

    #[cfg(not(target_os = "linux"))]
    fn acknowledge(&self) {}
}

impl AsyncRead for Acknowledging {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.0).poll_read(cx, buf);
        if result.is_ready() {
            self.acknowledge();
        }
        result
    }
}

impl AsyncWrite for Acknowledging {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
