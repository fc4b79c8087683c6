//! Copying in both directions until both have ended, each end passed on by itself.

use std::{
    io,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Copies until both directions have ended, one fails, or nothing moves for `half_closed_idle` after one has ended.
///
/// An idle connection with both directions open is left alone: databases and shells may be silent for days.
pub(crate) async fn copy_both<A, B>(a: &mut A, b: &mut B, half_closed_idle: Duration) -> io::Result<()>
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let (moved, ended) = (AtomicU64::new(0), AtomicU64::new(0));
    let (mut a_read, mut a_write) = tokio::io::split(a);
    let (mut b_read, mut b_write) = tokio::io::split(b);
    let there = copy_one(&mut a_read, &mut b_write, &moved, &ended);
    let back = copy_one(&mut b_read, &mut a_write, &moved, &ended);
    tokio::select! {
        biased;
        both = async { tokio::try_join!(there, back) } => both.map(|_| ()),
        () = idle(&moved, &ended, half_closed_idle) => {
            Err(io::Error::new(io::ErrorKind::TimedOut, "half closed, and nothing moved in the other direction"))
        }
    }
}

async fn copy_one(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    moved: &AtomicU64,
    ended: &AtomicU64,
) -> io::Result<()> {
    let mut buffer = vec![0; 32 * 1024];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            break;
        }
        to.write_all(&buffer[..count]).await?;
        moved.fetch_add(1, Ordering::Relaxed);
    }
    ended.fetch_add(1, Ordering::Relaxed);
    // One that is gone already has shut down for us.
    drop(to.shutdown().await);
    Ok(())
}

/// Ends when one direction has ended and nothing moved for `limit`.
async fn idle(moved: &AtomicU64, ended: &AtomicU64, limit: Duration) {
    let mut before = moved.load(Ordering::Relaxed);
    let mut was_ended = false;
    loop {
        tokio::time::sleep(limit).await;
        let now = moved.load(Ordering::Relaxed);
        let is_ended = ended.load(Ordering::Relaxed) > 0;
        if was_ended && is_ended && now == before {
            return;
        }
        (before, was_ended) = (now, is_ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_half_close_is_kept_and_the_answer_arrives() {
        let (mut client, mut a) = tokio::io::duplex(64);
        let (mut b, mut server) = tokio::io::duplex(64);
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
        let (copied, answer) = tokio::join!(copy_both(&mut a, &mut b, Duration::from_secs(60)), talk);
        copied.unwrap();
        assert_eq!(answer, "question?");
    }

    #[tokio::test]
    async fn a_half_closed_connection_that_is_silent_ends() {
        let (mut client, mut a) = tokio::io::duplex(64);
        let (mut b, _server) = tokio::io::duplex(64);
        client.shutdown().await.unwrap();
        let error = copy_both(&mut a, &mut b, Duration::from_millis(20))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
