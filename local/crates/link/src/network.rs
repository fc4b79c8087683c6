//! Notices that the network of this machine changed: a Wi-Fi that was left, a cable that was pulled, a VPN that came up.
//!
//! On Linux the kernel tells (rtnetlink(7)); where it does not, the way out of this machine is looked at now and then.
//! Changes come in bursts, so they are told when a burst is over. What they mean for a link is decided in `state.rs`.

#[cfg(target_os = "linux")]
mod kernel;

use std::{
    io,
    net::{IpAddr, Ipv6Addr, UdpSocket},
    time::Duration,
};

use stdx::task::Scope;
use tokio::time::Instant;

/// Whether a link watches the network of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NetworkWatch {
    /// As the kernel tells of changes.
    #[default]
    On,
    /// Somebody else tells, by [`crate::Link::network_changed`].
    Off,
}

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NetworkChange {
    /// Packets to far hosts leave by another address than before, or cannot leave any more: connections that are open
    /// are probably dead, and a host that could not be reached may be reached now.
    Moved,
    /// Something else: an address, a route or a device that may or may not lie on the way to a host.
    Elsewhere,
}

/// A burst is over when nothing happened for so long.
const QUIET: Duration = Duration::from_millis(150);
/// A burst that does not end is told after this. With the grace of a proof it stays below two seconds.
const BURST: Duration = Duration::from_millis(400);
/// Changes elsewhere are told at most this often.
const GAP: Duration = Duration::from_secs(2);
/// How often the way out is looked at where the kernel does not tell.
const LOOK: Duration = Duration::from_secs(2);

/// Tells changes until the scope is cancelled, or `tell` says that nobody listens any more.
pub(crate) async fn watch(scope: Scope, tell: impl Fn(NetworkChange) -> bool) {
    let token = scope.token().clone();
    tokio::select! {
        biased;
        () = token.cancelled() => {}
        () = changes(tell) => {}
    }
}

async fn changes(tell: impl Fn(NetworkChange) -> bool) {
    let mut way = WayOut::now();
    let mut source = Source::open();
    let mut told: Option<Instant> = None;
    loop {
        if let Err(error) = source.changed().await {
            tracing::info!(%error, "the kernel does not tell of changes of the network any more");
            source = Source::Looks;
            continue;
        }
        source.settle().await;
        let mut change = way.renew();
        if change == NetworkChange::Elsewhere {
            if matches!(source, Source::Looks) {
                continue;
            }
            // Whatever comes meanwhile is part of it.
            if let Some(until) = told.map(|told| told + GAP) {
                change = source.wait_until(until, &mut way).await;
            }
        }
        tracing::debug!(?change, "the network of this machine changed");
        told = Some(Instant::now());
        if !tell(change) {
            return;
        }
    }
}

/// Where changes come from.
enum Source {
    #[cfg(target_os = "linux")]
    Kernel(kernel::Changes),
    Looks,
}

impl Source {
    fn open() -> Self {
        #[cfg(target_os = "linux")]
        match kernel::Changes::open() {
            Ok(changes) => return Self::Kernel(changes),
            Err(error) => tracing::info!(%error, "the kernel does not tell of changes of the network"),
        }
        Self::Looks
    }

    /// Waits for the next change, or for the next look.
    async fn changed(&mut self) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Kernel(changes) => changes.next().await,
            Self::Looks => {
                tokio::time::sleep(LOOK).await;
                Ok(())
            }
        }
    }

    /// Waits for the end of a burst.
    async fn settle(&mut self) {
        if matches!(self, Self::Looks) {
            return;
        }
        let end = Instant::now() + BURST;
        while Instant::now() < end {
            let quiet = end.min(Instant::now() + QUIET);
            match tokio::time::timeout_at(quiet, self.changed()).await {
                Ok(Ok(())) => {}
                // A failure shows again at the next wait.
                Ok(Err(_)) | Err(_) => return,
            }
        }
    }

    /// Waits so long, unless the way out changes before.
    async fn wait_until(&mut self, until: Instant, way: &mut WayOut) -> NetworkChange {
        loop {
            match tokio::time::timeout_at(until, self.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return NetworkChange::Elsewhere,
            }
            self.settle().await;
            if way.renew() == NetworkChange::Moved {
                return NetworkChange::Moved;
            }
        }
    }
}

/// The addresses by which packets to far hosts leave.
#[derive(Debug, PartialEq, Eq)]
struct WayOut([Option<IpAddr>; 2]);

/// Addresses of documentation networks (RFC 5737, RFC 3849): they lie behind the default route, and nothing is sent.
const FAR: [(&str, &str); 2] = [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")];

impl WayOut {
    fn now() -> Self {
        Self(FAR.map(|(from, to)| source_address(from, to).map(without_rotation)))
    }

    /// Looks again and says whether it is another one.
    fn renew(&mut self) -> NetworkChange {
        let now = Self::now();
        if *self == now {
            return NetworkChange::Elsewhere;
        }
        *self = now;
        NetworkChange::Moved
    }
}

/// Connecting a UDP socket sends nothing; the kernel only chooses route and address.
fn source_address(from: &str, to: &str) -> Option<IpAddr> {
    let socket = UdpSocket::bind(from).ok()?;
    socket.connect(to).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// Keeps the network part of an IPv6 address: the rest changes with every temporary address (RFC 8981).
fn without_rotation(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotated_address_is_the_same_way_out() {
        let plain = |text: &str| without_rotation(text.parse().unwrap());
        assert_eq!(plain("2001:db8:1:2::aa"), plain("2001:db8:1:2:3:4:5:6"));
        assert_ne!(plain("2001:db8:1:2::aa"), plain("2001:db8:1:3::aa"));
        assert_ne!(plain("10.0.0.1"), plain("10.0.0.2"));
    }
}
