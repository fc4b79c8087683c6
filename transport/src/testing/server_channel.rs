//! What happens on a channel of the embedded server: a command, or a socket.

use std::{
    collections::HashSet,
    os::unix::process::ExitStatusExt,
    pin::pin,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::BytesMut;
use russh::{
    Channel, ChannelMsg, ChannelReadHalf, ChannelWriteHalf, Sig,
    server::{Handle, Msg},
};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    process::Child,
};

use super::server::{SessionSlot, Shared};
use crate::backlog::{Backlog, BacklogReader, backlog};

/// Input that a command or socket may be behind; beyond it the channel is closed.
const INPUT_LIMIT: usize = 64 * 1024 * 1024;

/// The process groups of running commands.
#[derive(Debug, Default)]
pub(crate) struct Processes(Mutex<HashSet<i32>>);

impl Processes {
    fn add(&self, child: &Child) -> Option<i32> {
        let pid = i32::try_from(child.id()?).ok()?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(pid);
        Some(pid)
    }

    fn remove(&self, pid: Option<i32>) {
        if let Some(pid) = pid {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&pid);
        }
    }

    /// Kills the groups of all commands that still run.
    pub(crate) fn kill_all(&self) {
        for pid in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain() {
            if let Some(pid) = Pid::from_raw(pid) {
                // It may have ended by itself in this moment.
                let _ = kill_process_group(pid, Signal::KILL);
            }
        }
    }
}

/// Runs a command as sshd does: when the client goes, the command loses its pipes but is not killed.
pub(crate) async fn run_command(
    shared: &Arc<Shared>,
    channel: Channel<Msg>,
    handle: &Handle,
    command: &str,
    slot: SessionSlot,
) {
    let id = channel.id();
    let (mut read, write) = channel.split();
    let mut program = stdx::process::command(&shared.options.shell);
    program
        .arg("-c")
        .arg(command)
        .envs(shared.options.environment.iter().cloned());
    program
        .current_dir(&shared.options.folder)
        .process_group(0)
        .kill_on_drop(false);
    program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match program.spawn() {
        Ok(child) => child,
        Err(error) => {
            let words = format!("could not start {}: {error}\n", shared.options.shell.display());
            // The client may be gone; then nobody is to be told.
            drop((
                write.extended_data_bytes(1, words).await,
                write.exit_status(127).await,
            ));
            drop((write.eof().await, write.close().await));
            return;
        }
    };
    let pid = shared.processes.add(&child);
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return;
    };
    let (store, input) = backlog(INPUT_LIMIT);
    let work = async {
        let outputs = async { tokio::join!(send(&write, stdout, None), send(&write, stderr, Some(1))) };
        // The status goes out before the close, and the close only after all output.
        let (_, status) = tokio::join!(outputs, child.wait());
        let reported = match status.map(|status| (status.code(), status.signal())) {
            Ok((Some(code), _)) => write.exit_status(code.cast_unsigned()).await.is_ok(),
            Ok((None, Some(signal))) => {
                let name = signal_name(signal);
                handle
                    .exit_signal_request(id, name, false, String::new(), String::new())
                    .await
                    .is_ok()
            }
            _ => false,
        };
        drop(slot);
        if reported {
            drop((write.eof().await, write.close().await));
        }
    };
    tokio::select! {
        biased;
        () = receive(&mut read, &store) => {}
        () = work => {}
        () = feed(input, stdin) => {}
    }
    // Its pipes are closed by now; it ends when it wants to, and is reaped.
    drop(write);
    drop(child.wait().await);
    shared.processes.remove(pid);
}

/// Connects a channel with a socket, each direction closed on its own.
pub(crate) async fn serve_socket(
    channel: Channel<Msg>,
    from: impl AsyncRead + Unpin,
    to: impl AsyncWrite + Unpin,
) {
    let (mut read, write) = channel.split();
    let (store, input) = backlog(INPUT_LIMIT);
    let both = async {
        let down = async {
            send(&write, from, None).await;
            drop(write.eof().await);
        };
        let up = async {
            copy(input, to).await;
        };
        tokio::join!(down, up);
    };
    let mut both = pin!(both);
    tokio::select! {
        biased;
        () = receive(&mut read, &store) => {}
        () = &mut both => {}
    }
    // The session may be gone.
    drop(write.close().await);
}

/// Empties the channel into the store until the client closes it.
async fn receive(read: &mut ChannelReadHalf, store: &Backlog) {
    while let Some(message) = read.wait().await {
        match message {
            ChannelMsg::Data { data } if !store.push(data.clone()) => return,
            ChannelMsg::Eof => store.finish(Ok(())),
            ChannelMsg::Close => return,
            _ => {}
        }
    }
}

/// Feeds a command and then waits for ever: its end is noticed elsewhere.
async fn feed(input: BacklogReader, stdin: impl AsyncWrite + Unpin) {
    copy(input, stdin).await;
    std::future::pending::<()>().await;
}

async fn copy(mut from: BacklogReader, mut to: impl AsyncWrite + Unpin) {
    if tokio::io::copy(&mut from, &mut to).await.is_ok() {
        // The reader may have closed first.
        drop(to.shutdown().await);
    }
}

async fn send(write: &ChannelWriteHalf<Msg>, mut from: impl AsyncRead + Unpin, ext: Option<u32>) {
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(32 * 1024);
        match from.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let data = buffer.split().freeze();
        let sent = match ext {
            None => write.data_bytes(data).await,
            Some(ext) => write.extended_data_bytes(ext, data).await,
        };
        if sent.is_err() {
            return;
        }
    }
}

fn signal_name(signal: i32) -> Sig {
    match signal {
        1 => Sig::HUP,
        2 => Sig::INT,
        3 => Sig::QUIT,
        6 => Sig::ABRT,
        9 => Sig::KILL,
        11 => Sig::SEGV,
        13 => Sig::PIPE,
        15 => Sig::TERM,
        other => Sig::Custom(format!("{other}@reasonix")),
    }
}
