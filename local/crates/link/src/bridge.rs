//! The wire over `reasonix bridge`, for hosts that forbid forwarding to a socket, or over `reasonix serve --stdio`, for
//! hosts on which no agent stays.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bootstrap::{BridgeCall, BridgeReader, End, Verdict, bridge_call};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use transport::{ChannelWriter, Connection, ErrorKind, Exec, ExecOutput, ExitWaiter};

use crate::{error::BridgeRefusal, wire::NoWire};

/// Tries to open the session: under `MaxSessions 1` the host may still be closing the one before.
const TRIES: u32 = 6;
const BETWEEN: Duration = Duration::from_millis(100);
/// How long a bridge that refused may take to end, so that its session is free again.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Longest quotation of what a program said instead of being a bridge, in bytes.
const QUOTE: usize = 200;

/// Runs the bridge to a socket, or an agent of its own, and gives the wire once it says that it is connected.
pub(crate) async fn open(
    connection: &Connection,
    program: &str,
    home: Option<&str>,
    end: End<'_>,
    patience: Duration,
) -> Result<BridgeStream, NoWire> {
    let BridgeCall {
        command,
        preface,
        reader,
    } = bridge_call(program, home, end);
    let (mut stdin, mut stdout, mut stderr, waiter) = start(connection, &command)
        .await
        .map_err(NoWire::Ssh)?
        .into_parts();
    let first = async {
        stdin.write_all(&preface).await?;
        stdin.flush().await?;
        first_line(&mut stdout, reader).await
    };
    let refusal = match tokio::time::timeout(patience, first).await {
        Ok(Ok(Some((Verdict::Connected, early)))) => {
            return Ok(BridgeStream {
                stdin,
                early,
                stdout,
                _waiter: waiter,
            });
        }
        Ok(Ok(Some((Verdict::NoDaemon, _)))) => BridgeRefusal::NoDaemon,
        Ok(Ok(Some((Verdict::Denied, _)))) => BridgeRefusal::Denied,
        Ok(Ok(Some((Verdict::Unknown, _)) | None)) => BridgeRefusal::NoAnswer(said(&mut stderr).await),
        Ok(Err(error)) => match transport::Error::from_io(&error) {
            Some(lost) => return Err(NoWire::Ssh(lost.clone())),
            None => BridgeRefusal::NoAnswer(said(&mut stderr).await),
        },
        Err(_) => BridgeRefusal::NoAnswer(None),
    };
    drop((stdin, stdout, stderr));
    // How it ended says nothing more.
    drop(tokio::time::timeout(LAST_WORDS, waiter.wait()).await);
    Err(NoWire::Bridge(refusal))
}

async fn start(connection: &Connection, command: &str) -> Result<Exec, transport::Error> {
    let mut tries = 1;
    loop {
        match connection.exec(command).await {
            Err(error) if error.kind() == ErrorKind::ChannelRefused && tries < TRIES => {
                tracing::debug!(%error, tries, "no session for the bridge yet");
                tries += 1;
                tokio::time::sleep(BETWEEN).await;
            }
            result => return result,
        }
    }
}

/// Reads up to the fenced line; `None` is the end of the output.
async fn first_line(
    stdout: &mut ExecOutput,
    mut reader: BridgeReader,
) -> io::Result<Option<(Verdict, Vec<u8>)>> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let count = stdout.read(&mut buffer).await?;
        if count == 0 {
            return Ok(None);
        }
        if let Some(found) = reader.push(buffer.get(..count).unwrap_or_default()) {
            return Ok(Some(found));
        }
    }
}

/// Gives the last line of standard error: start-up noise comes first.
async fn said(stderr: &mut ExecOutput) -> Option<String> {
    let mut text = Vec::new();
    let mut limited = stderr.take(16 * 1024);
    // What was read before an error or the deadline is as good as there is.
    drop(tokio::time::timeout(LAST_WORDS, limited.read_to_end(&mut text)).await);
    let text = String::from_utf8_lossy(&text);
    let plain = |line: &str| line.chars().filter(|c| !c.is_control()).collect::<String>();
    let line = text.lines().rfind(|line| !line.trim().is_empty())?;
    Some(stdx::bounded::one_line(&plain(line), QUOTE))
}

/// Standard input and output of a bridge.
pub(crate) struct BridgeStream {
    stdin: ChannelWriter,
    /// Bytes of the wire that came together with the first line.
    early: Vec<u8>,
    stdout: ExecOutput,
    _waiter: ExitWaiter,
}

impl AsyncRead for BridgeStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.early.is_empty() {
            return Pin::new(&mut self.stdout).poll_read(cx, buf);
        }
        let count = self.early.len().min(buf.remaining());
        buf.put_slice(self.early.get(..count).unwrap_or_default());
        self.early.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for BridgeStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stdin).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stdin).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stdin.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stdin).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stdin).poll_shutdown(cx)
    }
}
