//! A byte stream that notes when it was last heard, and that its other end speaks HTTP/2 at all.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connector::ByteStream;

/// When the other side was last heard.
#[derive(Debug)]
pub(crate) struct Life {
    origin: Instant,
    /// Milliseconds since `origin` plus one; 0 before anything was heard.
    heard: AtomicU64,
}

impl Life {
    pub(crate) fn new() -> Self {
        Self {
            origin: stdx::clock::monotonic(),
            heard: AtomicU64::new(0),
        }
    }

    /// Notes that the other side was heard now.
    pub(crate) fn mark(&self) {
        let millis = stdx::clock::monotonic().duration_since(self.origin).as_millis();
        let millis = u64::try_from(millis).unwrap_or(u64::MAX - 1);
        self.heard.store(millis + 1, Ordering::Relaxed);
    }

    pub(crate) fn last_heard(&self) -> Option<Instant> {
        let millis = self.heard.load(Ordering::Relaxed).checked_sub(1)?;
        Some(self.origin + Duration::from_millis(millis))
    }

    /// Waits until nothing was heard for `limit`, counted from now at the earliest.
    pub(crate) async fn silence(&self, limit: Duration) {
        let start = stdx::clock::monotonic();
        loop {
            let since = self.last_heard().map_or(start, |heard| heard.max(start));
            let deadline = since + limit;
            if stdx::clock::monotonic() >= deadline {
                return;
            }
            tokio::time::sleep_until(deadline.into()).await;
        }
    }
}

/// What an HTTP/2 server sends first: the nine bytes in front of a SETTINGS frame (RFC 9113, sections 3.4 and 4.1).
const FRAME_HEADER: usize = 9;

/// The stream.
pub(crate) struct Watched {
    inner: Box<dyn ByteStream>,
    life: Arc<Life>,
    /// What came first, until there is enough of it to judge.
    first: Option<Vec<u8>>,
    /// Set when the other side does not speak HTTP/2: what it said.
    nonsense: Arc<OnceLock<String>>,
}

impl Watched {
    pub(crate) fn new(inner: Box<dyn ByteStream>, life: Arc<Life>, nonsense: Arc<OnceLock<String>>) -> Self {
        let first = Some(Vec::new());
        Self {
            inner,
            life,
            first,
            nonsense,
        }
    }

    /// Looks at what came first. `end` says that nothing more will come.
    fn judge(&mut self, bytes: &[u8], end: bool) -> io::Result<()> {
        let Some(first) = &mut self.first else {
            return Ok(());
        };
        first.extend_from_slice(bytes);
        let fits = may_be_settings(first);
        let more_to_come = first.len() < FRAME_HEADER && (first.is_empty() || !end);
        if fits && more_to_come {
            return Ok(());
        }
        let first = self.first.take().unwrap_or_default();
        if fits && first.len() >= FRAME_HEADER {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&first);
        let said = format!("{:?}", stdx::bounded::prefix(&said, 200));
        let message = format!("the other side does not speak HTTP/2, it said {said}");
        // Only the first judgement of a connection is kept, and there is only one.
        drop(self.nonsense.set(message.clone()));
        Err(io::Error::new(io::ErrorKind::InvalidData, message))
    }
}

/// Says whether these bytes, as far as they go, begin a SETTINGS frame of a connection (type 4, stream 0) that is no
/// acknowledgement. Its length is below 65,536.
fn may_be_settings(first: &[u8]) -> bool {
    let expected = [
        Some(0),
        None,
        None,
        Some(4),
        Some(0),
        Some(0),
        Some(0),
        Some(0),
        Some(0),
    ];
    let mut pairs = first.iter().zip(expected);
    pairs.all(|(byte, expected)| expected.is_none_or(|expected| *byte == expected))
}

impl AsyncRead for Watched {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(cx, buf))?;
        let new = buf.filled().get(before..).unwrap_or_default();
        if !new.is_empty() {
            this.life.mark();
        }
        if this.first.is_some() {
            this.judge(new, new.is_empty())?;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Watched {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }
}
