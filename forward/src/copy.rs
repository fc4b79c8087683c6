//! Copying in both directions until both have ended, each end passed on by itself.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering},
    task::Poll,
    time::Duration,
};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf, ReadHalf, WriteHalf};

use crate::table::Moved;

/// What a quiet connection holds for each direction; many are open at once.
const FIRST: usize = 8 * 1024;
/// What a busy one holds. More than the pipes behind it take at once gains nothing.
const MOST: usize = 64 * 1024;

/// Copies until both directions have ended, one fails, or nothing moves for `half_closed_idle` after one has ended.
///
/// An idle connection with both directions open is left alone: databases and shells may be silent for days.
pub(crate) async fn copy_both<A, B>(
    client: A,
    target: B,
    moved: &Moved,
    half_closed_idle: Duration,
) -> io::Result<(A, B)>
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let (pieces, ended) = (AtomicU64::new(0), AtomicU64::new(0));
    let (mut client_read, mut client_write) = tokio::io::split(client);
    let (mut target_read, mut target_write) = tokio::io::split(target);
    let there = copy_one(&mut client_read, &mut target_write, &moved.up, &pieces, &ended);
    let back = copy_one(&mut target_read, &mut client_write, &moved.down, &pieces, &ended);
    tokio::select! {
        biased;
        both = async { tokio::try_join!(there, back) } => both.map(|_| ()),
        () = idle(&pieces, &ended, half_closed_idle) => {
            Err(io::Error::new(io::ErrorKind::TimedOut, "half closed, and nothing moved in the other direction"))
        }
    }?;
    Ok((
        client_read.unsplit(client_write),
        target_read.unsplit(target_write),
    ))
}

/// Copies until that is done or `given_up` says why not.
pub(crate) async fn unless<T>(
    given_up: impl Future<Output = io::Error>,
    copied: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    tokio::select! {
        biased;
        error = given_up => Err(error),
        copied = copied => copied,
    }
}

async fn copy_one<F, T>(
    from: &mut ReadHalf<F>,
    to: &mut WriteHalf<T>,
    bytes: &AtomicU64,
    pieces: &AtomicU64,
    ended: &AtomicU64,
) -> io::Result<()>
where
    F: AsyncRead,
    T: AsyncWrite,
{
    let mut buffer = vec![0; FIRST];
    let mut is_flushed = true;
    loop {
        // A writer that keeps bytes back gives them when there is nothing to add.
        let count = poll_fn(|cx| {
            let mut free = ReadBuf::new(&mut buffer);
            match Pin::new(&mut *from).poll_read(cx, &mut free) {
                Poll::Ready(result) => Poll::Ready(result.map(|()| Some(free.filled().len()))),
                Poll::Pending if is_flushed => Poll::Pending,
                Poll::Pending => Poll::Ready(Ok(None)),
            }
        });
        match count.await? {
            None => {
                to.flush().await?;
                is_flushed = true;
            }
            Some(0) => break,
            Some(count) => {
                to.write_all(&buffer[..count]).await?;
                is_flushed = false;
                bytes.fetch_add(count as u64, Ordering::Relaxed);
                pieces.fetch_add(1, Ordering::Relaxed);
                if count == buffer.len() && count < MOST {
                    buffer = vec![0; count * 2];
                }
            }
        }
    }
    ended.fetch_add(1, Ordering::Relaxed);
    // One that is gone already has shut down for us.
    drop(to.shutdown().await);
    Ok(())
}

/// Ends when one direction has ended and nothing moved for `limit`.
async fn idle(pieces: &AtomicU64, ended: &AtomicU64, limit: Duration) {
    let mut before = pieces.load(Ordering::Relaxed);
    let mut was_ended = false;
    loop {
        tokio::time::sleep(limit).await;
        let now = pieces.load(Ordering::Relaxed);
        let is_ended = ended.load(Ordering::Relaxed) > 0;
        if was_ended && is_ended && now == before {
            return;
        }
        (before, was_ended) = (now, is_ended);
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn a_half_close_is_kept_and_the_answer_arrives() {
        let (mut client, a) = tokio::io::duplex(64);
        let (b, mut server) = tokio::io::duplex(64);
        let moved = Moved::default();
        let talk = async {
            client.write_all(b"question").await.unwrap();
            client.shutdown().await.unwrap();
            let mut question = String::new();
            server.read_to_string(&mut question).await.unwrap();
            server.write_all(format!("{question}?").as_bytes()).await.unwrap();
            server.shutdown().await.unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            answer
        };
        let (copied, answer) = tokio::join!(copy_both(a, b, &moved, Duration::from_secs(60)), talk);
        drop(copied.unwrap());
        assert_eq!(answer, "question?");
        assert_eq!((moved.up.into_inner(), moved.down.into_inner()), (8, 9));
    }

    #[tokio::test]
    async fn a_half_closed_connection_that_is_silent_ends() {
        let (mut client, a) = tokio::io::duplex(64);
        let (b, _server) = tokio::io::duplex(64);
        client.shutdown().await.unwrap();
        let error = copy_both(a, b, &Moved::default(), Duration::from_millis(20))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_large_transfer_goes_through_growing_buffers() {
        let (mut client, a) = tokio::io::duplex(1024 * 1024);
        let (b, mut server) = tokio::io::duplex(1024 * 1024);
        let sent: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
        let moved = Moved::default();
        let talk = async {
            let write = async {
                client.write_all(&sent).await.unwrap();
                client.shutdown().await.unwrap();
            };
            let read = async {
                let mut got = Vec::new();
                server.read_to_end(&mut got).await.unwrap();
                server.shutdown().await.unwrap();
                got
            };
            tokio::join!(write, read).1
        };
        let (copied, got) = tokio::join!(copy_both(a, b, &moved, Duration::from_secs(60)), talk);
        drop(copied.unwrap());
        assert!(got == sent, "{} bytes came", got.len());
    }
}
