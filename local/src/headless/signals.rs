//! Signals a person sends to a command that runs.

use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

use crate::{exit::Exit, report::Failure};

/// What a person wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C: stop the turn, the second time leave.
    Interrupt,
    /// The terminal is gone, or the process should end: leave.
    Leave,
}

/// The signals of this process.
pub(crate) struct Signals {
    interrupt: Stream,
    hangup: Stream,
    terminate: Stream,
}

impl Signals {
    /// Starts to listen.
    pub(crate) fn new() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind)
                .map_err(|error| Failure::new(Exit::Failed, format!("could not listen for signals: {error}")))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            hangup: listen(SignalKind::hangup())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            biased;
            _ = self.hangup.recv() => Signal::Leave,
            _ = self.terminate.recv() => Signal::Leave,
            _ = self.interrupt.recv() => Signal::Interrupt,
        }
    }
}
