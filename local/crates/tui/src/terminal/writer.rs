//! Bytes on their way to the terminal.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;

/// How long leaving waits for a terminal that does not read.
const SETTLE: Duration = Duration::from_millis(500);
/// How often what such a terminal has not read is thrown away. Each time lets a few KiB more of the picture pass.
const DISCARDS: usize = 400;
/// How long the writing is waited for after each.
const BETWEEN: Duration = Duration::from_millis(5);

/// Bytes in memory that the drawing is written into.
#[derive(Debug, Clone, Default)]
pub(super) struct Bytes(Arc<Mutex<Vec<u8>>>);

impl Bytes {
    pub(super) fn push(&self, text: &str) {
        self.lock().extend_from_slice(text.as_bytes());
    }

    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes one picture at a time.
#[derive(Default)]
pub(super) struct Writer {
    writing: Option<BoxFuture<'static, io::Result<()>>>,
}

impl Writer {
    pub(super) fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Begins to write. The caller waits for the last picture first.
    pub(super) fn write(&mut self, bytes: Vec<u8>) {
        let write = move || {
            let mut out = io::stdout().lock();
            out.write_all(&bytes)?;
            out.flush()
        };
        self.writing = Some(Box::pin(stdx::task::blocking(write)));
    }

    /// Waits for what is being written; for ever when nothing is. Dropping the future loses nothing.
    pub(super) async fn written(&mut self) -> io::Result<()> {
        match &mut self.writing {
            Some(writing) => {
                let result = writing.await;
                self.writing = None;
                result
            }
            None => std::future::pending().await,
        }
    }

    /// Waits a little for what is being written, and says whether it was read. A terminal that does not read loses it:
    /// whatever is written later would wait behind it, and the screen would never end.
    pub(super) async fn settled(&mut self) -> bool {
        if !self.is_writing() || tokio::time::timeout(SETTLE, self.written()).await.is_ok() {
            return true;
        }
        for _ in 0..DISCARDS {
            discard();
            if tokio::time::timeout(BETWEEN, self.written()).await.is_ok() {
                break;
            }
        }
        // Room for what puts the terminal back.
        discard();
        false
    }
}

/// Throws away what the terminal has not read, and lets output pass again that was held there (Ctrl-S).
fn discard() {
    use rustix::termios::{Action, QueueSelector, tcflow, tcflush};
    let out = io::stdout();
    // Who waits for room is woken by output that goes on, not by output that was thrown away.
    let flushed = tcflush(&out, QueueSelector::OFlush)
        .and_then(|()| tcflow(&out, Action::OOff))
        .and_then(|()| tcflow(&out, Action::OOn));
    if let Err(error) = flushed {
        tracing::debug!(%error, "the terminal's output could not be thrown away");
    }
}
