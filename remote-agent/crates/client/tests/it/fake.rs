//! An agent that answers each request with what the test says, over in-memory pipes that can be cut.

use std::{
    convert::Infallible,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use client::{Agent, ByteStream, Connector, Options};
use futures_util::{FutureExt as _, future::BoxFuture};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    body::{Frame, Incoming},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use protocol::{EventEnvelope, SessionId, Snapshot, TurnEvent, TurnId, limits::http2};
use stdx::task::Scope;
use tokio::sync::mpsc;

pub(crate) type Body = BoxBody<Bytes, io::Error>;
type Handler = dyn Fn(Asked) -> BoxFuture<'static, Response<Body>> + Send + Sync;

/// A generous bound for everything that is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A request as the handler sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Method, path and query.
    pub(crate) line: String,
    pub(crate) body: String,
    /// Which connection it came on, from 0.
    pub(crate) connection: usize,
}

/// The other end.
#[derive(Clone)]
pub(crate) struct Fake {
    pub(crate) scope: Scope,
    handler: Arc<Handler>,
    connects: Arc<AtomicUsize>,
    asked: Arc<Mutex<Vec<Asked>>>,
    current: Arc<Mutex<Option<Scope>>>,
}

impl Fake {
    pub(crate) fn new<F>(handler: impl Fn(Asked) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        Self {
            scope: Scope::root("fake agent"),
            handler: Arc::new(move |asked| handler(asked).boxed()),
            connects: Arc::default(),
            asked: Arc::default(),
            current: Arc::default(),
        }
    }

    pub(crate) fn agent(&self, options: Options) -> Agent {
        Agent::new(self.clone(), options, &self.scope)
    }

    /// Cuts the newest connection.
    pub(crate) fn cut(&self) {
        if let Some(scope) = self.current.lock().unwrap().take() {
            scope.cancel();
        }
    }

    pub(crate) fn connects(&self) -> usize {
        self.connects.load(Ordering::SeqCst)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    async fn answer(self, request: Request<Incoming>, connection: usize) -> Response<Body> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let asked = Asked {
            line: format!("{} {}", head.method, head.uri.path_and_query().unwrap()),
            body: String::from_utf8(body.to_vec()).unwrap(),
            connection,
        };
        self.asked.lock().unwrap().push(asked.clone());
        (self.handler)(asked).await
    }
}

impl Connector for Fake {
    fn connect(&self) -> BoxFuture<'_, io::Result<Box<dyn ByteStream>>> {
        async {
            let connection = self.connects.fetch_add(1, Ordering::SeqCst);
            let (near, far) = tokio::io::duplex(256 * 1024);
            let scope = self.scope.child("fake connection");
            *self.current.lock().unwrap() = Some(scope.clone());
            let (token, this) = (scope.token().clone(), self.clone());
            scope.spawn(async move {
                let service = service_fn(move |request| {
                    let this = this.clone();
                    async move { Ok::<_, Infallible>(this.answer(request, connection).await) }
                });
                let mut builder = auto::Builder::new(TokioExecutor::new());
                builder
                    .http2()
                    .initial_connection_window_size(http2::CONNECTION_WINDOW)
                    .max_concurrent_streams(http2::STREAMS);
                tokio::select! {
                    biased;
                    () = token.cancelled() => {}
                    _ended = builder.serve_connection(TokioIo::new(far), service) => {}
                }
            });
            Ok(Box::new(near) as Box<dyn ByteStream>)
        }
        .boxed()
    }
}

/// Options with the waits of a test: short where a failure is expected, and no wait between attempts.
pub(crate) fn options() -> Options {
    Options {
        retry_delay: Duration::from_millis(1),
        ..Options::default()
    }
}

pub(crate) fn json(status: StatusCode, value: &impl serde::Serialize) -> Response<Body> {
    let body = serde_json::to_vec(value).unwrap();
    reply(status, "application/json", body)
}

pub(crate) fn reply(status: StatusCode, kind: &str, body: impl Into<Bytes>) -> Response<Body> {
    let body = Full::new(body.into()).map_err(|never| match never {}).boxed();
    Response::builder()
        .status(status)
        .header("content-type", kind)
        .body(body)
        .unwrap()
}

/// An answer that never comes.
pub(crate) async fn never() -> Response<Body> {
    std::future::pending().await
}

/// An event stream that is fed by the test and stays open until the sender is dropped.
pub(crate) fn fed() -> (mpsc::Sender<String>, Response<Body>) {
    let (sender, mut receiver) = mpsc::channel::<String>(64);
    let chunks = futures_util::stream::poll_fn(move |cx| receiver.poll_recv(cx));
    let frames = futures_util::StreamExt::map(chunks, |text| Ok(Frame::data(Bytes::from(text))));
    let body = BodyExt::boxed(StreamBody::new(frames));
    let response = Response::builder()
        .header("content-type", "text/event-stream; charset=utf-8")
        .body(body)
        .unwrap();
    (sender, response)
}

/// An event stream with these texts, which then ends.
pub(crate) fn stream(text: &str) -> Response<Body> {
    reply(StatusCode::OK, "text/event-stream", text.to_owned())
}

pub(crate) fn session() -> SessionId {
    "01920000-0000-7000-8000-000000000001".parse().unwrap()
}

pub(crate) fn empty() -> Snapshot {
    Snapshot::empty(session())
}

/// A durable event that says little.
pub(crate) fn envelope(n: u64) -> EventEnvelope {
    EventEnvelope {
        n,
        at: 0,
        event: protocol::Event::Turn(TurnEvent::Started { turn: TurnId(n) }),
    }
}

pub(crate) fn sse(frame: &protocol::Frame) -> String {
    let data = serde_json::to_string(frame).unwrap();
    match frame {
        protocol::Frame::Event(envelope) => format!("id: {}\nevent: event\ndata: {data}\n\n", envelope.n),
        protocol::Frame::Snapshot(_) => format!("event: snapshot\ndata: {data}\n\n"),
        _ => format!("event: delta\ndata: {data}\n\n"),
    }
}

pub(crate) fn event(n: u64) -> String {
    sse(&protocol::Frame::Event(envelope(n)))
}

/// Waits for a condition of another task.
pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    let wait = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    if tokio::time::timeout(PATIENCE, wait).await.is_err() {
        panic!("{what} did not happen");
    }
}
