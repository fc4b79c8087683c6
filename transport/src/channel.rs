//! One task per channel that empties it at once and sends in order: data before end-of-file, always.

use std::{
    future::Future,
    io::{self, IoSlice},
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::BytesMut;
use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf, client::Msg};
use tokio::{
    io::{AsyncReadExt, AsyncWrite, DuplexStream},
    sync::{mpsc, oneshot},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    Connection, Error, ErrorKind, Stage,
    backlog::{Backlog, BacklogReader, backlog},
    exec::ExitStatus,
    pty::{Control, Size},
};

/// Bytes that a writer may be ahead of the task that sends them.
const WRITE_AHEAD: usize = 64 * 1024;
/// One read of the sending task; a packet is at most as large.
const PACKET: usize = 32 * 1024;
/// How long data that was written may still go out after its owner dropped the channel.
const LINGER: Duration = Duration::from_secs(2);

/// What the owner of a channel holds.
pub(crate) struct Ends {
    pub(crate) input: ChannelWriter,
    pub(crate) output: BacklogReader,
    pub(crate) errors: BacklogReader,
    pub(crate) status: oneshot::Receiver<Result<ExitStatus, Error>>,
    pub(crate) lease: Lease,
    pub(crate) stall: Stall,
}

/// Tells that a channel was given up since its reader stood still, even to a reader that goes on standing still.
#[derive(Clone, Debug)]
pub(crate) struct Stall {
    happened: CancellationToken,
    failure: Arc<Mutex<Option<Error>>>,
}

impl Stall {
    /// Waits for it, for ever where it does not come to that.
    pub(crate) async fn happened(self) -> Error {
        self.happened.cancelled().await;
        let failure = self
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        match failure {
            Some(error) => error,
            None => std::future::pending().await,
        }
    }
}

/// Keeps a channel open; when the last clone goes, the channel is closed.
#[derive(Clone, Debug)]
pub(crate) struct Lease(#[expect(dead_code, reason = "acts by being dropped")] Arc<DropGuard>);

/// Starts the task that serves `channel`. `what` names its use in errors.
pub(crate) fn serve(connection: &Connection, channel: russh::Channel<Msg>, what: impl Into<String>) -> Ends {
    // Nobody holds the sender: there is nothing to steer.
    serve_steered(connection, channel, what, mpsc::channel(1).1)
}

/// Starts the task that serves `channel` and does what is asked of it beside its data.
pub(crate) fn serve_steered(
    connection: &Connection,
    channel: russh::Channel<Msg>,
    what: impl Into<String>,
    controls: mpsc::Receiver<Control>,
) -> Ends {
    let (input, outgoing) = tokio::io::duplex(WRITE_AHEAD);
    let (output, output_reader) = backlog(connection.backlog_limit());
    let (errors, errors_reader) = backlog(connection.backlog_limit());
    let (status_sender, status) = oneshot::channel();
    let abandoned = CancellationToken::new();
    let failure = Arc::new(Mutex::new(None));
    let stall = Stall {
        happened: CancellationToken::new(),
        failure: Arc::clone(&failure),
    };
    let (read, write) = channel.split();
    let server = Server {
        connection: connection.clone(),
        what: what.into(),
        output,
        errors,
        failure: Arc::clone(&failure),
        abandoned: abandoned.clone(),
        stalled: stall.happened.clone(),
    };
    // The join handle is not needed: the scope of the connection owns the task.
    drop(
        connection
            .scope()
            .spawn(server.run(read, write, (outgoing, controls), status_sender)),
    );
    Ends {
        input: ChannelWriter { pipe: input, failure },
        output: output_reader,
        errors: errors_reader,
        status,
        lease: Lease(Arc::new(abandoned.drop_guard())),
        stall,
    }
}

struct Server {
    connection: Connection,
    what: String,
    output: Backlog,
    errors: Backlog,
    failure: Arc<Mutex<Option<Error>>>,
    abandoned: CancellationToken,
    stalled: CancellationToken,
}

/// How the receiving side of a channel ended.
enum Ended {
    Closed,
    Refused,
    Overflow,
    Lost,
}

impl Server {
    async fn run(
        self,
        mut read: ChannelReadHalf,
        write: ChannelWriteHalf<Msg>,
        (outgoing, controls): (DuplexStream, mpsc::Receiver<Control>),
        status_sender: oneshot::Sender<Result<ExitStatus, Error>>,
    ) {
        let mut status = None;
        let ended = {
            let mut receiving = pin!(self.receive(&mut read, &mut status));
            let mut sending = pin!(send(&write, outgoing));
            let mut steering = pin!(steer(&write, controls));
            let (mut sent, mut steered) = (false, false);
            let cancelled = self.connection.scope().token().cancelled();
            let mut cancelled = pin!(cancelled);
            loop {
                tokio::select! {
                    biased;
                    () = &mut cancelled => break Ended::Lost,
                    ended = &mut receiving => break ended,
                    () = self.abandoned.cancelled() => {
                        // Nobody reads any more. What was written still goes out, if the host takes it soon.
                        if !sent {
                            let both = linger(&mut sending, &mut receiving);
                            // Whether it went out or not, the channel is closed now.
                            drop(tokio::time::timeout(LINGER, both).await);
                        }
                        break Ended::Closed;
                    }
                    () = &mut steering, if !steered => steered = true,
                    () = &mut sending, if !sent => sent = true,
                }
            }
        };
        let is_stalled = matches!(ended, Ended::Overflow);
        let end = match ended {
            Ended::Closed => Ok(()),
            Ended::Refused => Err(self.error(
                ErrorKind::ChannelRefused,
                format!("the host refused {}", self.what),
            )),
            Ended::Overflow => Err(self.error(
                ErrorKind::Stalled,
                format!(
                    "the reader of {} stood still and {} bytes piled up",
                    self.what,
                    self.connection.backlog_limit()
                ),
            )),
            Ended::Lost => Err(self.connection.loss().await),
        };
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = end.as_ref().err().cloned();
        if is_stalled {
            self.stalled.cancel();
        }
        self.output.finish(end.clone());
        self.errors.finish(end.clone());
        let outcome = match (status, end) {
            (Some(status), _) => Ok(status),
            (None, Err(error)) => Err(error),
            (None, Ok(())) => Err(self.error(
                ErrorKind::Closed,
                format!("the host closed {} without an exit status", self.what),
            )),
        };
        // Nobody may wait for the status, as with plain streams.
        drop(status_sender.send(outcome));
        // A second close is ignored by the session; a session that is stuck is not waited for.
        drop(tokio::time::timeout(LINGER, write.close()).await);
    }

    async fn receive(&self, read: &mut ChannelReadHalf, status: &mut Option<ExitStatus>) -> Ended {
        while let Some(message) = read.wait().await {
            let taken = match message {
                ChannelMsg::Data { data } => self.output.push(data),
                ChannelMsg::ExtendedData { data, ext: 1 } => self.errors.push(data),
                ChannelMsg::Eof => {
                    self.output.finish(Ok(()));
                    self.errors.finish(Ok(()));
                    true
                }
                ChannelMsg::ExitStatus { exit_status } => {
                    *status = Some(ExitStatus::Code(exit_status));
                    true
                }
                ChannelMsg::ExitSignal {
                    signal_name,
                    error_message,
                    ..
                } => {
                    *status = Some(ExitStatus::signal(&signal_name, error_message));
                    true
                }
                ChannelMsg::Failure => return Ended::Refused,
                ChannelMsg::Close => return Ended::Closed,
                _ => true,
            };
            if !taken {
                return Ended::Overflow;
            }
        }
        Ended::Lost
    }

    fn error(&self, kind: ErrorKind, message: String) -> Error {
        Error::new(kind, Stage::Channel, self.connection.host(), message)
    }
}

/// Sends what the owner writes; end-of-file follows the last byte.
async fn send(write: &ChannelWriteHalf<Msg>, mut outgoing: DuplexStream) {
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(PACKET);
        match outgoing.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        if write.data_bytes(buffer.split().freeze()).await.is_err() {
            return;
        }
    }
    // The session is gone when this fails; the receiving side reports that.
    drop(write.eof().await);
}

/// Does what is asked of the channel beside its data.
async fn steer(write: &ChannelWriteHalf<Msg>, mut controls: mpsc::Receiver<Control>) {
    while let Some(control) = controls.recv().await {
        let done = match control {
            Control::Resize(Size { columns, rows }) => {
                write
                    .window_change(u32::from(columns), u32::from(rows), 0, 0)
                    .await
            }
            Control::Signal(signal) => write.signal(signal).await,
        };
        if done.is_err() {
            // The session is gone; the receiving side reports that.
            return;
        }
    }
}

/// Waits until everything is sent or the channel ended.
async fn linger(
    sending: &mut Pin<&mut impl Future<Output = ()>>,
    receiving: &mut Pin<&mut impl Future<Output = Ended>>,
) {
    tokio::select! {
        biased;
        _ = receiving => {}
        () = sending => {}
    }
}

/// The sending side of a channel. Shutting it down sends end-of-file after everything written before.
#[derive(Debug)]
pub struct ChannelWriter {
    pipe: DuplexStream,
    failure: Arc<Mutex<Option<Error>>>,
}

impl ChannelWriter {
    /// Replaces "broken pipe" by the reason why the channel ended.
    fn explain<T>(&self, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match result {
            Poll::Ready(Err(error)) => {
                let failure = self
                    .failure
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone();
                Poll::Ready(Err(failure.map_or(error, Error::into_io)))
            }
            other => other,
        }
    }
}

impl AsyncWrite for ChannelWriter {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.pipe).poll_write(cx, buf);
        self.explain(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // The head of an HTTP/2 frame and its payload: written one by one they would be two packets.
        let result = Pin::new(&mut self.pipe).poll_write_vectored(cx, bytes);
        self.explain(result)
    }

    fn is_write_vectored(&self) -> bool {
        self.pipe.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.pipe).poll_flush(cx);
        self.explain(result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.pipe).poll_shutdown(cx);
        self.explain(result)
    }
}
