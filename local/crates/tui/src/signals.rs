//! Signals of the process, and a terminal that goes away.

use std::io;

use tokio::{
    io::{Interest, unix::AsyncFd},
    signal::unix::{Signal as Stream, SignalKind, signal},
};

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Leave: SIGTERM, SIGHUP, SIGQUIT, or the terminal is gone.
    Leave,
    /// As Ctrl-C (SIGINT from elsewhere; in raw mode the key is a key).
    Interrupt,
    /// The process was stopped and goes on.
    Continued,
}

/// The signals.
pub(crate) struct Signals {
    hangup: Stream,
    terminate: Stream,
    quit: Stream,
    interrupt: Stream,
    continued: Stream,
    terminal: Option<AsyncFd<io::Stdin>>,
}

impl Signals {
    /// Starts to listen.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
            // From elsewhere; its default would end the process with the terminal as the screen has it.
            quit: signal(SignalKind::quit())?,
            interrupt: signal(SignalKind::interrupt())?,
            continued: signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
            terminal: watch_terminal(),
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            biased;
            _ = self.hangup.recv() => Signal::Leave,
            _ = self.terminate.recv() => Signal::Leave,
            _ = self.quit.recv() => Signal::Leave,
            () = gone(self.terminal.as_ref()) => Signal::Leave,
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.continued.recv() => Signal::Continued,
        }
    }
}

/// Watches standard input. What cannot be watched, such as a file, does not go away either.
#[expect(
    deprecated,
    reason = "the replacement is unsafe; standard input stays open as long as the process"
)]
fn watch_terminal() -> Option<AsyncFd<io::Stdin>> {
    AsyncFd::with_interest(io::stdin(), Interest::PRIORITY).ok()
}

/// Waits until the terminal is closed on its other side.
async fn gone(terminal: Option<&AsyncFd<io::Stdin>>) {
    let Some(terminal) = terminal else {
        return std::future::pending().await;
    };
    loop {
        match terminal.ready(Interest::PRIORITY).await {
            Ok(guard) if guard.ready().is_read_closed() => return,
            Ok(mut guard) => guard.clear_ready(),
            Err(_) => return std::future::pending().await,
        }
    }
}
