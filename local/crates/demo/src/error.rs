//! Why the demo failed.

use std::io;

/// Why the demo failed. What it started is stopped and removed before a caller sees this.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// Something of the throwaway host could not be made.
    #[error("could not prepare the throwaway host: {what}")]
    Prepare {
        /// What.
        what: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The link did not come up, or a person would have to act before it can come back.
    #[error(transparent)]
    Link(link::Error),
    /// A request to the agent failed.
    #[error("could not {doing}")]
    Agent {
        /// What was being done, as in “could not …”.
        doing: &'static str,
        /// The cause.
        #[source]
        source: client::Error,
    },
    /// The turn ended in another way than the script says.
    #[error("the turn did not complete: {0}")]
    Turn(String),
    /// The answer that arrived is not the one that the model gave.
    #[error("the streamed answer differs from what the model said, from byte {at} on")]
    Answer {
        /// The first byte that differs.
        at: usize,
    },
    /// The repository's own test fails after the turn, or could not be run.
    #[error("the test on the host does not pass after the turn: {0}")]
    Test(String),
    /// The events applied here are not the host's log.
    #[error("the events applied here differ from the host's log: lost={lost} doubled={doubled}")]
    Events {
        /// Events of the host that were not applied.
        lost: u64,
        /// Events that were applied without being the host's next one.
        doubled: u64,
    },
    /// It took too long.
    #[error("not done within {seconds} s; the last step was {step:?}")]
    Overdue {
        /// The time it had.
        seconds: u64,
        /// The last step.
        step: String,
        /// Why the link is down, if it is.
        #[source]
        cause: Option<link::Error>,
    },
    /// A person ended it.
    #[error("interrupted")]
    Interrupted,
    /// Something stayed behind.
    #[error("could not clean up: {0}")]
    LeftBehind(String),
}

impl DemoError {
    /// Gives what to do next, where something is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Prepare { .. } => {
                Some("set TMPDIR to a folder in which you may write and run programs".to_owned())
            }
            Self::Link(error) => error.hint(),
            Self::Agent { source, .. } => source.hint().map(str::to_owned),
            Self::Overdue { .. } => Some("the machine may be busy; try again".to_owned()),
            Self::LeftBehind(_) => Some("a daemon that stayed ends by itself after 60 s".to_owned()),
            _ => None,
        }
    }

    /// Gives command, status and standard error on the host, as lines to print below the message.
    #[must_use]
    pub fn details(&self) -> Vec<String> {
        match self {
            Self::Link(error) => error.details(),
            Self::Overdue {
                cause: Some(error), ..
            } => error.details(),
            _ => Vec::new(),
        }
    }
}
