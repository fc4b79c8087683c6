//! Answering an agent's requests to model vendors, for a program that has the keys.

use std::{collections::VecDeque, io};

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper::{Response, body::Incoming};
use protocol::{AnswerReceipt, BrokerEvent, BrokerId, BrokerRequest, limits};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::oneshot;

use crate::{
    agent::Agent,
    body::{BodyWriter, pipe},
    call::{Call, excerpt},
    connection::Connection,
    error::Error,
    sse::{Decoder, Message},
};

impl Agent {
    /// Begins to answer requests: as long as the stream is open, this broker is present. `instead_of` are brokers of the
    /// same machine that are known to be dead. One attempt: the caller decides when to try again.
    ///
    /// # Errors
    /// [`Error::Stalled`] when the agent does not begin to answer, or as for every request; an agent that knows no
    /// brokers answers `not_found`.
    pub async fn broker_events(
        &self,
        broker: BrokerId,
        instead_of: &[BrokerId],
    ) -> Result<BrokerEvents, Error> {
        let dead: Vec<String> = instead_of.iter().map(ToString::to_string).collect();
        let dead = match dead.as_slice() {
            [] => String::new(),
            dead => format!("&instead_of={}", dead.join(",")),
        };
        let what = "its requests to models";
        let call = Call::get(what, format!("/v1/broker/requests?broker={broker}{dead}"));
        let after = self.options().stream_silence;
        let stalled = |_| Error::Stalled {
            what: what.to_owned(),
            after,
        };
        let connection = self.connection().await?;
        let request = call.request("text/event-stream")?;
        let response = tokio::time::timeout(after, connection.send(what, request))
            .await
            .map_err(stalled)??;
        let status = response.status();
        if status != StatusCode::OK {
            let body = call.collect(&connection, response.into_body()).await?;
            return Err(call.refusal(status, &body));
        }
        Ok(BrokerEvents {
            call,
            agent: self.clone(),
            connection,
            body: response.into_body(),
            decoder: Decoder::new(limits::LINE),
            ready: VecDeque::new(),
        })
    }

    /// Claims a request and gives it. Repeating it is harmless.
    ///
    /// # Errors
    /// `conflict` when another living broker has it, `not_found` when it is over, or as for every request.
    pub async fn broker_request(&self, broker: BrokerId, number: u64) -> Result<BrokerRequest, Error> {
        let what = format!("request {number} to a model");
        let path = format!("/v1/broker/requests/{number}?broker={broker}");
        self.call(&Call::get(what, path)).await
    }

    /// Begins to send the answer to a request, from byte `offset` on. One attempt.
    ///
    /// # Errors
    /// As for every request; what the agent says comes with [`BrokerAnswer::finish`].
    pub async fn broker_answer(
        &self,
        broker: BrokerId,
        number: u64,
        offset: u64,
    ) -> Result<BrokerAnswer, Error> {
        let path = format!("/v1/broker/requests/{number}/answer?broker={broker}&offset={offset}");
        let call = Call::get(format!("the receipt for the answer to request {number}"), &path);
        let connection = self.connection().await?;
        let (writer, body) = pipe();
        let request = Request::put(format!("http://agent{path}"))
            .header(header::CONTENT_TYPE, "application/octet-stream")
            .body(body)
            .map_err(|error| Error::protocol(&call.what, &error))?;
        let (sent, response) = oneshot::channel();
        let (what, sending) = (call.what.clone(), connection.clone());
        // Ends with the connection; its answer may come before the body has ended.
        connection.spawn(async move {
            let response = sending.send(&what, request).await;
            // Who dropped the answer wants no receipt.
            drop(sent.send(response));
        });
        Ok(BrokerAnswer {
            call,
            writer,
            response,
            connection,
        })
    }
}

/// What a broker is told, for as long as it is present.
#[derive(Debug)]
pub struct BrokerEvents {
    call: Call,
    /// Keeps the connection open as long as the stream.
    agent: Agent,
    connection: Connection,
    body: Incoming,
    decoder: Decoder,
    ready: VecDeque<Message>,
}

impl BrokerEvents {
    /// Gives the next event; `None` when the agent ended the stream. Dropping the future loses nothing.
    ///
    /// # Errors
    /// [`Error::Stalled`] when not a byte came for too long, [`Error::Connection`], [`Error::Protocol`].
    pub async fn next(&mut self) -> Result<Option<BrokerEvent>, Error> {
        let after = self.agent.options().stream_silence;
        loop {
            if let Some(message) = self.ready.pop_front() {
                let event = serde_json::from_str(&message.data).map_err(|error| {
                    let why = format!("{error} in {}", excerpt(message.data.as_bytes()));
                    Error::protocol(&self.call.what, &why)
                })?;
                return Ok(Some(event));
            }
            let next = self.connection.while_it_lasts(&self.call.what, self.body.frame());
            let frame = tokio::time::timeout(after, next)
                .await
                .map_err(|_| Error::Stalled {
                    what: self.call.what.clone(),
                    after,
                })??;
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(self.connection.failure(&self.call.what, error)),
                // Trailers say nothing here.
                Some(Ok(frame)) => {
                    let bytes = frame.into_data().unwrap_or_default();
                    self.decoder
                        .push(&bytes, &mut self.ready)
                        .map_err(|error| Error::protocol(&self.call.what, &error))?;
                }
            }
        }
    }
}

/// An answer that is being sent. Dropping it before [`BrokerAnswer::finish`] breaks it off; what came is kept.
#[derive(Debug)]
pub struct BrokerAnswer {
    call: Call,
    writer: BodyWriter,
    response: oneshot::Receiver<Result<Response<Incoming>, Error>>,
    connection: Connection,
}

impl BrokerAnswer {
    /// Sends a piece; waits while the agent is behind.
    ///
    /// # Errors
    /// The agent reads no further: [`BrokerAnswer::finish`] says why.
    pub async fn send(&mut self, piece: Bytes) -> io::Result<()> {
        self.writer.send(piece).await
    }

    /// Gives what is cancelled when the agent reads no further: there is no use in waiting for more to send.
    #[must_use]
    pub fn unread(&self) -> tokio_util::sync::CancellationToken {
        self.writer.unread()
    }

    /// Ends the body and gives what the agent has.
    ///
    /// # Errors
    /// `conflict` for an offset that is not the agent's, or when a newer delivery took over; `not_found` when the request
    /// is over; or as for every request.
    pub async fn finish(mut self) -> Result<AnswerReceipt, Error> {
        // Nobody reads it: the answer says why.
        drop(self.writer.shutdown().await);
        let (what, connection) = (&self.call.what, &self.connection);
        let response = connection.while_it_lasts(what, self.response).await?;
        let ended = |_| Error::connection(what.clone(), io::Error::from(io::ErrorKind::ConnectionAborted));
        let response = response.map_err(ended)??;
        let status = response.status();
        let body = self.call.collect(connection, response.into_body()).await?;
        if status != StatusCode::OK {
            return Err(self.call.refusal(status, &body));
        }
        serde_json::from_slice(&body).map_err(|error| {
            let why = format!("{error} in {}", excerpt(&body));
            Error::protocol(what, &why)
        })
    }
}
