//! Sockets of this machine: listening, connecting, and an end that nobody takes for a complete one.

use std::{
    io,
    net::SocketAddr,
    os::unix::fs::{FileTypeExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use rustix::net::sockopt::set_socket_linger;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
};

use crate::{Endpoint, Error, Spec, owner};

/// How long looking up a name, or connecting to one address, may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Ports above a taken one that are tried for an offer.
const NEXT_PORTS: u16 = 50;
/// Addresses of one name that are listened on.
const ADDRESSES: usize = 8;

/// A connected socket.
///
/// A TCP connection is reset when it is dropped, even by the end of this process, unless [`Near::finish`] was called: a
/// transfer that was cut off must not look complete. Unix sockets have nothing like it.
#[derive(Debug)]
pub(crate) enum Near {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Near {
    fn tcp(stream: TcpStream) -> Self {
        // Only slower without the first, only less clear without the second.
        drop(stream.set_nodelay(true));
        set_socket_linger(&stream, Some(Duration::ZERO)).unwrap_or_default();
        Self::Tcp(stream)
    }

    /// Lets it end well: what was written is delivered.
    pub(crate) fn finish(&self) {
        if let Self::Tcp(stream) = self {
            // One that is gone already needs nothing.
            set_socket_linger(stream, None).unwrap_or_default();
        }
    }

    /// Connects to a target of this machine's network.
    pub(crate) async fn connect(to: &Endpoint) -> io::Result<Self> {
        match to {
            Endpoint::Unix(path) => UnixStream::connect(path).await.map(Self::Unix),
            Endpoint::Tcp { host, port } => {
                let addresses = transport::look_up(host, *port, PATIENCE).await;
                let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
                for address in addresses.map_err(io::Error::other)? {
                    match tokio::time::timeout(PATIENCE, TcpStream::connect(address)).await {
                        Ok(Ok(stream)) => return Ok(Self::tcp(stream)),
                        Ok(Err(error)) => last = error,
                        Err(_) => {
                            let text = format!("no answer within {} s", PATIENCE.as_secs());
                            last = io::Error::new(io::ErrorKind::TimedOut, text);
                        }
                    }
                }
                Err(last)
            }
        }
    }
}

impl AsyncRead for Near {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Near {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

/// A listener of this machine.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(Vec<TcpListener>),
    Unix(
        UnixListener,
        #[expect(dead_code, reason = "acts by being dropped")] SocketFile,
    ),
}

/// A socket file that is removed when its listener goes.
#[derive(Debug)]
pub(crate) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Somebody may have removed it already.
        drop(std::fs::remove_file(&self.0));
    }
}

impl Listener {
    /// Starts to listen; also gives the address with its real port.
    pub(crate) async fn bind(spec: &Spec) -> Result<(Self, Endpoint), Error> {
        match &spec.bind {
            Endpoint::Tcp { host, port } => match bind_tcp(host, *port).await {
                Ok((listeners, port)) => {
                    let host = host.clone();
                    Ok((Self::Tcp(listeners), Endpoint::Tcp { host, port }))
                }
                Err(source) => Err(taken(spec, host, *port, source).await),
            },
            Endpoint::Unix(path) => match bind_socket(path).await {
                Ok(listener) => Ok((Self::Unix(listener, SocketFile(path.into())), spec.bind.clone())),
                Err(source) => Err(Error::Bind {
                    rule: spec.to_string(),
                    address: path.clone(),
                    owner: None,
                    free: None,
                    source,
                }),
            },
        }
    }

    /// Takes the next client.
    pub(crate) async fn accept(&self) -> io::Result<Near> {
        match self {
            Self::Unix(listener, _) => Ok(Near::Unix(listener.accept().await?.0)),
            Self::Tcp(listeners) => {
                let any = std::future::poll_fn(|cx| {
                    for listener in listeners {
                        if let Poll::Ready(accepted) = listener.poll_accept(cx) {
                            return Poll::Ready(accepted);
                        }
                    }
                    Poll::Pending
                });
                Ok(Near::tcp(any.await?.0))
            }
        }
    }
}

/// Listens on every address that the host has, under one port.
async fn bind_tcp(host: &str, port: u16) -> io::Result<(Vec<TcpListener>, u16)> {
    // `localhost` on another port than asked for is possible only where any will do.
    let tries = if port == 0 { 10 } else { 1 };
    let mut result = Err(io::Error::other("no address"));
    for _ in 0..tries {
        result = bind_once(host, port).await;
        match &result {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            _ => break,
        }
    }
    result
}

async fn bind_once(host: &str, port: u16) -> io::Result<(Vec<TcpListener>, u16)> {
    let addresses = addresses(host, port).await?;
    let mut listeners: Vec<TcpListener> = Vec::new();
    let mut chosen = port;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for mut address in addresses {
        address.set_port(chosen);
        match TcpListener::bind(address).await {
            Ok(listener) => {
                chosen = listener.local_addr()?.port();
                listeners.push(listener);
                if host == "*" {
                    // The IPv6 one takes both families.
                    break;
                }
            }
            // Somebody else would get half of the clients.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
            // A family that this machine does not have.
            Err(error) => last = error,
        }
    }
    if listeners.is_empty() {
        Err(last)
    } else {
        Ok((listeners, chosen))
    }
}

async fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if host == "*" {
        let any: [SocketAddr; 2] = [([0_u16; 8], port).into(), ([0_u8; 4], port).into()];
        return Ok(any.to_vec());
    }
    let mut found = transport::look_up(host, port, PATIENCE)
        .await
        .map_err(|why| io::Error::new(io::ErrorKind::NotFound, why))?;
    found.truncate(ADDRESSES);
    Ok(found)
}

/// Finds out who is in the way, and what is free instead.
async fn taken(spec: &Spec, host: &str, port: u16, source: io::Error) -> Error {
    let (mut owner, mut free) = (None, None);
    if source.kind() == io::ErrorKind::AddrInUse {
        owner = stdx::task::blocking(move || owner::of_port(port)).await;
        for next in port.saturating_add(1)..=port.saturating_add(NEXT_PORTS) {
            if bind_once(host, next).await.is_ok() {
                free = Some(next);
                break;
            }
        }
    }
    Error::Bind {
        rule: spec.to_string(),
        address: spec.bind.to_string(),
        owner,
        free,
        source,
    }
}

/// Takes the place of a socket file that nobody listens on; anything else in the way stays.
async fn bind_socket(path: &str) -> io::Result<UnixListener> {
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left_over(Path::new(path)).await => {
            std::fs::remove_file(path)?;
            UnixListener::bind(path)?
        }
        other => other?,
    };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

async fn is_left_over(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    let connected = UnixStream::connect(path).await;
    is_socket && connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}
