//! How long work off the runtime's threads may go on.

use std::{
    io::{self, Read},
    time::{Duration, Instant},
};

use stdx::clock::monotonic;
use tokio_util::sync::CancellationToken;

/// Why work must stop before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Its time is up; what has been found counts.
    TimeIsUp,
    /// The call was cancelled.
    Cancelled,
}

/// A deadline and a token, asked between steps of blocking work.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    deadline: Instant,
    token: CancellationToken,
}

impl Budget {
    pub(crate) fn new(limit: Duration, token: CancellationToken) -> Self {
        Self {
            deadline: monotonic() + limit,
            token,
        }
    }

    /// Says whether to stop.
    pub(crate) fn stop(&self) -> Option<Stop> {
        if self.token.is_cancelled() {
            Some(Stop::Cancelled)
        } else if monotonic() >= self.deadline {
            Some(Stop::TimeIsUp)
        } else {
            None
        }
    }
}

/// A reader that fails when the budget is used up, so that one huge file cannot hold the search.
pub(crate) struct Budgeted<'a, R> {
    pub(crate) reader: R,
    pub(crate) budget: &'a Budget,
}

impl<R: Read> Read for Budgeted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.budget.stop() {
            Some(_) => Err(io::Error::other("out of time")),
            None => self.reader.read(buffer),
        }
    }
}
