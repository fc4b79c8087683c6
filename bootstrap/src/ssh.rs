//! A host behind an SSH connection.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::BytesMut;
use sftp::{Client, client::Push, packet::OpenFlags};
use stdx::task::Scope;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use transport::{Connection, ErrorKind, ExitStatus};

use crate::remote::{BoxFuture, Deadline, Exec, Output, Put, Remote, RemoteError, Status};

const BUFFER: usize = 32 * 1024;
/// Writes under way at a time: with OpenSSH they fill its channel's window.
const WRITES: usize = 64;
/// Longest pause before a session is asked for once more. With those before it, longer than a channel takes to close.
const CLOSING: Duration = Duration::from_secs(3);

/// The most that a command may print, in bytes: start-up files print megabytes, answers are a few KiB.
const FLOOD: u64 = 16 << 20;

/// Runs each command on an exec channel of its own, and writes files over SFTP.
#[derive(Debug, Clone)]
pub struct SshRemote {
    connection: Connection,
    /// Whether the host ever allowed a session.
    allowed: Arc<AtomicBool>,
}

impl SshRemote {
    /// Wraps a connection, which stays usable for other things.
    #[must_use]
    pub fn new(connection: Connection) -> Self {
        Self {
            connection,
            allowed: Arc::default(),
        }
    }

    /// Opens a session. Where the host allows one at a time, one that was just given up may still count: it is closed
    /// behind what was already written to it.
    async fn open<T, F>(&self, open: impl Fn() -> F) -> Result<T, RemoteError>
    where
        F: Future<Output = Result<T, transport::Error>>,
    {
        let mut pause = Duration::from_millis(10);
        loop {
            match open().await.map_err(|error| failed(&self.connection, error)) {
                Err(RemoteError::Refused(_)) if self.allowed.load(Ordering::Relaxed) && pause < CLOSING => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                result => {
                    self.allowed.fetch_or(result.is_ok(), Ordering::Relaxed);
                    return result;
                }
            }
        }
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
            let said = [Said::new(exec.keep), Said::new(exec.keep)];
            tokio::select! {
                biased;
                result = run(self, exec, &moved, &said) => result,
                limit = overdue(deadline, &moved) => {
                    let [stdout, stderr] = said.map(Said::into_bytes);
                    let stderr = if stderr.is_empty() { stdout } else { stderr };
                    Err(RemoteError::TimedOut { limit, stderr })
                }
            }
        })
    }

    fn put<'a>(&'a self, file: Put<'a>) -> BoxFuture<'a, Result<(), RemoteError>> {
        Box::pin(async move {
            let moved = AtomicU64::new(0);
            let deadline = file.deadline;
            tokio::select! {
                biased;
                result = put(self, file, &moved) => result,
                limit = overdue(deadline, &moved) => Err(RemoteError::TimedOut { limit, stderr: Vec::new() }),
            }
        })
    }

    fn takes_files(&self) -> BoxFuture<'_, bool> {
        Box::pin(async {
            let Ok(sftp) = open_sftp(self).await else {
                return false;
            };
            // It was asked only whether it answers.
            sftp.close().await;
            true
        })
    }
}

async fn put(remote: &SshRemote, put: Put<'_>, moved: &AtomicU64) -> Result<(), RemoteError> {
    let connection = &remote.connection;
    let sftp = open_sftp(remote).await.map_err(|error| match error {
        RemoteError::Refused(_) => RemoteError::NoFiles,
        other => other,
    })?;
    let result = write(&sftp, put, moved).await;
    // The channel closes in any case; the next step needs it gone.
    sftp.close().await;
    match result {
        Err(RemoteError::Unwritten(source)) if connection.is_closed() => Err(RemoteError::Lost(source)),
        result => result,
    }
}

async fn open_sftp(remote: &SshRemote) -> Result<Client, RemoteError> {
    let connection = &remote.connection;
    let stream = remote.open(|| connection.sftp_stream()).await?;
    // It ends with the client, at the latest with the connection.
    let scope = Scope::root("sftp of bootstrap");
    match Client::start(stream, &sftp::client::Options::default(), &scope).await {
        Ok(client) => Ok(client),
        Err(error) if connection.is_closed() => Err(RemoteError::Lost(Box::new(error))),
        // The session was allowed, and then there was no sftp server in it.
        Err(_) => Err(RemoteError::NoFiles),
    }
}

/// Claims and writes. Up to 64 writes are under way at a time, each at its own position.
async fn write(sftp: &Client, mut put: Put<'_>, moved: &AtomicU64) -> Result<(), RemoteError> {
    let (path, failed) = (put.path.as_bytes(), unwritten::<sftp::Error>);
    if let Some(claim) = put.claim
        && sftp.rename(claim.as_bytes(), path).await.is_err()
    {
        return Err(RemoteError::Unclaimed);
    }
    let file = sftp
        .open(path, OpenFlags::CREATE | OpenFlags::WRITE, Some(0o600))
        .await
        .map_err(failed)?;
    let mut writes = Push::new(&file, put.offset, WRITES);
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(BUFFER);
        let mut piece = (&mut put.content).take(BUFFER as u64);
        match piece.read_buf(&mut buffer).await.map_err(unwritten)? {
            0 => break,
            count => {
                writes.push(buffer.split().freeze()).await.map_err(failed)?;
                moved.fetch_add(count as u64, Ordering::Relaxed);
            }
        }
    }
    writes.finish().await.map_err(failed)?;
    file.close().await.map_err(failed)
}

fn unwritten<E: std::error::Error + Send + Sync + 'static>(error: E) -> RemoteError {
    RemoteError::Unwritten(Box::new(error))
}

async fn run(
    remote: &SshRemote,
    exec: Exec<'_>,
    moved: &AtomicU64,
    said: &[Said; 2],
) -> Result<Output, RemoteError> {
    let connection = &remote.connection;
    let channel = remote.open(|| connection.exec(exec.command)).await?;
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
    let printed = AtomicU64::new(0);
    let read = async {
        let flooded = || RemoteError::Flooded { limit: FLOOD };
        tokio::try_join!(
            async {
                keep(&mut stdout, &said[0], [moved, &printed])
                    .await
                    .ok_or_else(flooded)
            },
            async {
                keep(&mut stderr, &said[1], [moved, &printed])
                    .await
                    .ok_or_else(flooded)
            },
        )
    };
    alongside(feed, read).await?;
    let status = match waiter.wait().await {
        Ok(ExitStatus::Code(code)) => Status::Exited(code),
        Ok(ExitStatus::Signal { name, .. }) => Status::Signaled(name),
        Err(error) => return Err(failed(connection, error)),
    };
    Ok(Output {
        status,
        stdout: said[0].take(),
        stderr: said[1].take(),
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

/// Reads to the end. A read error is an end: the wait for the status tells why. `None`: there is too much.
async fn keep(from: &mut (impl AsyncRead + Unpin), said: &Said, counts: [&AtomicU64; 2]) -> Option<()> {
    let [moved, printed] = counts;
    let mut buffer = vec![0; BUFFER];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        said.push(buffer.get(..count).unwrap_or_default());
        moved.fetch_add(count as u64, Ordering::Relaxed);
        if printed.fetch_add(count as u64, Ordering::Relaxed) > FLOOD {
            return None;
        }
    }
    Some(())
}

/// What a command said so far: all of it, or one half of the limit from the beginning and one from the end.
struct Said {
    limit: usize,
    kept: Mutex<Vec<u8>>,
}

impl Said {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            kept: Mutex::default(),
        }
    }

    fn push(&self, bytes: &[u8]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        // Cut only now and then, so that each byte is moved once or twice.
        if kept.len() > self.limit.saturating_mul(2) {
            shorten(&mut kept, self.limit);
        }
    }

    fn take(&self) -> Vec<u8> {
        let mut kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        shorten(&mut kept, self.limit);
        kept
    }

    fn into_bytes(self) -> Vec<u8> {
        self.take()
    }
}

/// Takes away the middle of what is too long.
fn shorten(kept: &mut Vec<u8>, limit: usize) {
    if kept.len() > limit {
        let head = limit / 2;
        kept.drain(head..kept.len() - (limit - head));
    }
}

/// Ends when a deadline is over, and says which.
async fn overdue(deadline: Deadline, moved: &AtomicU64) -> Duration {
    let idle = async {
        let (mut before, mut since) = (moved.load(Ordering::Relaxed), stdx::clock::monotonic());
        while since.elapsed() < deadline.idle {
            tokio::time::sleep(deadline.idle / 8).await;
            let now = moved.load(Ordering::Relaxed);
            if now != before {
                (before, since) = (now, stdx::clock::monotonic());
            }
        }
        deadline.idle
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
