//! Listening here and connecting there.

use std::{io, os::unix::fs::PermissionsExt, path::PathBuf, sync::Arc, time::Duration};

use stdx::task::Scope;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, UnixListener, UnixStream},
    sync::watch,
};
use transport::{Connection, Stream};

use crate::{Endpoint, Error, ForwardOptions, Spec, copy::copy_both, supervisor::Reporter, table::Outcome};

/// A listener of a local rule.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(
        UnixListener,
        #[expect(dead_code, reason = "acts by being dropped")] SocketFile,
    ),
}

/// A socket file that is removed when its listener goes.
pub(crate) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Somebody may have removed it already.
        drop(std::fs::remove_file(&self.0));
    }
}

/// A stream of either kind.
trait Client: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Client for T {}

impl Listener {
    /// Starts to listen; also gives the address with its real port.
    pub(crate) async fn bind(spec: &Spec) -> Result<(Self, Endpoint), Error> {
        let fail = |source| Error::Bind {
            rule: spec.to_string(),
            address: spec.bind.to_string(),
            owner: None,
            free: None,
            source,
        };
        match &spec.bind {
            Endpoint::Tcp { host, port } => {
                let addresses: &[&str] = match host.as_str() {
                    "*" => &["::", "0.0.0.0"],
                    "localhost" => &["127.0.0.1"],
                    other => &[other],
                };
                let mut result = Err(io::Error::other("no address"));
                for address in addresses {
                    result = TcpListener::bind((*address, *port)).await;
                    if result.is_ok() {
                        break;
                    }
                }
                let listener = result.map_err(fail)?;
                let port = listener.local_addr().map_err(fail)?.port();
                Ok((
                    Self::Tcp(listener),
                    Endpoint::Tcp {
                        host: host.clone(),
                        port,
                    },
                ))
            }
            Endpoint::Unix(path) => {
                let listener = bind_socket(path).await.map_err(fail)?;
                Ok((Self::Unix(listener, SocketFile(path.into())), spec.bind.clone()))
            }
        }
    }

    async fn accept(&self) -> io::Result<Box<dyn Client>> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // Only slower without it.
                drop(stream.set_nodelay(true));
                Ok(Box::new(stream))
            }
            Self::Unix(listener, _) => Ok(Box::new(listener.accept().await?.0)),
        }
    }
}

/// Takes the place of a socket file that nobody listens on; anything else in the way stays.
async fn bind_socket(path: &str) -> io::Result<UnixListener> {
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => match UnixStream::connect(path).await {
            Err(refused) if refused.kind() == io::ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path)?;
                UnixListener::bind(path)?
            }
            _ => return Err(error),
        },
        other => other?,
    };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Accepts until the scope ends; each client is a task in it.
pub(crate) async fn accept(
    listener: Listener,
    target: Endpoint,
    connection: watch::Receiver<Option<Connection>>,
    reporter: Reporter,
    scope: Scope,
    options: ForwardOptions,
) {
    let target = Arc::new(target);
    loop {
        let client = tokio::select! {
            biased;
            () = scope.token().cancelled() => return,
            client = listener.accept() => client,
        };
        let Ok(client) = client else {
            // Out of file descriptors, most likely: let some be closed first.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (target, connection, reporter, token) = (
            Arc::clone(&target),
            connection.clone(),
            reporter.clone(),
            scope.token().clone(),
        );
        // Owned by the scope.
        drop(scope.spawn(async move {
            reporter.opened();
            let served = tokio::select! {
                biased;
                () = token.cancelled() => Ok(()),
                served = serve(client, &target, connection, options) => served,
            };
            reporter.closed(served.map_or_else(Outcome::Failed, |()| Outcome::Done));
        }));
    }
}

/// Connects one client; the error is for people.
async fn serve(
    mut client: Box<dyn Client>,
    target: &Endpoint,
    connection: watch::Receiver<Option<Connection>>,
    options: ForwardOptions,
) -> Result<(), String> {
    let mut far = open(target, connection, options.redial_wait).await?;
    copy_both(&mut client, &mut far, options.half_closed_idle)
        .await
        .map_err(|error| match transport::Error::from_io(&error) {
            Some(cause) => cause.to_string(),
            None => error.to_string(),
        })
}

/// Opens the far side on the connection there is, or on the one that comes in time.
async fn open(
    target: &Endpoint,
    mut connection: watch::Receiver<Option<Connection>>,
    wait: Duration,
) -> Result<Stream, String> {
    let usable =
        |current: &Option<Connection>| current.as_ref().is_some_and(|connection| !connection.is_closed());
    let current = match tokio::time::timeout(wait, connection.wait_for(usable)).await {
        Ok(Ok(current)) => current.clone(),
        _ => None,
    };
    let Some(current) = current else {
        return Err(format!(
            "the host was not connected within {} s",
            wait.as_secs_f32()
        ));
    };
    let opened = match target {
        Endpoint::Tcp { host, port } => current.open_tcp(host, *port).await,
        Endpoint::Unix(path) => current.open_streamlocal(path).await,
    };
    opened.map_err(|error| error.to_string())
}
