//! Two-way byte streams through the agent.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use http::{Request, StatusCode};
use hyper::body::Incoming;
use protocol::StreamTarget;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::OwnedSemaphorePermit,
};
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::{
    agent::Agent,
    body::{BodyReader, BodyWriter, pipe},
    call::Call,
    connection::Connection,
    error::Error,
};

/// A byte stream to something on the agent's machine.
///
/// Shutting down the writing side keeps the reading side open. Dropping it before that breaks it for the other end: a
/// transfer that was broken off never looks complete. Not reading it is harmless: the agent waits, and all else goes on.
pub struct AgentStream {
    reader: BodyReader<Incoming>,
    writer: BodyWriter,
    /// The end of the connection, which a body may not be told.
    ended: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Keeps the connection as long as the stream.
    _agent: Agent,
    _connection: Connection,
    _permit: OwnedSemaphorePermit,
}

impl std::fmt::Debug for AgentStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentStream").finish_non_exhaustive()
    }
}

/// Opens a stream on a connection, once.
pub(crate) async fn open(
    agent: &Agent,
    connection: Connection,
    target: &StreamTarget,
    permit: OwnedSemaphorePermit,
) -> Result<AgentStream, Error> {
    let json = serde_json::to_string(target).map_err(|error| Error::protocol("a stream", &error))?;
    let what = format!("a stream to {}", name(target));
    // Only for its texts and the reading of refusals.
    let call = Call::get(what, String::new());
    let (writer, body) = pipe();
    let request = Request::post(format!("http://agent/v1/streams?open={}", encoded(&json)))
        .body(body)
        .map_err(|error| Error::protocol(&call.what, &error))?;
    let response = connection.send(&call.what, request).await?;
    let status = response.status();
    if status != StatusCode::OK {
        let body = call.collect(&connection, response.into_body()).await?;
        return Err(call.refusal(status, &body));
    }
    Ok(AgentStream {
        reader: BodyReader::new(response.into_body()),
        writer,
        ended: Box::pin(connection.ended()),
        _agent: agent.clone(),
        _connection: connection,
        _permit: permit,
    })
}

/// Names a target in messages.
fn name(target: &StreamTarget) -> String {
    match target {
        StreamTarget::Tcp { host, port } if host.contains(':') => format!("[{host}]:{port}"),
        StreamTarget::Tcp { host, port } => format!("{host}:{port}"),
        StreamTarget::Unix { path } => path.clone(),
        StreamTarget::Files => "its files".to_owned(),
        StreamTarget::Terminal(_) => "a terminal".to_owned(),
        StreamTarget::Listen { .. } => "a listener".to_owned(),
        StreamTarget::Accepted { .. } => "an accepted connection".to_owned(),
    }
}

/// Percent-encodes everything but letters and digits (RFC 3986, section 2.1).
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            out.push(char::from(byte));
        } else {
            const DIGITS: [char; 16] = [
                '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F',
            ];
            out.push('%');
            out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
    out
}

impl AsyncRead for AgentStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let ready @ Poll::Ready(_) = Pin::new(&mut self.reader).poll_read(cx, buffer) {
            return ready;
        }
        self.ended.as_mut().poll(cx).map(|()| Err(lost()))
    }
}

impl AsyncWrite for AgentStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if let ready @ Poll::Ready(_) = Pin::new(&mut self.writer).poll_write(cx, bytes) {
            return ready;
        }
        self.ended.as_mut().poll(cx).map(|()| Err(lost()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(cx)
    }
}

fn lost() -> io::Error {
    io::Error::new(
        io::ErrorKind::ConnectionAborted,
        "the connection to the agent ended",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_letters_and_digits_stand_for_themselves() {
        assert_eq!(encoded("a{\"ö 1"), "a%7B%22%C3%B6%201");
    }
}
