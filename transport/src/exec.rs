//! Running a command on the host and streaming its input and output.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use russh::Sig;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf},
    sync::oneshot,
};

use crate::{
    Connection, Error, ErrorKind, Stage,
    backlog::BacklogReader,
    channel::{ChannelWriter, Ends, Lease},
};

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// It exited with this code.
    Code(u32),
    /// A signal ended it.
    Signal {
        /// The name without `SIG`, such as `KILL`.
        name: String,
        /// What the host says about it; often empty.
        message: String,
    },
}

impl ExitStatus {
    pub(crate) fn signal(signal: &Sig, message: String) -> Self {
        let name = match signal {
            Sig::Custom(name) => name.clone(),
            known => format!("{known:?}"),
        };
        Self::Signal { name, message }
    }

    /// Says whether the command exited with code 0.
    #[must_use]
    pub fn success(&self) -> bool {
        *self == Self::Code(0)
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal { name, .. } => write!(f, "signal {name}"),
        }
    }
}

/// A running command. Dropping all its parts closes its channel; dropping `stdin` alone sends end-of-file.
#[derive(Debug)]
pub struct Exec {
    /// Its standard input.
    pub stdin: ChannelWriter,
    /// Its standard output.
    pub stdout: ExecOutput,
    /// Its standard error.
    pub stderr: ExecOutput,
    status: oneshot::Receiver<Result<ExitStatus, Error>>,
    lease: Lease,
    host: String,
}

/// Standard output or standard error of a running command.
#[derive(Debug)]
pub struct ExecOutput {
    reader: BacklogReader,
    _lease: Lease,
}

impl AsyncRead for ExecOutput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.reader).poll_read(cx, buf)
    }
}

/// How much of each output [`Connection::exec_capture`] keeps. More is read and thrown away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureLimits {
    /// Bytes of standard output.
    pub stdout: usize,
    /// Bytes of standard error.
    pub stderr: usize,
}

impl Default for CaptureLimits {
    fn default() -> Self {
        Self {
            stdout: 1024 * 1024,
            stderr: 64 * 1024,
        }
    }
}

/// The result of a command that ran to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a command that ran may have failed"]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// The beginning of its standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub stderr: Vec<u8>,
    /// Whether a limit cut one of the two.
    pub truncated: bool,
}

impl Exec {
    pub(crate) fn new(ends: Ends, host: &str) -> Self {
        Self {
            stdin: ends.input,
            stdout: ExecOutput {
                reader: ends.output,
                _lease: ends.lease.clone(),
            },
            stderr: ExecOutput {
                reader: ends.errors,
                _lease: ends.lease.clone(),
            },
            status: ends.status,
            lease: ends.lease,
            host: host.to_owned(),
        }
    }

    /// Waits for the end of the command; what is still unread in its outputs is thrown away.
    ///
    /// # Errors
    /// The host refused the command, or the connection was lost before its status came.
    pub async fn wait(self) -> Result<ExitStatus, Error> {
        let Self {
            stdin,
            stdout,
            stderr,
            status,
            lease,
            host,
        } = self;
        drop((stdin, stdout, stderr));
        let status = wait_for(status, &host).await;
        drop(lease);
        status
    }

    /// Takes the command apart: input, output, errors and the wait for its status.
    #[must_use]
    pub fn into_parts(self) -> (ChannelWriter, ExecOutput, ExecOutput, ExitWaiter) {
        let waiter = ExitWaiter {
            status: self.status,
            _lease: self.lease,
            host: self.host,
        };
        (self.stdin, self.stdout, self.stderr, waiter)
    }
}

/// Waits for the status of a command whose streams are used elsewhere.
#[derive(Debug)]
pub struct ExitWaiter {
    status: oneshot::Receiver<Result<ExitStatus, Error>>,
    _lease: Lease,
    host: String,
}

impl ExitWaiter {
    /// Waits for the end of the command.
    ///
    /// # Errors
    /// The host refused the command, or the connection was lost before its status came.
    pub async fn wait(self) -> Result<ExitStatus, Error> {
        wait_for(self.status, &self.host).await
    }
}

async fn wait_for(
    status: oneshot::Receiver<Result<ExitStatus, Error>>,
    host: &str,
) -> Result<ExitStatus, Error> {
    match status.await {
        Ok(status) => status,
        Err(_) => Err(Error::new(
            ErrorKind::Closed,
            Stage::Exec,
            host,
            "the connection ended before the command",
        )),
    }
}

impl Connection {
    /// Starts a command through the login shell of the account, as `ssh host COMMAND` does.
    ///
    /// A refusal of the command itself shows in its streams and in [`Exec::wait`], which saves a round trip.
    ///
    /// # Errors
    /// The session channel was refused (`MaxSessions`) or the connection is gone.
    pub async fn exec(&self, command: &str) -> Result<Exec, Error> {
        let channel = self.open_session("a session").await?;
        if channel.exec(true, command).await.is_err() {
            return Err(self.loss().await);
        }
        let ends = crate::channel::serve(self, channel, "the command");
        Ok(Exec::new(ends, self.host()))
    }

    /// Runs a command to its end with `stdin` as its input.
    ///
    /// # Errors
    /// As [`Connection::exec`], and when it did not end before the deadline. A non-zero status is no error.
    pub async fn exec_capture(
        &self,
        command: &str,
        stdin: &[u8],
        limits: CaptureLimits,
        deadline: Duration,
    ) -> Result<Output, Error> {
        match tokio::time::timeout(deadline, self.capture(command, stdin, limits)).await {
            Ok(result) => result,
            Err(_) => Err(Error::new(
                ErrorKind::Unreachable,
                Stage::Exec,
                self.host(),
                format!("a command did not end within {} s", deadline.as_secs_f32()),
            )),
        }
    }

    async fn capture(&self, command: &str, stdin: &[u8], limits: CaptureLimits) -> Result<Output, Error> {
        let (mut input, mut output, mut errors, waiter) = self.exec(command).await?.into_parts();
        let feed = async {
            // A command may end without reading its input; its status tells what that means.
            if input.write_all(stdin).await.is_ok() {
                drop(input.shutdown().await);
            }
            drop(input);
        };
        let ((), stdout, stderr) = tokio::join!(
            feed,
            keep(&mut output, limits.stdout),
            keep(&mut errors, limits.stderr)
        );
        let status = waiter.wait().await?;
        let truncated = stdout.1 || stderr.1;
        Ok(Output {
            status,
            stdout: stdout.0,
            stderr: stderr.0,
            truncated,
        })
    }
}

/// Reads to the end, keeping the first `limit` bytes. A read error ends it: the wait for the status reports the cause.
async fn keep(from: &mut ExecOutput, limit: usize) -> (Vec<u8>, bool) {
    let mut kept = Vec::new();
    let mut truncated = false;
    let mut buffer = vec![0; 32 * 1024];
    while let Ok(count) = from.read(&mut buffer).await
        && count > 0
    {
        let take = count.min(limit - kept.len());
        kept.extend_from_slice(&buffer[..take]);
        truncated |= take < count;
    }
    (kept, truncated)
}
