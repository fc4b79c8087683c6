//! Carries bytes between the own terminal or pipes and a shell on a host.

use std::io;

use tokio::{
    io::AsyncReadExt as _,
    signal::unix::{Signal, SignalKind, signal},
};

use super::{
    escape::{Escapes, Typed},
    far::{Far, Input, Steering},
};
use crate::terminal;

/// Bytes read at once.
const READ: usize = 16 * 1024;

/// What `~?` shows.
const HELP: &str =
    "\r\nEscapes, at the beginning of a line:\r\n  ~.  hang up\r\n  ~~  a single ~\r\n  ~?  this list\r\n";

/// How it ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// What ran there ended with this code.
    Code(u8),
    /// The person hung up.
    HungUp,
    /// A signal ended this program.
    Signalled,
    /// Standard output or standard error takes nothing.
    Unwritable(io::Error),
    /// SSH broke or refused.
    Failed(Box<transport::Error>),
    /// The way through the agent broke.
    Lost(io::Error),
}

/// Carries everything until one side ends. `is_terminal`: keys are escapes, and sizes are told.
pub(crate) async fn run(far: Far, is_terminal: bool) -> io::Result<Ended> {
    let Far {
        input,
        steering,
        output,
    } = far;
    let mut leave = [
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::quit(),
        SignalKind::interrupt(),
    ]
    .into_iter()
    .map(signal)
    .collect::<io::Result<Vec<Signal>>>()?;
    let resized = signal(SignalKind::window_change())?;
    let escapes = is_terminal.then(Escapes::default);
    Ok(tokio::select! {
        biased;
        () = any(&mut leave) => Ended::Signalled,
        ended = output.copy() => ended,
        () = tell_sizes(resized, &steering) => Ended::Signalled,
        () = typed(input, escapes) => Ended::HungUp,
    })
}

/// Waits for one of several signals.
async fn any(signals: &mut [Signal]) {
    std::future::poll_fn(|cx| {
        let came = signals.iter_mut().any(|signal| signal.poll_recv(cx).is_ready());
        if came {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
}

/// Tells every new size, for ever.
async fn tell_sizes(mut resized: Signal, steering: &Steering) {
    // It may have changed since it was first told.
    steering.resize(terminal::size()).await;
    while resized.recv().await.is_some() {
        steering.resize(terminal::size()).await;
    }
    std::future::pending::<()>().await;
}

/// Passes on what is typed. Ends only when the person hangs up.
async fn typed(mut input: Input, mut escapes: Option<Escapes>) {
    if let Err(error) = pass_on(&mut input, &mut escapes).await {
        match error {
            Stopped::HungUp => return,
            // What ran there reads no more; what it prints still comes.
            Stopped::Unread(error) => tracing::debug!(%error, "the host takes no input"),
        }
    }
    std::future::pending::<()>().await;
}

enum Stopped {
    HungUp,
    Unread(io::Error),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Unread(error)
    }
}

async fn pass_on(input: &mut Input, escapes: &mut Option<Escapes>) -> Result<(), Stopped> {
    let mut stdin = tokio::io::stdin();
    let mut buffer = vec![0; READ];
    loop {
        // An input that cannot be read has ended.
        let count = stdin.read(&mut buffer).await.unwrap_or(0);
        let bytes = buffer.get(..count).unwrap_or_default();
        match escapes {
            Some(escapes) if count == 0 => {
                input.write(escapes.end()).await?;
            }
            Some(escapes) => {
                for piece in escapes.take(bytes) {
                    match piece {
                        Typed::Send(bytes) => input.write(&bytes).await?,
                        Typed::Help => terminal::text(HELP),
                        Typed::HangUp => return Err(Stopped::HungUp),
                    }
                }
            }
            None => input.write(bytes).await?,
        }
        if count == 0 {
            input.end().await?;
            return Ok(());
        }
    }
}
