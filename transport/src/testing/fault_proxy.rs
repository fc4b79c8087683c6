//! A TCP proxy on loopback that cuts, half-closes and swallows.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use stdx::task::Scope;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};
use tokio_util::sync::CancellationToken;

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
    /// Bytes from clients that still pass before everything is cut; negative means no such limit.
    allowance: AtomicI64,
    /// The same for bytes to clients.
    allowance_down: AtomicI64,
    /// Bytes a second and connection from clients; 0 means no such limit.
    pace: AtomicU64,
    black_hole: watch::Sender<bool>,
    /// Cancelled to cut the connections that exist now; replaced for those that come.
    current: Mutex<Faults>,
    connections: watch::Sender<u64>,
}

#[derive(Clone, Debug, Default)]
struct Faults {
    cut: CancellationToken,
    half_close: CancellationToken,
}

impl FaultProxy {
    /// Starts a proxy in front of `target`.
    ///
    /// # Errors
    /// No port can be had.
    pub async fn start(target: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let scope = Scope::root("fault proxy");
        let shared = Arc::new(Shared {
            target: Mutex::new(target),
            allowance: AtomicI64::new(-1),
            allowance_down: AtomicI64::new(-1),
            pace: AtomicU64::new(0),
            black_hole: watch::Sender::new(false),
            current: Mutex::default(),
            connections: watch::Sender::new(0),
        });
        // Owned by the scope.
        drop(scope.spawn(accept(listener, Arc::clone(&shared), scope.clone())));
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

    /// Closes every connection now; new ones are served.
    pub fn cut(&self) {
        self.shared.cut();
    }

    /// Closes every connection, once, when exactly so many more bytes have passed from clients to the server.
    pub fn cut_after(&self, bytes: u32) {
        self.shared.allowance.store(i64::from(bytes), Ordering::SeqCst);
    }

    /// Closes every connection, once, when exactly so many more bytes have passed from the server to clients.
    pub fn cut_after_received(&self, bytes: u32) {
        self.shared
            .allowance_down
            .store(i64::from(bytes), Ordering::SeqCst);
    }

    /// Lets bytes from clients pass at this pace from now on, so that what a host has and what was sent stay close.
    pub fn pace(&self, bytes_a_second: u32) {
        self.shared
            .pace
            .store(u64::from(bytes_a_second), Ordering::SeqCst);
    }

    /// Ends the direction from server to client of every connection; the other direction goes on.
    pub fn half_close(&self) {
        let mut current = self.shared.current.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut current.half_close).cancel();
    }

    /// Stops forwarding in both directions without closing anything, or goes on. New connections are accepted and
    /// treated alike.
    pub fn black_hole(&self, on: bool) {
        self.shared.black_hole.send_replace(on);
    }

    /// Ends all faults for connections that come now.
    pub fn restore(&self) {
        self.black_hole(false);
        self.shared.allowance.store(-1, Ordering::SeqCst);
        self.shared.allowance_down.store(-1, Ordering::SeqCst);
        self.pace(0);
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
    fn cut(&self) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *current).cut.cancel();
    }

    /// Says how many of `wanted` bytes from a client, or to one, may pass; fewer means that the cut is due behind them.
    fn allowed(&self, wanted: usize, is_up: bool) -> usize {
        let allowance = if is_up {
            &self.allowance
        } else {
            &self.allowance_down
        };
        let take = |left: i64| {
            let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
            (left >= 0).then(|| if left < wanted { -1 } else { left - wanted })
        };
        match allowance.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take) {
            Ok(left) => usize::try_from(left).map_or(wanted, |left| left.min(wanted)),
            Err(_unlimited) => wanted,
        }
    }
}

impl Shared {
    /// Takes the time that a client's bytes need.
    async fn take_time(&self, bytes: usize) {
        let micros = (bytes as u64 * 1_000_000).checked_div(self.pace.load(Ordering::SeqCst));
        if let Some(micros) = micros {
            tokio::time::sleep(Duration::from_micros(micros)).await;
        }
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.scope.cancel();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, scope: Scope) {
    loop {
        let client = tokio::select! {
            biased;
            () = scope.token().cancelled() => return,
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => client,
                Err(_) => continue,
            },
        };
        shared.connections.send_modify(|count| *count += 1);
        let (shared, token) = (Arc::clone(&shared), scope.token().clone());
        // Owned by the scope.
        drop(scope.spawn(async move {
            let faults = shared
                .current
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            tokio::select! {
                biased;
                () = token.cancelled() => {}
                () = faults.cut.cancelled() => {}
                () = serve(client, &shared, &faults) => {}
            }
        }));
    }
}

async fn serve(client: TcpStream, shared: &Shared, faults: &Faults) {
    let target = *shared.target.lock().unwrap_or_else(PoisonError::into_inner);
    let Ok(server) = TcpStream::connect(target).await else {
        return;
    };
    // Only slower without it.
    drop((client.set_nodelay(true), server.set_nodelay(true)));
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = server.into_split();
    let up = copy(client_read, server_write, shared, CancellationToken::new(), true);
    let down = copy(
        server_read,
        client_write,
        shared,
        faults.half_close.clone(),
        false,
    );
    tokio::join!(up, down);
}

async fn copy(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    shared: &Shared,
    half_close: CancellationToken,
    is_up: bool,
) {
    let mut black_hole = shared.black_hole.subscribe();
    let mut buffer = vec![0; 32 * 1024];
    let forward = async {
        loop {
            // Held back, not thrown away: a network that heals delivers what TCP kept.
            if black_hole.wait_for(|on| !on).await.is_err() {
                return;
            }
            match from.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(count) => {
                    let passes = shared.allowed(count, is_up);
                    if black_hole.wait_for(|on| !on).await.is_err()
                        || to.write_all(&buffer[..passes]).await.is_err()
                    {
                        return;
                    }
                    if is_up {
                        shared.take_time(passes).await;
                    }
                    if passes < count {
                        shared.cut();
                    }
                }
            }
        }
    };
    tokio::select! {
        biased;
        () = half_close.cancelled() => {}
        () = forward => {}
    }
    // The other end may be gone already.
    drop(to.shutdown().await);
}
