//! What a wire format has to bring. Everything else (HTTP, retries, time limits) is shared.

use std::fmt;

use bytes::Bytes;

use crate::{Cause, Request, StreamItem, sse::Event};

/// A wire format.
pub(crate) trait Protocol: Send + Sync + fmt::Debug {
    /// The kind's name in the configuration.
    fn name(&self) -> &'static str;

    /// The path that is appended to a base URL.
    fn path(&self) -> &'static str;

    /// Writes a request. The same request always gives the same bytes, and a longer conversation begins with the bytes of
    /// the shorter one: vendors' prefix caches depend on it.
    fn encode(&self, request: &Request<'_>) -> Bytes;

    /// Makes a decoder for one answer.
    fn decoder(&self) -> Box<dyn Decoder>;
}

/// The state of decoding one answer.
pub(crate) trait Decoder: Send {
    /// Reads an event of a stream.
    fn event(&mut self, event: &Event) -> Result<Vec<StreamItem>, Cause>;

    /// Reads an answer that came as one JSON body although a stream was asked for.
    fn whole(&mut self, body: &[u8]) -> Result<Vec<StreamItem>, Cause>;

    /// Says how much of the answer is still to come.
    fn remaining(&self) -> Remaining;

    /// Ends the answer and gives what had to wait for the end.
    fn end(&mut self) -> Result<Vec<StreamItem>, Cause>;
}

/// How much of an answer is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remaining {
    /// The model is not finished.
    Content,
    /// The model is finished; usage or an end mark may follow.
    Trailer,
    /// Nothing.
    Nothing,
}
