//! HTTP bodies as byte streams, and byte streams as bodies. Both sides of the wire use this.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, Bytes};
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::mpsc,
};
use tokio_util::sync::{CancellationToken, DropGuard, PollSender};

/// Bytes that one piece of a body holds at most.
const PIECE: usize = 64 * 1024;
/// Pieces that a writer may be ahead of the connection.
const AHEAD: usize = 2;

/// Makes a body and what is written into it.
#[must_use]
pub fn pipe() -> (BodyWriter, Outgoing) {
    let (sender, pieces) = mpsc::channel(AHEAD);
    let finished = Arc::new(AtomicBool::new(false));
    let unread = CancellationToken::new();
    let writer = BodyWriter {
        sender: PollSender::new(sender),
        finished: Arc::clone(&finished),
        unread: unread.clone(),
    };
    let body = Pipe {
        pieces,
        finished,
        _unread: unread.drop_guard(),
    };
    (writer, Outgoing::Pipe(body))
}

/// A body that goes out.
#[derive(Debug)]
pub enum Outgoing {
    /// All there is.
    Full(Full<Bytes>),
    /// What is written while it goes.
    Pipe(Pipe),
}

/// A body that is written while it goes. It ends with an error, which resets the stream, unless the writer was shut down.
#[derive(Debug)]
pub struct Pipe {
    pieces: mpsc::Receiver<Bytes>,
    /// Whether the writer was shut down.
    finished: Arc<AtomicBool>,
    _unread: DropGuard,
}

impl Outgoing {
    /// Makes a whole body.
    #[must_use]
    pub fn full(bytes: Bytes) -> Self {
        Self::Full(Full::new(bytes))
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.get_mut() {
            Self::Full(body) => match ready!(Pin::new(body).poll_frame(cx)) {
                Some(Ok(frame)) => Poll::Ready(Some(Ok(frame))),
                Some(Err(never)) => match never {},
                None => Poll::Ready(None),
            },
            Self::Pipe(pipe) => match ready!(pipe.pieces.poll_recv(cx)) {
                Some(piece) => Poll::Ready(Some(Ok(Frame::data(piece)))),
                None if pipe.finished.load(Ordering::Acquire) => Poll::Ready(None),
                None => Poll::Ready(Some(Err(io::Error::new(
                    io::ErrorKind::BrokenPipe,
                    "the writer went away before the end",
                )))),
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(body) => body.is_end_stream(),
            Self::Pipe(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(body) => body.size_hint(),
            Self::Pipe(_) => SizeHint::default(),
        }
    }
}

/// The writing end of a body. Shutting it down ends the body; dropping it before that breaks the body.
#[derive(Debug)]
pub struct BodyWriter {
    sender: PollSender<Bytes>,
    finished: Arc<AtomicBool>,
    unread: CancellationToken,
}

impl BodyWriter {
    /// Writes a piece without copying it; waits while the connection is behind.
    ///
    /// # Errors
    /// Nobody reads the body any more.
    pub async fn send(&mut self, piece: Bytes) -> io::Result<()> {
        poll_fn(|cx| self.sender.poll_reserve(cx)).await.map_err(unread)?;
        self.sender.send_item(piece).map_err(unread)
    }

    /// Gives what is cancelled when nobody reads the body any more.
    #[must_use]
    pub fn unread(&self) -> CancellationToken {
        self.unread.clone()
    }
}

fn unread<T>(_error: T) -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "nobody reads this stream any more")
}

impl AsyncWrite for BodyWriter {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.sender.poll_reserve(cx)).map_err(unread)?;
        let piece = bytes.get(..PIECE).unwrap_or(bytes);
        self.sender
            .send_item(Bytes::copy_from_slice(piece))
            .map_err(unread)?;
        Poll::Ready(Ok(piece.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.finished.store(true, Ordering::Release);
        self.sender.close();
        Poll::Ready(Ok(()))
    }
}

/// The reading end of a body.
#[derive(Debug)]
pub struct BodyReader<B> {
    body: B,
    piece: Bytes,
}

impl<B> BodyReader<B> {
    /// Reads from a body.
    pub fn new(body: B) -> Self {
        Self {
            body,
            piece: Bytes::new(),
        }
    }
}

impl<B> BodyReader<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// Gives what came, without copying it; `None` at the end. Dropping the future loses nothing.
    ///
    /// # Errors
    /// The body broke off.
    pub async fn next(&mut self) -> io::Result<Option<Bytes>> {
        poll_fn(|cx| self.poll_piece(cx)).await?;
        Ok(Some(std::mem::take(&mut self.piece)).filter(|piece| !piece.is_empty()))
    }

    /// Makes sure that there is a piece, unless the body is at its end.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.piece.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => self.piece = frame.into_data().unwrap_or_default(),
                Some(Err(error)) => {
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionReset, error)));
                }
                None => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<B> AsyncRead for BodyReader<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_piece(cx))?;
        let count = self.piece.len().min(buffer.remaining());
        buffer.put_slice(self.piece.get(..count).unwrap_or_default());
        self.piece.advance(count);
        Poll::Ready(Ok(()))
    }
}
