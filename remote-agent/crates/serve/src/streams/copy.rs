//! Copies between a stream and a socket, each direction ended by itself.

use std::io;

use bytes::BytesMut;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpStream, UnixStream, tcp, unix},
};
use tokio_util::sync::CancellationToken;

use super::Ends;

/// Bytes that are read from a socket at once.
const READ: usize = 128 * 1024;

/// A connected socket.
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Copies until both directions have ended, one breaks, or `end` is cancelled. A direction that breaks breaks the other
/// side's too: nobody takes half a transfer for a whole one.
pub(super) async fn copy(socket: Socket, ends: Ends, end: CancellationToken) {
    let result = match socket {
        Socket::Tcp(stream) => {
            let (read, write) = stream.into_split();
            let outcome = both(read, write, ends, end).await;
            match outcome {
                Ok(()) => Ok(()),
                Err((error, read, write)) => {
                    reset(read, write);
                    Err(error)
                }
            }
        }
        Socket::Unix(stream) => {
            let (read, write) = stream.into_split();
            let outcome = both(read, write, ends, end).await;
            outcome.map_err(|(error, _, _): (_, unix::OwnedReadHalf, unix::OwnedWriteHalf)| error)
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a byte stream broke");
    }
}

/// Closes a TCP connection so that its peer sees that it broke (RST instead of FIN).
fn reset(read: tcp::OwnedReadHalf, write: tcp::OwnedWriteHalf) {
    if let Ok(stream) = read.reunite(write) {
        // One that is gone already needs none.
        drop(stream.set_zero_linger());
    }
}

async fn both<R, W>(
    mut read: R,
    mut write: W,
    ends: Ends,
    end: CancellationToken,
) -> Result<(), (io::Error, R, W)>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let Ends {
        mut incoming,
        mut outgoing,
    } = ends;
    let unread = outgoing.unread();
    let there = async {
        while let Some(piece) = incoming.next().await? {
            write.write_all(&piece).await?;
        }
        write.shutdown().await
    };
    let back = async {
        let mut buffer = BytesMut::new();
        loop {
            buffer.reserve(READ);
            let count = tokio::select! {
                biased;
                count = read.read_buf(&mut buffer) => count?,
                // A socket that is silent would not show it. Once all is sent, nobody reading is no news.
                () = unread.cancelled() => {
                    return Err(io::Error::new(io::ErrorKind::ConnectionReset, "the client broke it off"));
                }
            };
            if count == 0 {
                break;
            }
            outgoing.send(buffer.split().freeze()).await?;
        }
        outgoing.shutdown().await?;
        Ok(())
    };
    let result = tokio::select! {
        biased;
        () = end.cancelled() => Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the agent ends")),
        result = async { tokio::try_join!(there, back) } => result.map(drop),
    };
    result.map_err(|error| (error, read, write))
}
