//! `reasonix bridge`: copies standard input and output to the daemon's socket.
//!
//! An SSH server that forbids forwarding to a socket still lets a command run, and a refused forwarding looks like a
//! dead daemon (settled details 13). The first line says which it is: `FENCE connected FENCE`, `FENCE no daemon FENCE`
//! or `FENCE denied FENCE`; after the first the stream is the wire.

use std::{io, path::Path};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

/// How a bridge ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BridgeOutcome {
    /// Both directions were copied to their end.
    Finished,
    /// Nobody listens on the socket.
    NoDaemon,
    /// The socket may not be used.
    Denied,
}

/// Connects, says what came of it, and copies until both directions have ended.
///
/// # Errors
/// When standard output cannot be written.
pub async fn run(
    socket: &Path,
    fence: &str,
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<BridgeOutcome> {
    let (word, connected) = match crate::socket::connect(socket).await {
        Ok(stream) => ("connected", Ok(stream)),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            ("denied", Err(BridgeOutcome::Denied))
        }
        Err(_) => ("no daemon", Err(BridgeOutcome::NoDaemon)),
    };
    // The line starts on its own, whatever start-up files printed before it.
    output
        .write_all(format!("\n{fence} {word} {fence}\n").as_bytes())
        .await?;
    output.flush().await?;
    let stream = match connected {
        Ok(stream) => stream,
        Err(outcome) => return Ok(outcome),
    };
    copy(stream, input, output).await?;
    Ok(BridgeOutcome::Finished)
}

/// Copies both ways until the stream has ended; the end of `input` is passed on and ends nothing by itself.
///
/// # Errors
/// When `output` cannot be written.
pub async fn copy(
    stream: impl AsyncRead + AsyncWrite,
    mut input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let (mut from_stream, mut to_stream) = tokio::io::split(stream);
    let up = async {
        // An error here is the end of this direction; the other one decides when the copying ends.
        drop(tokio::io::copy(&mut input, &mut to_stream).await);
        drop(to_stream.shutdown().await);
        std::future::pending::<()>().await;
    };
    let down = copy_flushed(&mut from_stream, &mut output);
    tokio::select! {
        biased;
        ended = down => ended,
        () = up => Ok(()),
    }
}

/// Copies and flushes after each piece, since standard output is buffered and the wire waits for answers.
async fn copy_flushed(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    use tokio::io::AsyncReadExt as _;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = from.read(&mut buffer).await?;
        let Some(piece) = buffer.get(..read).filter(|piece| !piece.is_empty()) else {
            return Ok(());
        };
        to.write_all(piece).await?;
        to.flush().await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt as _;

    #[tokio::test]
    async fn says_when_nobody_listens() {
        let dir = tempfile::tempdir().unwrap();
        let mut output = Vec::new();
        let outcome = run(&dir.path().join("s"), "rx1", tokio::io::empty(), &mut output)
            .await
            .unwrap();
        assert_eq!(outcome, BridgeOutcome::NoDaemon);
        assert_eq!(String::from_utf8(output).unwrap(), "\nrx1 no daemon rx1\n");
    }

    #[tokio::test]
    async fn the_end_of_the_stream_is_the_end_while_the_input_stays_open() {
        let (ours, mut theirs) = tokio::io::duplex(64);
        let (input, _open) = tokio::io::duplex(64);
        theirs.write_all(b"bye").await.unwrap();
        drop(theirs);
        let mut output = Vec::new();
        copy(ours, input, &mut output).await.unwrap();
        assert_eq!(output, b"bye");
    }

    #[tokio::test]
    async fn copies_both_ways_and_keeps_the_half_close() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = tokio::net::UnixListener::bind(&path).unwrap();
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut got = String::new();
            stream.read_to_string(&mut got).await.unwrap();
            stream.write_all(got.to_uppercase().as_bytes()).await.unwrap();
        };
        let mut output = Vec::new();
        let (outcome, ()) = tokio::join!(run(&path, "rx1", &b"hello"[..], &mut output), server);
        assert_eq!(outcome.unwrap(), BridgeOutcome::Finished);
        assert_eq!(String::from_utf8(output).unwrap(), "\nrx1 connected rx1\nHELLO");
    }
}
