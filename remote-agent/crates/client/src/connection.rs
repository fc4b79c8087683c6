//! One HTTP/2 connection over one byte stream, and its end.

use std::{
    io,
    sync::{Arc, OnceLock},
};

use http::{Request, Response};
use hyper::{body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use protocol::limits::http2 as limits;
use stdx::task::Scope;
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::{
    agent::{Options, Purpose},
    body::Outgoing,
    connector::ByteStream,
    error::Error,
    watched::{Life, Watched},
};

/// HTTP/2 pings are only a reason for the other side to say something; whether it is dead is decided on bytes, so
/// that a pong behind a long queue of data on a slow line does not count as silence. This bound is never the first.
const PONG_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(3600);

/// A connection. Cloning gives another handle to the same one.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    sender: http2::SendRequest<Outgoing>,
    scope: Scope,
    nonsense: Arc<OnceLock<String>>,
}

impl Connection {
    /// Starts HTTP/2 on a byte stream.
    pub(crate) async fn start(
        stream: Box<dyn ByteStream>,
        life: &Arc<Life>,
        options: &Options,
        scope: &Scope,
    ) -> Result<Self, Error> {
        let scope = scope.child("connection");
        let nonsense = Arc::default();
        let io = Watched::new(stream, Arc::clone(life), Arc::clone(&nonsense));
        let (stream_window, connection_window, frame) = match options.purpose {
            Purpose::Main => (limits::STREAM_WINDOW, limits::CONNECTION_WINDOW, limits::FRAME),
            Purpose::ByteStreams => (
                limits::BULK_STREAM_WINDOW,
                limits::BULK_CONNECTION_WINDOW,
                limits::BULK_FRAME,
            ),
        };
        let mut builder = http2::Builder::new(Tasks(scope.clone()));
        builder
            .timer(TokioTimer::new())
            .initial_stream_window_size(stream_window)
            .initial_connection_window_size(connection_window)
            .max_frame_size(frame)
            .max_header_list_size(limits::HEADERS)
            .keep_alive_interval(options.keepalive)
            .keep_alive_timeout(PONG_TIMEOUT)
            .keep_alive_while_idle(true);
        let (sender, driver) = builder
            .handshake(TokioIo::new(io))
            .await
            .map_err(|error| Error::connection("start HTTP/2 with the agent", error))?;
        let (life, dead_after, owner) = (Arc::clone(life), options.dead_after, scope.clone());
        scope.spawn(async move {
            tokio::select! {
                biased;
                () = owner.token().cancelled() => {}
                () = life.silence(dead_after) => tracing::debug!(?dead_after, "nothing heard: connection given up"),
                result = driver => tracing::debug!(?result, "connection ended"),
            }
            // The connection's own tasks must not outlive it: requests under way fail now instead of waiting.
            owner.cancel();
        });
        Ok(Self {
            sender,
            scope,
            nonsense,
        })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed() || self.scope.token().is_cancelled()
    }

    /// Waits for the end of the connection.
    pub(crate) fn ended(&self) -> WaitForCancellationFutureOwned {
        self.scope.token().clone().cancelled_owned()
    }

    pub(crate) fn close(&self) {
        self.scope.cancel();
    }

    /// Runs a task that ends with the connection.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        hyper::rt::Executor::execute(&Tasks(self.scope.clone()), task);
    }

    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn send(
        &self,
        what: &str,
        request: Request<Outgoing>,
    ) -> Result<Response<Incoming>, Error> {
        let mut sender = self.sender.clone();
        let sent = self.while_it_lasts(what, sender.send_request(request)).await?;
        sent.map_err(|error| self.failure(what, error))
    }

    /// Waits for a part of an exchange, for as long as the connection lasts. A request that is handed over in the very
    /// moment in which the connection ends may stay in the queue to it, unanswered, while anybody holds a sender; so the
    /// end of the connection is waited for as well.
    pub(crate) async fn while_it_lasts<T>(
        &self,
        what: &str,
        part: impl Future<Output = T>,
    ) -> Result<T, Error> {
        tokio::select! {
            biased;
            result = part => Ok(result),
            () = self.scope.token().cancelled() => {
                let ended = io::Error::new(io::ErrorKind::ConnectionAborted, "the connection ended");
                Err(match self.nonsense.get() {
                    Some(said) => Error::protocol(what, said),
                    None => Error::connection(format!("ask the agent for {what}"), ended),
                })
            }
        }
    }

    /// Says why this connection failed while `what` was being asked.
    pub(crate) fn failure(&self, what: &str, error: hyper::Error) -> Error {
        match self.nonsense.get() {
            Some(said) => Error::protocol(what, said),
            None => Error::connection(format!("ask the agent for {what}"), error),
        }
    }
}

/// Runs the tasks of a connection inside its scope, and ends them with it.
#[derive(Clone)]
struct Tasks(Scope);

impl<F> hyper::rt::Executor<F> for Tasks
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, task: F) {
        let token = self.0.token().clone();
        self.0.spawn(async move {
            tokio::select! {
                biased;
                () = token.cancelled() => {}
                _output = task => {}
            }
        });
    }
}
