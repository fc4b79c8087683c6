//! The program as a stream: from an offset on, compressed on the fly, reporting progress.

use std::{
    io::{self, Write as _},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use flate2::{Compression, write::GzEncoder};
use tokio::io::{AsyncRead, ReadBuf};

use crate::progress::{Progress, Update};

/// Bytes compressed at a time: about 10 ms of work, so that it may happen while polled.
const CHUNK: usize = 256 * 1024;

/// Whether the host can decompress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Plain,
    Gzip,
}

/// Reads as the program from an offset on. Gzip members may follow one another (RFC 1952 section 2.2), so each chunk
/// is its own and nothing has to be kept between chunks.
pub(crate) struct Payload<'a> {
    content: Arc<[u8]>,
    /// Where the next chunk begins.
    next: usize,
    encoding: Encoding,
    chunk: Vec<u8>,
    sent: usize,
    progress: &'a dyn Progress,
}

impl<'a> Payload<'a> {
    pub(crate) fn new(
        content: Arc<[u8]>,
        offset: usize,
        encoding: Encoding,
        progress: &'a dyn Progress,
    ) -> Self {
        Self {
            content,
            next: offset,
            encoding,
            chunk: Vec::new(),
            sent: 0,
            progress,
        }
    }

    fn refill(&mut self) -> io::Result<()> {
        let end = self.content.len().min(self.next.saturating_add(CHUNK));
        let raw = self.content.get(self.next..end).unwrap_or_default();
        self.sent = 0;
        self.chunk.clear();
        if !raw.is_empty() {
            match self.encoding {
                Encoding::Plain => self.chunk.extend_from_slice(raw),
                Encoding::Gzip => {
                    let mut encoder = GzEncoder::new(std::mem::take(&mut self.chunk), Compression::default());
                    encoder.write_all(raw)?;
                    self.chunk = encoder.finish()?;
                }
            }
        }
        // What was handed over before this chunk was asked for.
        self.progress.update(Update::Uploaded {
            done: self.next as u64,
            total: self.content.len() as u64,
        });
        self.next = end;
        Ok(())
    }
}

impl AsyncRead for Payload<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.sent == self.chunk.len() {
            self.refill()?;
        }
        let rest = self.chunk.get(self.sent..).unwrap_or_default();
        let (now, _) = rest.split_at(rest.len().min(buf.remaining()));
        buf.put_slice(now);
        self.sent += now.len();
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Read as _, sync::Mutex};

    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[derive(Default)]
    struct Seen(Mutex<Vec<u64>>);
    impl Progress for Seen {
        fn update(&self, update: Update) {
            if let Update::Uploaded { done, .. } = update {
                self.0.lock().unwrap().push(done);
            }
        }
    }

    #[tokio::test]
    async fn gives_the_rest_of_the_content() {
        let content: Arc<[u8]> = (0..CHUNK * 2 + 77).map(|n| (n * n % 251) as u8).collect();
        for offset in [0, 65536, CHUNK, content.len()] {
            for encoding in [Encoding::Plain, Encoding::Gzip] {
                let seen = Seen::default();
                let mut out = Vec::new();
                Payload::new(content.clone(), offset, encoding, &seen)
                    .read_to_end(&mut out)
                    .await
                    .unwrap();
                if encoding == Encoding::Gzip && !out.is_empty() {
                    let mut plain = Vec::new();
                    flate2::read::MultiGzDecoder::new(out.as_slice())
                        .read_to_end(&mut plain)
                        .unwrap();
                    out = plain;
                }
                assert!(out == content[offset..], "{offset} {encoding:?}");
                let seen = seen.0.into_inner().unwrap();
                assert_eq!(
                    (seen[0], *seen.last().unwrap()),
                    (offset as u64, content.len() as u64)
                );
                assert!(seen.is_sorted());
            }
        }
    }
}
