//! A host behind an SSH connection.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use transport::{Connection, ErrorKind, ExitStatus};

use crate::remote::{BoxFuture, Deadline, Exec, Output, Remote, RemoteError, Status};

const BUFFER: usize = 32 * 1024;

/// Runs each command on an exec channel of its own.
#[derive(Debug, Clone)]
pub struct SshRemote {
    connection: Connection,
}

impl SshRemote {
    /// Wraps a connection, which stays usable for other things.
    #[must_use]
    pub fn new(connection: Connection) -> Self {
        Self { connection }
    }
}

impl Remote for SshRemote {
    fn host(&self) -> &str {
        self.connection.host()
    }

    fn exec<'a>(&'a self, exec: Exec<'a>) -> BoxFuture<'a, Result<Output, RemoteError>> {
        Box::pin(async move {
            let moved = AtomicU64::new(0);
            let deadline = exec.deadline;
            tokio::select! {
                biased;
                result = run(&self.connection, exec, &moved) => result,
                limit = overdue(deadline, &moved) => Err(RemoteError::TimedOut(limit)),
            }
        })
    }
}

async fn run(connection: &Connection, exec: Exec<'_>, moved: &AtomicU64) -> Result<Output, RemoteError> {
    let channel = connection
        .exec(exec.command)
        .await
        .map_err(|error| failed(connection, error))?;
    let (mut stdin, mut stdout, mut stderr, waiter) = channel.into_parts();
    let mut source = exec.stdin;
    let feed = async {
        let mut buffer = vec![0; BUFFER];
        while let Ok(count @ 1..) = source.read(&mut buffer).await {
            // A command that stops reading early says why in its answer.
            if stdin
                .write_all(buffer.get(..count).unwrap_or_default())
                .await
                .is_err()
            {
                return;
            }
            moved.fetch_add(count as u64, Ordering::Relaxed);
        }
        // Likewise: a channel that closed already needs no end of input.
        drop(stdin.shutdown().await);
    };
    let read = async {
        tokio::join!(
            keep(&mut stdout, exec.keep, moved),
            keep(&mut stderr, exec.keep, moved)
        )
    };
    let (stdout, stderr) = alongside(feed, read).await;
    let status = match waiter.wait().await {
        Ok(ExitStatus::Code(code)) => Status::Exited(code),
        Ok(ExitStatus::Signal { name, .. }) => Status::Signaled(name),
        Err(error) => return Err(failed(connection, error)),
    };
    Ok(Output {
        status,
        stdout,
        stderr,
    })
}

/// Runs both, and ends with `main`: a command that ended needs no more input.
async fn alongside<T>(side: impl Future<Output = ()>, main: impl Future<Output = T>) -> T {
    tokio::pin!(side, main);
    tokio::select! {
        biased;
        result = &mut main => result,
        () = &mut side => main.await,
    }
}

/// Reads to the end and keeps the first `limit` bytes. A read error is an end: the wait for the status tells why.
async fn keep(from: &mut (impl AsyncRead + Unpin), limit: usize, moved: &AtomicU64) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = vec![0; BUFFER];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let take = count.min(limit - kept.len());
        kept.extend_from_slice(buffer.get(..take).unwrap_or_default());
        moved.fetch_add(count as u64, Ordering::Relaxed);
    }
    kept
}

/// Ends when a deadline is over, and says which.
async fn overdue(deadline: Deadline, moved: &AtomicU64) -> Duration {
    let idle = async {
        loop {
            let before = moved.load(Ordering::Relaxed);
            tokio::time::sleep(deadline.idle).await;
            if moved.load(Ordering::Relaxed) == before {
                return deadline.idle;
            }
        }
    };
    tokio::time::timeout(deadline.total, idle)
        .await
        .unwrap_or(deadline.total)
}

fn failed(connection: &Connection, error: transport::Error) -> RemoteError {
    match error.kind() {
        ErrorKind::ChannelRefused if !connection.is_closed() => RemoteError::Refused(Box::new(error)),
        _ => RemoteError::Lost(Box::new(error)),
    }
}
