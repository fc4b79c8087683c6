//! A TCP proxy on loopback that breaks connections in every way in which networks do.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | see what can go wrong, or draw lists of it | `fault_proxy/fault.rs` (pure) |
//! | see how bytes are carried and connections end | `fault_proxy/carry.rs` |

mod carry;
mod fault;
#[cfg(test)]
mod tests;

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use stdx::task::Scope;
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::watch,
};
use tokio_util::sync::CancellationToken;

pub use fault::{Fault, FaultKind, Plan, Side, Step};

/// How many connections may wait to be accepted.
const BACKLOG: u32 = 256;

/// A proxy in front of one address. Dropping it ends it and all its connections.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    scope: Scope,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: Mutex<SocketAddr>,
    up: Way,
    down: Way,
    /// How long new connections wait for an answer.
    slow_accept: watch::Sender<Duration>,
    refusing: watch::Sender<bool>,
    /// What ends the connections that exist now; replaced for those that come.
    current: Mutex<Ends>,
    connections: watch::Sender<u64>,
}

/// One direction of all connections.
#[derive(Debug)]
struct Way {
    /// Bytes that still pass before everything is cut; negative means no such limit.
    allowance: AtomicI64,
    /// Bytes a second and connection; 0 means no such limit.
    pace: AtomicU64,
    stopped: watch::Sender<bool>,
}

impl Default for Way {
    fn default() -> Self {
        Self {
            allowance: AtomicI64::new(-1),
            pace: AtomicU64::new(0),
            stopped: watch::Sender::new(false),
        }
    }
}

impl Way {
    fn restore(&self) {
        self.allowance.store(-1, Ordering::SeqCst);
        self.pace.store(0, Ordering::SeqCst);
        self.stopped.send_replace(false);
    }
}

/// Each is cancelled to end connections in its way.
#[derive(Clone, Debug, Default)]
struct Ends {
    cut: CancellationToken,
    reset: CancellationToken,
    half_close: CancellationToken,
    client_gone: CancellationToken,
    server_gone: CancellationToken,
}

impl FaultProxy {
    /// Starts a proxy in front of `target`.
    ///
    /// # Errors
    /// No port can be had.
    pub async fn start(target: SocketAddr) -> io::Result<Self> {
        let port = Port::reserve()?;
        let address = port.address;
        let listener = port.listen()?;
        let scope = Scope::root("fault proxy");
        let shared = Arc::new(Shared {
            target: Mutex::new(target),
            up: Way::default(),
            down: Way::default(),
            slow_accept: watch::Sender::new(Duration::ZERO),
            refusing: watch::Sender::new(false),
            current: Mutex::default(),
            connections: watch::Sender::new(0),
        });
        // Owned by the scope.
        drop(scope.spawn(accept(port, listener, Arc::clone(&shared), scope.clone())));
        Ok(Self {
            address,
            scope,
            shared,
        })
    }

    /// Gives the address to connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends connections that come now to another address.
    pub fn retarget(&self, target: SocketAddr) {
        *self.shared.target.lock().unwrap_or_else(PoisonError::into_inner) = target;
    }

    /// Lets something go wrong.
    pub fn inject(&self, fault: Fault) {
        let shared = &self.shared;
        match fault {
            Fault::Cut => shared.cut(),
            Fault::CutAfter { bytes, from } => {
                let way = shared.way(from);
                way.allowance.store(i64::from(bytes), Ordering::SeqCst);
            }
            Fault::Reset => std::mem::take(&mut *shared.current()).reset.cancel(),
            Fault::HalfClose => std::mem::take(&mut shared.current().half_close).cancel(),
            Fault::HalfOpen { gone: Side::Client } => {
                std::mem::take(&mut shared.current().client_gone).cancel();
            }
            Fault::HalfOpen { gone: Side::Server } => {
                std::mem::take(&mut shared.current().server_gone).cancel();
            }
            Fault::BlackHole => self.black_hole(true),
            Fault::Silence { from } => drop(shared.way(from).stopped.send_replace(true)),
            Fault::Trickle { bytes_a_second } => {
                for way in [&shared.up, &shared.down] {
                    way.pace.store(u64::from(bytes_a_second), Ordering::SeqCst);
                }
            }
            Fault::SlowAccept { wait } => drop(shared.slow_accept.send_replace(wait)),
            Fault::Refuse => drop(shared.refusing.send_replace(true)),
        }
    }

    /// Lets the steps of a list happen, one after the other; all is well at its end.
    pub async fn play(&self, steps: &[Step]) {
        for step in steps {
            tokio::time::sleep(step.pause).await;
            self.inject(step.fault);
            tokio::time::sleep(step.lasts).await;
            self.restore();
        }
    }

    /// Closes every connection now; new ones are served.
    pub fn cut(&self) {
        self.inject(Fault::Cut);
    }

    /// Closes every connection, once, when exactly so many more bytes have passed from clients to the server.
    pub fn cut_after(&self, bytes: u32) {
        let from = Side::Client;
        self.inject(Fault::CutAfter { bytes, from });
    }

    /// Closes every connection, once, when exactly so many more bytes have passed from the server to clients.
    pub fn cut_after_received(&self, bytes: u32) {
        let from = Side::Server;
        self.inject(Fault::CutAfter { bytes, from });
    }

    /// Lets bytes from clients pass at this pace from now on, so that what a host has and what was sent stay close.
    pub fn pace(&self, bytes_a_second: u32) {
        let pace = &self.shared.up.pace;
        pace.store(u64::from(bytes_a_second), Ordering::SeqCst);
    }

    /// Ends the direction from server to client of every connection; the other direction goes on.
    pub fn half_close(&self) {
        self.inject(Fault::HalfClose);
    }

    /// Stops forwarding in both directions without closing anything, or goes on. New connections are accepted and
    /// treated alike.
    pub fn black_hole(&self, on: bool) {
        for way in [&self.shared.up, &self.shared.down] {
            way.stopped.send_replace(on);
        }
    }

    /// Ends all faults that last. A connection whose one side is gone stays as it is.
    pub fn restore(&self) {
        self.shared.up.restore();
        self.shared.down.restore();
        self.shared.slow_accept.send_replace(Duration::ZERO);
        self.shared.refusing.send_replace(false);
    }

    /// Gives how many connections were accepted so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        *self.shared.connections.borrow()
    }

    /// Ends the proxy and waits for its tasks.
    pub async fn close(&self) {
        self.scope.close(Duration::from_secs(2)).await;
    }
}

impl Shared {
    fn current(&self) -> MutexGuard<'_, Ends> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn target(&self) -> SocketAddr {
        *self.target.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the direction in which a side speaks.
    fn way(&self, from: Side) -> &Way {
        match from {
            Side::Client => &self.up,
            Side::Server => &self.down,
        }
    }

    fn pace(&self, from: Side) -> u64 {
        self.way(from).pace.load(Ordering::SeqCst)
    }

    fn cut(&self) {
        std::mem::take(&mut *self.current()).cut.cancel();
    }

    /// Says how many of `wanted` bytes of a side may pass; fewer means that the cut is due behind them.
    fn allowed(&self, wanted: usize, from: Side) -> usize {
        let take = |left: i64| {
            let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
            (left >= 0).then(|| if left < wanted { -1 } else { left - wanted })
        };
        let allowance = &self.way(from).allowance;
        match allowance.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take) {
            Ok(left) => usize::try_from(left).map_or(wanted, |left| left.min(wanted)),
            Err(_unlimited) => wanted,
        }
    }

    /// Waits as long as nobody answers a new connection; `false` when it ended meanwhile.
    async fn before_answer(&self, ends: &Ends) -> bool {
        let mut slow_accept = self.slow_accept.subscribe();
        let wait = *slow_accept.borrow_and_update();
        if wait.is_zero() {
            return true;
        }
        tokio::select! {
            biased;
            () = ends.cut.cancelled() => false,
            () = ends.reset.cancelled() => false,
            _ = slow_accept.changed() => true,
            () = tokio::time::sleep(wait) => true,
        }
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.scope.cancel();
    }
}

/// A port that stays ours while nobody listens on it: a second socket is bound to it and never listens.
struct Port {
    address: SocketAddr,
    _bound: TcpSocket,
}

impl Port {
    fn reserve() -> io::Result<Self> {
        let bound = TcpSocket::new_v4()?;
        bound.set_reuseport(true)?;
        bound.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        Ok(Self {
            address: bound.local_addr()?,
            _bound: bound,
        })
    }

    fn listen(&self) -> io::Result<TcpListener> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseport(true)?;
        socket.set_reuseaddr(true)?;
        socket.bind(self.address)?;
        socket.listen(BACKLOG)
    }
}

async fn accept(port: Port, listener: TcpListener, shared: Arc<Shared>, scope: Scope) {
    let mut refusing = shared.refusing.subscribe();
    let mut listener = Some(listener);
    loop {
        let accepting = async {
            match &listener {
                Some(listener) => listener.accept().await,
                None => std::future::pending().await,
            }
        };
        let client = tokio::select! {
            biased;
            () = scope.token().cancelled() => return,
            _ = refusing.changed() => {
                let is_refusing = *refusing.borrow_and_update();
                // A port that cannot be listened on again goes on refusing, which a test notices.
                listener = if is_refusing { None } else { listener.or_else(|| port.listen().ok()) };
                continue;
            }
            accepted = accepting => match accepted {
                Ok((client, _)) => client,
                Err(_) => continue,
            },
        };
        shared.connections.send_modify(|count| *count += 1);
        // Owned by the scope.
        drop(scope.spawn(one(client, Arc::clone(&shared), scope.token().clone())));
    }
}

async fn one(client: TcpStream, shared: Arc<Shared>, token: CancellationToken) {
    let ends = shared.current().clone();
    tokio::select! {
        biased;
        () = token.cancelled() => {}
        () = carry::serve(client, &shared, &ends) => {}
    }
}
