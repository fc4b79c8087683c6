//! Where calls come from: any byte stream, or a unix socket of this user.

use std::{
    fs,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _},
    path::Path,
    pin::pin,
    sync::Arc,
    time::Duration,
};

use axum::Router;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto,
    service::TowerToHyperService,
};
use protocol::limits::http2 as limits;
use stdx::{Gauge, task::Scope};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{UnixListener, UnixStream},
    sync::Semaphore,
};

use crate::{auth, error::Error};

/// Connections at a time. A further one waits in the socket's backlog until another ends.
const CONNECTIONS: usize = 256;
/// How long answers under way may take to end when the agent does.
const GRACE: Duration = Duration::from_secs(2);
/// A socket's address has 108 bytes on Linux and 104 on macOS; the rest is a reserve.
const SOCKET_PATH: usize = 100;

/// How often a silent peer is asked whether it lives, and how long it may take to say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// The silence after which it is asked.
    pub ping_every: Duration,
    /// The further silence after which the connection is given up.
    pub pong_within: Duration,
}

/// Far longer than a client's own patience: it only keeps connections of machines that vanished from staying for ever.
const SILENCE: Silence = Silence {
    ping_every: Duration::from_secs(30),
    pong_within: Duration::from_secs(120),
};

/// Serves one byte stream until its peer ends it or `scope` is cancelled: HTTP/2 with prior knowledge or HTTP/1.1.
pub async fn serve_stream(
    io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    router: Router,
    scope: Scope,
) {
    serve_stream_until(io, router, SILENCE, scope).await;
}

/// Serves one byte stream like [`serve_stream`], with its own patience with a silent peer of HTTP/2.
pub async fn serve_stream_until(
    io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    router: Router,
    silence: Silence,
    scope: Scope,
) {
    let mut builder = auto::Builder::new(Tasks(scope.clone()));
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(30));
    builder
        .http2()
        .timer(TokioTimer::new())
        .initial_stream_window_size(limits::BULK_STREAM_WINDOW)
        .initial_connection_window_size(limits::BULK_CONNECTION_WINDOW)
        .max_concurrent_streams(limits::STREAMS)
        .max_frame_size(limits::FRAME)
        .max_header_list_size(limits::HEADERS)
        .keep_alive_interval(silence.ping_every)
        .keep_alive_timeout(silence.pong_within);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(io), TowerToHyperService::new(router)));
    let result = tokio::select! {
        biased;
        () = scope.token().cancelled() => {
            connection.as_mut().graceful_shutdown();
            match tokio::time::timeout(GRACE, connection).await {
                Ok(result) => result,
                Err(_) => return,
            }
        }
        result = connection.as_mut() => result,
    };
    if let Err(error) = result {
        tracing::debug!(
            error = error.as_ref() as &dyn std::error::Error,
            "connection ended"
        );
    }
}

/// Serves a unix socket until `scope` is cancelled, counting its clients. Peers of other users are turned away on every
/// accept.
pub async fn serve_unix(listener: UnixListener, router: Router, clients: Gauge, scope: Scope) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            biased;
            () = scope.token().cancelled() => return,
            accepted = accept(&listener, &slots) => accepted,
        };
        match accepted {
            Ok((stream, slot)) if is_own_user(&stream) => {
                let (router, connection) = (router.clone(), scope.child("connection"));
                let client = clients.begin();
                scope.spawn(async move {
                    serve_stream(stream, router, connection).await;
                    drop((slot, client));
                });
            }
            Ok(_) => {}
            Err(error) => {
                // Out of descriptors, most likely: others have to end first.
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

async fn accept(
    listener: &UnixListener,
    slots: &Arc<Semaphore>,
) -> std::io::Result<(UnixStream, tokio::sync::OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots)
        .acquire_owned()
        .await
        .map_err(std::io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, slot))
}

pub(crate) fn is_own_user(stream: &UnixStream) -> bool {
    match stream.peer_cred() {
        Ok(peer) if auth::may_connect(peer.uid(), rustix::process::geteuid()) => true,
        Ok(peer) => {
            tracing::warn!(uid = peer.uid(), pid = ?peer.pid(), "connection of another user refused");
            false
        }
        Err(error) => {
            tracing::warn!(%error, "connection refused: the system does not say whose it is");
            false
        }
    }
}

/// Opens a socket that only this user can reach: mode 0600, in a folder that must be this user's alone (0700, no
/// symbolic link). A socket that nobody listens on any more is replaced; the caller's lock keeps two from doing so.
///
/// # Errors
/// [`Error::Path`], [`Error::Folder`], [`Error::InUse`], [`Error::Io`].
pub fn bind_unix(path: &Path) -> Result<UnixListener, Error> {
    let bad_path = |why: String| Error::Path {
        path: path.to_owned(),
        why,
    };
    let length = path.as_os_str().len();
    if length > SOCKET_PATH {
        return Err(bad_path(format!(
            "its path is {length} bytes long, {SOCKET_PATH} are possible"
        )));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    check_folder(folder.ok_or_else(|| bad_path("its path names no folder".to_owned()))?)?;
    remove_leftover(path)?;
    let io = |doing| {
        move |source| Error::Io {
            doing,
            path: path.to_owned(),
            source,
        }
    };
    let listener = UnixListener::bind(path).map_err(io("listen on"))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(io("restrict"))?;
    Ok(listener)
}

fn check_folder(folder: &Path) -> Result<(), Error> {
    let bad = |why: String| Error::Folder {
        folder: folder.to_owned(),
        why,
    };
    let found = fs::symlink_metadata(folder).map_err(|source| Error::Io {
        doing: "look at",
        path: folder.to_owned(),
        source,
    })?;
    let own = rustix::process::geteuid().as_raw();
    if !found.is_dir() {
        return Err(bad("it is not a folder".to_owned()));
    }
    if found.uid() != own {
        return Err(bad(format!("it belongs to user {}, not to {own}", found.uid())));
    }
    let mode = found.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(bad(format!("its mode is {mode:03o}, not 700")));
    }
    Ok(())
}

fn remove_leftover(path: &Path) -> Result<(), Error> {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if !is_socket {
        // Nothing is there, or something that is not ours to remove and that `bind` will name.
        return Ok(());
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Ok(_) => Err(Error::InUse {
            path: path.to_owned(),
        }),
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|source| Error::Io {
                doing: "remove the leftover",
                path: path.to_owned(),
                source,
            })
        }
        // `bind` will name what is wrong.
        Err(_) => Ok(()),
    }
}

/// Runs the tasks of a connection inside its scope, and ends them with it after the grace.
#[derive(Clone)]
pub(crate) struct Tasks(pub(crate) Scope);

impl<F> hyper::rt::Executor<F> for Tasks
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, task: F) {
        let token = self.0.token().clone();
        self.0.spawn(async move {
            let ended = async {
                token.cancelled().await;
                tokio::time::sleep(GRACE).await;
            };
            tokio::select! {
                biased;
                () = ended => {}
                _output = task => {}
            }
        });
    }
}
