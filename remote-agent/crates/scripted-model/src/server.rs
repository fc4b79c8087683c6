//! The HTTP server.

use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use http::{Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::json;
use stdx::task::Scope;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};

use crate::{
    Error, Gate, Meter, RecordedRequest, Reply, Scenario,
    answer::{self, Answer, Desk},
    body::{self, Body},
    framing::Frame,
};

/// How long [`ScriptedModel::stop`] lets connections end before it aborts them.
const GRACE: Duration = Duration::from_secs(2);

/// A running scripted model. Dropping it ends the server without waiting; [`ScriptedModel::stop`] waits.
#[derive(Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    shared: Arc<Shared>,
    scope: Scope,
}

#[derive(Debug)]
struct Shared {
    desk: Mutex<Desk>,
    gates: Mutex<HashMap<String, Gate>>,
    arrived: watch::Sender<usize>,
}

impl ScriptedModel {
    /// Starts a server on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// [`Error::Listen`].
    pub async fn start(scenario: Scenario) -> Result<Self, Error> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(Error::Listen)?;
        Self::start_on(listener, scenario, &Scope::root("tests"))
    }

    /// Starts a server on a listener, below a scope: cancelling the scope ends the server.
    ///
    /// # Errors
    /// [`Error::Listen`] when the listener does not know its address.
    pub fn start_on(listener: TcpListener, scenario: Scenario, scope: &Scope) -> Result<Self, Error> {
        let address = listener.local_addr().map_err(Error::Listen)?;
        let scope = scope.child("scripted-model");
        let shared = Arc::new(Shared {
            desk: Mutex::new(Desk::new(scenario)),
            gates: Mutex::default(),
            arrived: watch::Sender::new(0),
        });
        scope.spawn(accept(listener, Arc::clone(&shared), scope.clone()));
        Ok(Self {
            address,
            shared,
            scope,
        })
    }

    /// Gives the base URL for a provider, `http://127.0.0.1:PORT/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Gives the address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Gives the chat requests that came so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.desk().requests.clone()
    }

    /// Waits until `count` chat requests have come.
    pub async fn wait_for_requests(&self, count: usize) {
        // The sender lives as long as `self`, so waiting cannot fail.
        if self
            .shared
            .arrived
            .subscribe()
            .wait_for(|arrived| *arrived >= count)
            .await
            .is_err()
        {
            std::future::pending::<()>().await;
        }
    }

    /// Gives the texts with which requests were refused (strictness, or no reply left), in order.
    #[must_use]
    pub fn refusals(&self) -> Vec<String> {
        self.shared.desk().refusals.clone()
    }

    /// Gives what a prefix cache would have saved so far.
    #[must_use]
    pub fn meter(&self) -> Meter {
        self.shared.desk().cache.meter().clone()
    }

    /// Counts the replies that nobody took yet.
    #[must_use]
    pub fn replies_left(&self) -> usize {
        self.shared.desk().script.left()
    }

    /// Adds a reply to the end of the running script.
    pub fn push(&self, reply: Reply) {
        self.shared.desk().script.push(reply);
    }

    /// Gives the gate of this name.
    #[must_use]
    pub fn gate(&self, name: &str) -> Gate {
        self.shared.gate(name)
    }

    /// Ends the server and its connections and waits for them.
    pub async fn stop(self) {
        self.scope.close(GRACE).await;
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.scope.cancel();
    }
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gate(&self, name: &str) -> Gate {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        gates.entry(name.to_owned()).or_insert_with(Gate::new).clone()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, scope: Scope) {
    loop {
        let accepted = tokio::select! {
            biased;
            () = scope.token().cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                scope.spawn(serve(stream, Arc::clone(&shared), scope.clone()));
            }
            // Out of descriptors, most likely: what is open may end and free some.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>, scope: Scope) {
    // Without it a small write may wait for an acknowledgement; it changes only times, so a failure does not matter.
    drop(stream.set_nodelay(true));
    let service = service_fn(|request| respond(request, &shared));
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        biased;
        () = scope.token().cancelled() => {}
        // The error says that the reader went away or that the script broke the connection; both are the script's
        // business, not the server's.
        _ended = connection => {}
    }
}

async fn respond(request: Request<Incoming>, shared: &Shared) -> io::Result<Response<Body>> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().trim_end_matches('/');
    let answer = if head.method == Method::POST && path.ends_with("/chat/completions") {
        let bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let mut desk = shared.desk();
        let answer = desk.chat(&head.headers, bytes);
        shared.arrived.send_replace(desk.requests.len());
        answer
    } else if head.method == Method::GET && path.ends_with("/models") {
        let model = shared.desk().model().to_owned();
        let list =
            json!({"object": "list", "data": [{"id": model, "object": "model", "owned_by": "script"}]});
        answer::json_answer(200, list.to_string())
    } else {
        answer::error(404, &format!("no route for {} {path}", head.method), "not_found")
    };
    match answer {
        Answer::Whole {
            status,
            content_type,
            retry_after,
            body,
        } => {
            let mut response = Response::builder()
                .status(status)
                .header(header::CONTENT_TYPE, content_type);
            if let Some(retry_after) = retry_after {
                response = response.header(header::RETRY_AFTER, retry_after);
            }
            response.body(body::full(body)).map_err(io::Error::other)
        }
        Answer::Stream(frames) => {
            let gates = frames
                .iter()
                .filter_map(|frame| {
                    if let Frame::Gate(name) = frame {
                        Some(name)
                    } else {
                        None
                    }
                })
                .map(|name| (name.clone(), shared.gate(name)))
                .collect();
            Response::builder()
                .status(StatusCode::OK)
                .header(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")
                .header(header::CACHE_CONTROL, "no-cache")
                .body(body::streamed(frames, gates))
                .map_err(io::Error::other)
        }
        Answer::Hangup => Err(io::Error::other("the script hangs up")),
        Answer::Silence => std::future::pending().await,
    }
}
