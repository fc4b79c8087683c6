//! Passing a request on to the daemon that has what it is about.
//!
//! Two daemons of one home run beside each other while the older one finishes its turns. Each has sessions that the
//! other cannot open, and clients of each ask for any of them. A daemon that does not have a session passes the request
//! on to the one that does, over its socket, and the answer back, so that no client needs to know. A request is passed
//! on once at most.

use std::{
    io,
    path::Path,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest as _, Request},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts};
use hyper::{
    body::{Body as HttpBody, Frame, Incoming, SizeHint},
    client::conn::http2,
};
use hyper_util::rt::TokioIo;
use protocol::{
    SessionInfo, SessionList,
    limits::{self, http2 as windows},
};
use stdx::task::Scope;
use tokio::net::UnixStream;

use crate::{body, listen};

/// Marks a request that was passed on already.
const PASSED_ON: HeaderName = HeaderName::from_static("x-reasonix-passed-on");
/// How long another daemon may take to answer before it is left alone.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where what was asked for is: carried by a refusal for [`pass_on`].
#[derive(Debug, Clone)]
pub(crate) struct Elsewhere(pub(crate) String);

/// Says whether another daemon passed a request on to this one.
pub(crate) fn is_passed_on(headers: &HeaderMap) -> bool {
    headers.contains_key(PASSED_ON)
}

/// Answers here, or passes the request on where the answer is that another daemon has it.
pub(crate) async fn pass_on(request: Request, next: Next) -> Response {
    if is_passed_on(request.headers()) {
        return next.run(request).await;
    }
    let (parts, content) = request.into_parts();
    let again = parts.clone();
    let content = match Bytes::from_request(Request::from_parts(parts.clone(), content), &()).await {
        Ok(content) => content,
        Err(rejection) => return body::unreadable(&rejection).into_response(),
    };
    let here = next
        .run(Request::from_parts(parts, Body::from(content.clone())))
        .await;
    let Some(Elsewhere(socket)) = here.extensions().get() else {
        return here;
    };
    match send(Path::new(socket), again, content).await {
        Ok(there) => there,
        Err(error) => {
            tracing::info!(%error, socket, "could not pass a request on");
            here
        }
    }
}

/// Fills in what the daemons that have sessions open say of them. What nobody confirms is taken back: a daemon that
/// was killed leaves its name behind.
pub(crate) async fn confirm(list: &mut SessionList) {
    let mut sockets: Vec<String> = list
        .sessions
        .iter()
        .filter_map(|info| info.held_by.clone())
        .collect();
    sockets.sort_unstable();
    sockets.dedup();
    for socket in sockets {
        let theirs = match tokio::time::timeout(PATIENCE, ask_list(Path::new(&socket))).await {
            Ok(Ok(list)) => list.sessions,
            Ok(Err(error)) => {
                tracing::debug!(%error, socket, "a daemon that held sessions does not answer");
                Vec::new()
            }
            Err(_) => Vec::new(),
        };
        let held = |info: &&mut SessionInfo| info.held_by.as_ref() == Some(&socket);
        for info in list.sessions.iter_mut().filter(held) {
            let open = theirs.iter().find(|theirs| {
                theirs.session == info.session && theirs.phase.is_some() && theirs.held_by.is_none()
            });
            *info = match open {
                Some(open) => SessionInfo {
                    held_by: Some(socket.clone()),
                    ..open.clone()
                },
                None => SessionInfo {
                    held_by: None,
                    ..info.clone()
                },
            };
        }
    }
}

async fn ask_list(socket: &Path) -> io::Result<SessionList> {
    let request = Request::builder().uri("/v1/sessions").body(());
    let (parts, ()) = request.map_err(io::Error::other)?.into_parts();
    let answer = send(socket, parts, Bytes::new()).await?;
    let bytes = axum::body::to_bytes(answer.into_body(), limits::EVENT)
        .await
        .map_err(io::Error::other)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Sends a request to the daemon that listens on a socket of this user.
async fn send(socket: &Path, parts: Parts, content: Bytes) -> io::Result<Response> {
    let scope = Scope::root("passed on");
    let connecting = async {
        let stream = UnixStream::connect(socket).await?;
        if !listen::is_own_user(&stream) {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        let mut builder = http2::Builder::new(listen::Tasks(scope.clone()));
        builder
            .initial_stream_window_size(windows::STREAM_WINDOW)
            .initial_connection_window_size(windows::CONNECTION_WINDOW)
            .max_frame_size(windows::FRAME)
            .max_header_list_size(windows::HEADERS);
        builder
            .handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)
    };
    let connected = tokio::time::timeout(PATIENCE, connecting).await;
    let (mut sender, driver) = connected.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    let token = scope.token().clone();
    // Owned by the scope, which the answer's body holds.
    drop(scope.spawn(async move {
        tokio::select! {
            biased;
            () = token.cancelled() => {}
            _ended = driver => {}
        }
    }));
    let guard = Guard(scope);
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::builder()
        .method(parts.method)
        .uri(format!("http://agent{path}"))
        .header(PASSED_ON, HeaderValue::from_static("1"));
    for name in [
        header::ACCEPT,
        header::CONTENT_TYPE,
        HeaderName::from_static("last-event-id"),
    ] {
        if let Some(value) = parts.headers.get(&name) {
            request = request.header(name, value);
        }
    }
    let request = request.body(Body::from(content)).map_err(io::Error::other)?;
    let (head, answer) = sender
        .send_request(request)
        .await
        .map_err(io::Error::other)?
        .into_parts();
    let mut response = Response::new(Body::new(Passed {
        inner: answer,
        _guard: guard,
    }));
    *response.status_mut() = head.status;
    if let Some(kind) = head.headers.get(header::CONTENT_TYPE) {
        response.headers_mut().insert(header::CONTENT_TYPE, kind.clone());
    }
    Ok(response)
}

/// Ends the connection when nobody reads the answer any more.
struct Guard(Scope);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// An answer on its way back.
struct Passed {
    inner: Incoming,
    _guard: Guard,
}

impl HttpBody for Passed {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
