//! Listeners on this machine whose connections a client takes one by one.

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    net::SocketAddr,
    os::unix::fs::{FileTypeExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use client::body::BodyWriter;
use protocol::{ErrorBody, ErrorCode, ListenAt, ListenLine, limits};
use stdx::task::Scope;
use tokio::net::{TcpListener, UnixListener};

use super::{Ends, connect, copy::Socket, lookup};
use crate::error::Failure;

/// Connections of one listener that wait to be taken; further ones wait in the system's backlog.
const WAITING: usize = 128;
/// How often connections that nobody takes are looked for.
const SWEEP: Duration = Duration::from_secs(5);
/// Listeners of one agent.
const LISTENERS: usize = 256;
/// So many ports after a taken one are looked at for a free one.
const NEXT_PORTS: u16 = 50;

/// The listeners of one agent.
#[derive(Debug, Default)]
pub struct Listeners(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    next: u64,
    /// By listener and connection.
    waiting: HashMap<u64, BTreeMap<u64, Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    socket: Socket,
    since: Instant,
}

impl std::fmt::Debug for Socket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Socket")
    }
}

impl Listeners {
    /// Never held across an await.
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self) -> Option<u64> {
        let mut table = self.lock();
        if table.waiting.len() >= LISTENERS {
            return None;
        }
        table.next += 1;
        let number = table.next;
        table.waiting.insert(number, BTreeMap::new());
        Some(number)
    }

    fn put(&self, listener: u64, connection: u64, socket: Socket) {
        if let Some(waiting) = self.lock().waiting.get_mut(&listener) {
            let since = stdx::clock::monotonic();
            waiting.insert(connection, Waiting { socket, since });
        }
    }

    fn take(&self, listener: u64, connection: u64) -> Option<Socket> {
        let taken = self.lock().waiting.get_mut(&listener)?.remove(&connection);
        taken.map(|waiting| waiting.socket)
    }

    fn has_room(&self, listener: u64) -> bool {
        let table = self.lock();
        table
            .waiting
            .get(&listener)
            .is_some_and(|waiting| waiting.len() < WAITING)
    }

    fn sweep(&self, listener: u64) {
        let now = stdx::clock::monotonic();
        if let Some(waiting) = self.lock().waiting.get_mut(&listener) {
            waiting.retain(|_, waiting| now.saturating_duration_since(waiting.since) < limits::ACCEPT_WITHIN);
        }
    }
}

/// Removes a listener from the table, with what waits there, when it ends.
struct Entry {
    listeners: Arc<Listeners>,
    number: u64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.listeners.lock().waiting.remove(&self.number);
    }
}

/// Listens until the client stops reading.
pub(super) async fn start(
    listeners: Arc<Listeners>,
    at: &ListenAt,
    ends: Ends,
    scope: &Scope,
) -> Result<(), Failure> {
    let bound = Bound::new(at).await?;
    let Some(number) = listeners.add() else {
        let message = format!("{LISTENERS} listeners are open already");
        return Err(Failure::new(ErrorCode::Busy, message));
    };
    let entry = Entry { listeners, number };
    let token = scope.token().clone();
    let mut outgoing = ends.outgoing;
    let unread = outgoing.unread();
    // Owned by the scope.
    drop(scope.spawn(async move {
        let ended = tokio::select! {
            biased;
            () = token.cancelled() => Ok(()),
            () = unread.cancelled() => Ok(()),
            ended = listen(&entry, &bound, &mut outgoing) => ended,
        };
        tracing::debug!(?ended, listener = entry.number, "a listener ended");
    }));
    Ok(())
}

async fn listen(entry: &Entry, bound: &Bound, outgoing: &mut BodyWriter) -> io::Result<()> {
    let first = ListenLine::Listening {
        listener: entry.number,
        at: bound.at.clone(),
    };
    say(outgoing, &first).await?;
    let mut sweep = tokio::time::interval(SWEEP);
    sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut connection = 0;
    loop {
        tokio::select! {
            biased;
            _ = sweep.tick() => entry.listeners.sweep(entry.number),
            accepted = bound.accept(), if entry.listeners.has_room(entry.number) => {
                let Ok((socket, peer)) = accepted else {
                    // Out of descriptors, most likely: others have to end first.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                };
                connection += 1;
                entry.listeners.put(entry.number, connection, socket);
                say(outgoing, &ListenLine::Accepted { connection, peer }).await?;
            }
        }
    }
}

async fn say(outgoing: &mut BodyWriter, line: &ListenLine) -> io::Result<()> {
    let mut json = serde_json::to_vec(line)?;
    json.push(b'\n');
    outgoing.send(Bytes::from(json)).await
}

/// Gives a connection that was announced to a client.
pub(super) fn take(
    listeners: &Listeners,
    listener: u64,
    connection: u64,
    ends: Ends,
    scope: &Scope,
) -> Result<(), Failure> {
    match listeners.take(listener, connection) {
        Some(socket) => {
            connect::serve(socket, ends, scope);
            Ok(())
        }
        None => Err(Failure::new(
            ErrorCode::NotFound,
            format!("connection {connection} of listener {listener} is taken or gone"),
        )),
    }
}

/// An open listener.
struct Bound {
    sockets: Sockets,
    at: ListenAt,
}

enum Sockets {
    /// One per address family, at most two.
    Tcp(TcpListener, Option<TcpListener>),
    Unix(
        UnixListener,
        #[expect(dead_code, reason = "acts by being dropped")] SocketFile,
    ),
}

/// A socket file that goes with its listener.
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Somebody may have removed it already.
        drop(fs::remove_file(&self.0));
    }
}

impl Bound {
    async fn new(at: &ListenAt) -> Result<Self, Failure> {
        match at {
            ListenAt::Tcp { host, port } => tcp(host, *port).await,
            ListenAt::Unix { path } => unix(path).await,
        }
    }

    async fn accept(&self) -> io::Result<(Socket, String)> {
        match &self.sockets {
            Sockets::Tcp(one, None) => one.accept().await.map(tcp_peer),
            Sockets::Tcp(one, Some(other)) => tokio::select! {
                biased;
                accepted = one.accept() => accepted.map(tcp_peer),
                accepted = other.accept() => accepted.map(tcp_peer),
            },
            Sockets::Unix(listener, _) => {
                loop {
                    let (stream, _) = listener.accept().await?;
                    match stream.peer_cred() {
                        Ok(peer) if is_welcome(peer.uid()) => {
                            return Ok((Socket::Unix(stream), format!("user {}", peer.uid())));
                        }
                        // Closed at once. The mode of the socket keeps them out, but it is set after it was made.
                        Ok(peer) => tracing::warn!(uid = peer.uid(), "another user's connection is refused"),
                        Err(error) => tracing::warn!(%error, "a connection of nobody knows whom is refused"),
                    }
                }
            }
        }
    }
}

/// Says whether a user may connect to a socket of this one: itself, and the administrator, whom nothing keeps out.
fn is_welcome(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::getuid().as_raw()
}

fn tcp_peer((stream, peer): (tokio::net::TcpStream, SocketAddr)) -> (Socket, String) {
    // Only slower without it.
    drop(stream.set_nodelay(true));
    (Socket::Tcp(stream), peer.to_string())
}

async fn tcp(host: &str, port: u16) -> Result<Bound, Failure> {
    let bad = |why: &io::Error| refused(&format!("{host} port {port}"), why);
    let addresses = match host {
        // The second is for machines without the first; with it, it takes both families.
        "*" => vec![
            SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 0_u16], port)),
            SocketAddr::from(([0, 0, 0, 0], port)),
        ],
        _ => lookup::addresses(host, port)
            .await
            .map_err(|why| bad(&io::Error::other(why)))?,
    };
    let mut first: Option<TcpListener> = None;
    let mut second = None;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for mut address in addresses {
        if let Some(first) = &first {
            if host == "*" {
                break;
            }
            // Both families under one port; the other one may be missing or taken.
            address.set_port(first.local_addr().map_or(port, |local| local.port()));
            second = TcpListener::bind(address).await.ok();
            break;
        }
        match TcpListener::bind(address).await {
            Ok(listener) => first = Some(listener),
            Err(error) => last = error,
        }
    }
    let Some(listener) = first else {
        if last.kind() != io::ErrorKind::AddrInUse {
            return Err(bad(&last));
        }
        let hint = match next_free(host, port).await {
            Some(free) => format!("port {free} is free there; or take 0 for any free one"),
            None => "end what listens there, or choose another port".to_owned(),
        };
        let message = format!("could not listen on {host} port {port} on the host: {last}");
        return Err(ErrorBody::new(ErrorCode::Conflict, message).hint(hint).into());
    };
    let port = listener.local_addr().map_err(|error| bad(&error))?.port();
    let at = ListenAt::Tcp {
        host: host.to_owned(),
        port,
    };
    Ok(Bound {
        sockets: Sockets::Tcp(listener, second),
        at,
    })
}

/// Finds the next port of the same address that is free at this moment.
async fn next_free(host: &str, taken: u16) -> Option<u16> {
    let address = match host {
        "*" => SocketAddr::from(([0; 8], 0)),
        _ => *lookup::addresses(host, taken).await.ok()?.first()?,
    };
    let is_free = |port: &u16| std::net::TcpListener::bind((address.ip(), *port)).is_ok();
    (taken.saturating_add(1)..=taken.saturating_add(NEXT_PORTS)).find(is_free)
}

async fn unix(path: &str) -> Result<Bound, Failure> {
    let bad = |why: &io::Error| refused(path, why);
    if !path.starts_with('/') {
        return Err(bad(&io::Error::other("the path is not absolute")));
    }
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left_over(Path::new(path)).await => {
            fs::remove_file(path).map_err(|error| bad(&error))?;
            UnixListener::bind(path).map_err(|error| bad(&error))?
        }
        other => other.map_err(|error| bad(&error))?,
    };
    let file = SocketFile(path.into());
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(|error| bad(&error))?;
    Ok(Bound {
        sockets: Sockets::Unix(listener, file),
        at: ListenAt::Unix {
            path: path.to_owned(),
        },
    })
}

/// Says whether a socket file is one that nobody listens on.
async fn is_left_over(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    let connected = tokio::net::UnixStream::connect(path).await;
    is_socket && connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// Says that nobody can listen somewhere. That somebody else does is a code of its own: another port may do.
fn refused(place: &str, why: &io::Error) -> Failure {
    let code = if why.kind() == io::ErrorKind::AddrInUse {
        ErrorCode::Conflict
    } else {
        ErrorCode::Unreachable
    };
    Failure::new(code, format!("could not listen on {place} on the host: {why}"))
}
