//! Listeners on the host (RFC 4254, section 7; OpenSSH's PROTOCOL, section 2.4): the host opens a channel for each
//! connection, and what nobody asked for is refused.

use std::sync::{Mutex, MutexGuard, PoisonError};

use russh::{Channel, ChannelOpenFailure, client};
use tokio::sync::mpsc;

use super::Connection;
use crate::{Error, ErrorKind, Stage, Stream, channel::serve};

/// Connections that wait to be accepted; further ones are refused.
const WAITING: usize = 128;

/// What was asked to be forwarded to us.
#[derive(Debug, Default)]
pub(crate) struct RemoteForwards {
    table: Mutex<Table>,
    /// One question at a time: a listener that ends is gone before the next one begins, and the connection that comes
    /// before the answer belongs to the only one that is waited for.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    entries: Vec<Entry>,
    /// What the host still listens to without need.
    ended: Vec<At>,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    at: At,
    arrived: mpsc::Sender<Arrived>,
}

/// Where the host listens.
#[derive(Clone, Debug, PartialEq, Eq)]
enum At {
    Tcp {
        address: String,
        /// 0 until the host has chosen one.
        port: u32,
    },
    Socket(String),
}

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp { address, port } if address.is_empty() => {
                write!(f, "port {port} of all its addresses")
            }
            Self::Tcp { address, port } => write!(f, "{address} port {port}"),
            Self::Socket(path) => write!(f, "the socket {path}"),
        }
    }
}

/// A channel that the host wants to open.
pub(crate) struct Arrived {
    pub(crate) channel: Channel<client::Msg>,
    pub(crate) reply: client::ChannelOpenHandle,
    pub(crate) peer: String,
}

impl RemoteForwards {
    /// Never held across an await.
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over a connection to a port.
    pub(crate) async fn tcp(&self, address: &str, port: u32, arrived: Arrived) {
        let receiver = self.lock().find_tcp(address, port);
        hand_over(receiver, arrived).await;
    }

    /// Hands over a connection to a socket.
    pub(crate) async fn socket(&self, path: &str, arrived: Arrived) {
        let at = At::Socket(path.to_owned());
        let receiver = self.lock().find(|entry| entry.at == at);
        hand_over(receiver, arrived).await;
    }
}

impl Table {
    fn find(&self, is_it: impl Fn(&Entry) -> bool) -> Option<mpsc::Sender<Arrived>> {
        let entry = self.entries.iter().find(|entry| is_it(entry));
        entry.map(|entry| entry.arrived.clone())
    }

    /// Some servers name another address than the one they were asked for; then the port decides.
    fn find_tcp(&self, wanted: &str, wanted_port: u32) -> Option<mpsc::Sender<Arrived>> {
        let by = |wanted_address: Option<&str>, wanted_port: u32| {
            self.find(|entry| match &entry.at {
                At::Tcp { address, port } => {
                    *port == wanted_port && wanted_address.is_none_or(|wanted| wanted == address)
                }
                At::Socket(_) => false,
            })
        };
        by(Some(wanted), wanted_port)
            .or_else(|| by(Some(wanted), 0))
            .or_else(|| by(None, wanted_port))
    }
}

async fn hand_over(receiver: Option<mpsc::Sender<Arrived>>, arrived: Arrived) {
    let Some(receiver) = receiver else {
        return arrived
            .reply
            .reject(ChannelOpenFailure::AdministrativelyProhibited)
            .await;
    };
    if let Err(mpsc::error::TrySendError::Full(arrived) | mpsc::error::TrySendError::Closed(arrived)) =
        receiver.try_send(arrived)
    {
        arrived.reply.reject(ChannelOpenFailure::ResourceShortage).await;
    }
}

/// A listener on the host. Dropping it ends it; connections that were accepted go on.
#[derive(Debug)]
pub struct RemoteListener {
    registered: Registered,
    arrivals: mpsc::Receiver<Arrived>,
    port: u16,
}

impl RemoteListener {
    /// Gives the port that the host listens on; 0 for a socket.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Takes the next connection, and who it is from (empty where the host does not say).
    ///
    /// # Errors
    /// The loss of the connection.
    pub async fn accept(&mut self) -> Result<(Stream, String), Error> {
        let connection = &self.registered.connection;
        let arrived = tokio::select! {
            biased;
            error = connection.closed() => return Err(error),
            arrived = self.arrivals.recv() => arrived,
        };
        let Some(Arrived { channel, reply, peer }) = arrived else {
            return Err(connection.loss().await);
        };
        reply.accept().await;
        let what = format!("a connection to {}", self.registered.at());
        Ok((Stream::new(serve(connection, channel, what)), peer))
    }

    /// Ends it and waits until the host has answered.
    pub async fn close(self) {
        let connection = self.registered.connection.clone();
        drop(self);
        connection.cancel_ended().await;
    }
}

/// An entry of the table.
struct Registered {
    connection: Connection,
    number: u64,
    /// Whether the host was asked.
    asked: bool,
}

impl std::fmt::Debug for Registered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Registered").field(&self.number).finish()
    }
}

impl Registered {
    fn new(connection: &Connection, at: At) -> (Self, mpsc::Receiver<Arrived>) {
        let (sender, arrivals) = mpsc::channel(WAITING);
        let mut table = connection.remote_forwards().lock();
        table.next += 1;
        let number = table.next;
        table.entries.push(Entry {
            number,
            at,
            arrived: sender,
        });
        let registered = Self {
            connection: connection.clone(),
            number,
            asked: false,
        };
        (registered, arrivals)
    }

    /// Names it for people.
    fn at(&self) -> String {
        let table = self.connection.remote_forwards().lock();
        let entry = table.entries.iter().find(|entry| entry.number == self.number);
        entry.map_or_else(String::new, |entry| entry.at.to_string())
    }

    fn set_port(&self, chosen: u32) {
        let mut table = self.connection.remote_forwards().lock();
        let entry = table.entries.iter_mut().find(|entry| entry.number == self.number);
        if let Some(At::Tcp { port, .. }) = entry.map(|entry| &mut entry.at) {
            *port = chosen;
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        {
            let mut table = self.connection.remote_forwards().lock();
            let Some(index) = table.entries.iter().position(|entry| entry.number == self.number) else {
                return;
            };
            let at = table.entries.swap_remove(index).at;
            if !self.asked || matches!(at, At::Tcp { port: 0, .. }) {
                return;
            }
            table.ended.push(at);
        }
        let connection = self.connection.clone();
        if !connection.is_closed() {
            // Owned by the scope.
            drop(connection.scope().clone().spawn(async move {
                connection.cancel_ended().await;
            }));
        }
    }
}

impl Connection {
    pub(crate) fn remote_forwards(&self) -> &RemoteForwards {
        self.0.reports.remote_forwards()
    }

    /// Lets the host listen on a port; 0 lets it choose. `address` is as in RFC 4254: empty for every interface, or
    /// `localhost`, or an address of the host. Where sshd's `GatewayPorts` is off, it is one of loopback whatever was asked.
    ///
    /// # Errors
    /// [`ErrorKind::ForwardingRefused`], without a reason since the protocol has none: it is forbidden, or the port is
    /// taken. Or the loss of the connection.
    pub async fn listen_tcp(&self, address: &str, port: u16) -> Result<RemoteListener, Error> {
        let at = At::Tcp {
            address: address.to_owned(),
            port: u32::from(port),
        };
        self.listen(at).await
    }

    /// Lets the host listen on a socket.
    ///
    /// # Errors
    /// As [`Connection::listen_tcp`]; sshd also refuses where a file of that name exists, unless
    /// `StreamLocalBindUnlink` is on.
    pub async fn listen_streamlocal(&self, path: &str) -> Result<RemoteListener, Error> {
        self.listen(At::Socket(path.to_owned())).await
    }

    async fn listen(&self, at: At) -> Result<RemoteListener, Error> {
        let what = at.to_string();
        let asked = tokio::time::timeout(self.0.limits.channel, self.ask(at)).await;
        match asked {
            Ok(Ok(listener)) => Ok(listener),
            Ok(Err(russh::Error::RequestDenied)) => Err(Error::new(
                ErrorKind::ForwardingRefused,
                Stage::Channel,
                self.host(),
                format!("the host does not listen on {what} for us"),
            )
            .with_hint("it is taken, or AllowTcpForwarding, AllowStreamLocalForwarding, PermitListen or DisableForwarding in its sshd_config forbid it")),
            Ok(Err(_)) => Err(self.loss().await),
            Err(_) => Err(Error::new(
                ErrorKind::Unreachable,
                Stage::Channel,
                self.host(),
                format!(
                    "the host did not say within {} s whether it listens on {what}",
                    self.0.limits.channel.as_secs_f32()
                ),
            )),
        }
    }

    async fn ask(&self, at: At) -> Result<RemoteListener, russh::Error> {
        let _alone = self.remote_forwards().asking.lock().await;
        self.cancel_each().await;
        // A connection may come before the answer.
        let (mut registered, arrivals) = Registered::new(self, at.clone());
        registered.asked = true;
        let answer = match &at {
            At::Tcp { address, port } => {
                let chosen = self.0.handle.tcpip_forward(address.clone(), *port).await;
                chosen.map(|chosen| if *port == 0 { chosen } else { *port })
            }
            At::Socket(path) => self.0.handle.streamlocal_forward(path.clone()).await.map(|()| 0),
        };
        let chosen = match answer {
            Ok(chosen) => chosen,
            Err(error) => {
                registered.asked = false;
                return Err(error);
            }
        };
        registered.set_port(chosen);
        Ok(RemoteListener {
            registered,
            arrivals,
            port: u16::try_from(chosen).unwrap_or_default(),
        })
    }

    async fn cancel_ended(&self) {
        let _alone = self.remote_forwards().asking.lock().await;
        let all = self.cancel_each();
        // A host that does not answer is noticed elsewhere.
        drop(tokio::time::timeout(self.0.limits.channel, all).await);
    }

    async fn cancel_each(&self) {
        loop {
            let ended = self.remote_forwards().lock().ended.pop();
            // A refusal means that it is gone already.
            match ended {
                None => return,
                Some(At::Tcp { address, port }) => {
                    drop(self.0.handle.cancel_tcpip_forward(address, port).await);
                }
                Some(At::Socket(path)) => drop(self.0.handle.cancel_streamlocal_forward(path).await),
            }
        }
    }
}
