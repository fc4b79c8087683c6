//! One attempt to ask a vendor, whoever carries it.

use std::{fmt, time::Duration};

use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::{Cause, judge::Judge};

/// What can be asked: the endpoint itself, or somebody who has its key.
pub(crate) trait Asker: Send + Sync + fmt::Debug {
    /// Gives what judges its answers.
    fn judge(&self) -> &Judge;

    /// Gives how long an answer may bring nothing, where that is counted here.
    fn idle_timeout(&self) -> Option<Duration>;

    /// Begins an attempt, whose number is for whoever wants to show it. Nothing is sent before the exchange is polled.
    fn begin(&self, body: Bytes, attempt: u32) -> Box<dyn Exchange>;
}

/// An attempt under way.
pub(crate) trait Exchange: Send {
    /// Waits for what comes next. A status that is no success is an error with the vendor's text. After an error or
    /// [`Arrival::End`] nothing comes.
    fn next(&mut self) -> BoxFuture<'_, Result<Arrival, Cause>>;
}

/// What comes of an attempt: a head, then pieces, then the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The head of an answer that is a success.
    Head {
        /// What it says of its body.
        content_type: Option<String>,
    },
    /// The next bytes of the body.
    Piece(Bytes),
    /// The end of the body.
    End,
    /// Nobody is there to carry the request.
    Waiting,
    /// Somebody is there again.
    WentOn,
    /// Everything so far is void, for the reason given: the request is being asked again, and a head comes.
    Void(String),
}
