//! The bounded store between a channel, which must always be emptied, and its reader, who may stand still.
//!
//! russh refills a channel's window when data arrives, not when somebody reads it, and stops the whole connection when
//! one channel is not emptied. So every channel is emptied at once into a backlog; a reader who lets it grow beyond its
//! limit loses that channel, and only that channel.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, ReadBuf};

use crate::Error;

/// The writing side.
#[derive(Clone, Debug)]
pub(crate) struct Backlog(Arc<Mutex<State>>);

/// The reading side. Dropping it lets everything that still arrives be thrown away.
#[derive(Debug)]
pub(crate) struct BacklogReader(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    chunks: VecDeque<Bytes>,
    bytes: usize,
    limit: usize,
    end: Option<Result<(), Error>>,
    reader: Reader,
}

#[derive(Debug)]
enum Reader {
    Busy,
    Waiting(Waker),
    Gone,
}

/// Makes a backlog that holds at most `limit` bytes.
pub(crate) fn backlog(limit: usize) -> (Backlog, BacklogReader) {
    let state = State {
        chunks: VecDeque::new(),
        bytes: 0,
        limit,
        end: None,
        reader: Reader::Busy,
    };
    let state = Arc::new(Mutex::new(state));
    (Backlog(Arc::clone(&state)), BacklogReader(state))
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn wake(&mut self) {
        if let Reader::Waiting(waker) = std::mem::replace(&mut self.reader, Reader::Busy) {
            waker.wake();
        }
    }
}

impl Backlog {
    /// Adds data. `false`: the limit is reached and the data is not taken.
    #[must_use = "a full backlog has to end its channel"]
    pub(crate) fn push(&self, data: Bytes) -> bool {
        let mut state = lock(&self.0);
        if matches!(state.reader, Reader::Gone) || data.is_empty() {
            return true;
        }
        if state.bytes + data.len() > state.limit {
            return false;
        }
        state.bytes += data.len();
        state.chunks.push_back(data);
        state.wake();
        true
    }

    /// Ends the stream after what is already stored; the first end counts.
    pub(crate) fn finish(&self, end: Result<(), Error>) {
        let mut state = lock(&self.0);
        if state.end.is_none() && !matches!(state.reader, Reader::Gone) {
            state.end = Some(end);
            state.wake();
        }
    }
}

impl AsyncRead for BacklogReader {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut state = lock(&self.0);
        let mut got = false;
        while buf.remaining() > 0
            && let Some(chunk) = state.chunks.front_mut()
        {
            let take = chunk.len().min(buf.remaining());
            buf.put_slice(&chunk.split_to(take));
            if !chunk.has_remaining() {
                state.chunks.pop_front();
            }
            state.bytes -= take;
            got = true;
        }
        if got || buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        match &state.end {
            Some(Ok(())) => Poll::Ready(Ok(())),
            Some(Err(error)) => Poll::Ready(Err(error.clone().into_io())),
            None => {
                state.reader = Reader::Waiting(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for BacklogReader {
    fn drop(&mut self) {
        let mut state = lock(&self.0);
        state.reader = Reader::Gone;
        state.chunks.clear();
        state.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn keeps_order_then_ends() {
        let (store, mut reader) = backlog(16);
        assert!(store.push(Bytes::from_static(b"abc")) && store.push(Bytes::from_static(b"def")));
        store.finish(Ok(()));
        let mut text = String::new();
        reader.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "abcdef");
    }

    #[tokio::test]
    async fn refuses_beyond_the_limit_and_takes_again_after_reading() {
        let (store, mut reader) = backlog(4);
        assert!(store.push(Bytes::from_static(b"abcd")));
        assert!(!store.push(Bytes::from_static(b"e")));
        let mut two = [0; 2];
        reader.read_exact(&mut two).await.unwrap();
        assert!(store.push(Bytes::from_static(b"ef")));
        drop(reader);
        assert!(
            store.push(Bytes::from(vec![0; 100])),
            "without a reader everything is thrown away"
        );
    }

    #[tokio::test]
    async fn a_failure_comes_after_the_data() {
        let (store, mut reader) = backlog(16);
        assert!(store.push(Bytes::from_static(b"abc")));
        store.finish(Err(Error::new(
            crate::ErrorKind::Closed,
            crate::Stage::Session,
            "h",
            "gone",
        )));
        let mut data = Vec::new();
        let error = reader.read_to_end(&mut data).await.unwrap_err();
        assert_eq!(
            (data.as_slice(), Error::from_io(&error).unwrap().message()),
            (b"abc".as_slice(), "gone")
        );
    }
}
