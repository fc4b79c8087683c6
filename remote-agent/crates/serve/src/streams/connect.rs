//! Streams to a TCP port or a unix socket of this machine.

use std::{io, net::SocketAddr, time::Duration};

use protocol::ErrorCode;
use stdx::task::Scope;
use tokio::net::{TcpStream, UnixStream};

use super::{
    Ends,
    copy::{Socket, copy},
    lookup,
};
use crate::error::Failure;

/// How long connecting to one address may take.
const CONNECT: Duration = Duration::from_secs(15);

/// Connects to a port, on the first of the host's addresses that takes it.
pub(super) async fn tcp(host: &str, port: u16, ends: Ends, scope: &Scope) -> Result<(), Failure> {
    let name = if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    };
    let addresses = lookup::addresses(host, port)
        .await
        .map_err(|why| unreachable(format!("could not reach {name} from this host: {why}")))?;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match connect(address).await {
            Ok(stream) => {
                serve(Socket::Tcp(stream), ends, scope);
                return Ok(());
            }
            Err(error) => last = error,
        }
    }
    Err(unreachable(format!(
        "could not reach {name} from this host: {last}"
    )))
}

async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = match tokio::time::timeout(CONNECT, TcpStream::connect(address)).await {
        Ok(stream) => stream?,
        Err(_) => {
            let text = format!("no answer within {} s", CONNECT.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
    };
    // Only slower without it.
    drop(stream.set_nodelay(true));
    Ok(stream)
}

/// Connects to a socket.
pub(super) async fn unix(path: &str, ends: Ends, scope: &Scope) -> Result<(), Failure> {
    if !path.starts_with('/') {
        let message = format!("the socket path {path:?} is not absolute");
        return Err(Failure::new(ErrorCode::BadRequest, message));
    }
    let stream = UnixStream::connect(path)
        .await
        .map_err(|error| unreachable(format!("could not reach the socket {path} on this host: {error}")))?;
    serve(Socket::Unix(stream), ends, scope);
    Ok(())
}

/// Copies in a task of its own.
pub(super) fn serve(socket: Socket, ends: Ends, scope: &Scope) {
    // Owned by the scope.
    drop(scope.spawn(copy(socket, ends, scope.token().clone())));
}

fn unreachable(message: String) -> Failure {
    Failure::new(ErrorCode::Unreachable, message)
}
