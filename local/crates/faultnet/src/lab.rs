//! Two namespaces and the bridge between them.

use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::bridge::Bridge;
use crate::namespace::{self, Namespace};
use crate::schedule::one_way;
use crate::shape::Shape;
use crate::tun;

/// Where the client is, seen from the server. RFC 2544 sets this network aside for benchmarks.
pub const CLIENT_ADDRESS: &str = "198.18.0.1";
/// Where the server is, seen from the client.
pub const SERVER_ADDRESS: &str = "198.18.0.2";

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

impl Way {
    /// Both directions.
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];
}

/// A client and a server that see only each other. Everything is gone when it is dropped.
#[derive(Debug)]
pub struct Lab {
    bridge: Bridge,
    /// The device of the client.
    near: String,
    /// The device of the server.
    far: String,
    /// Where the client's processes belong.
    pub client: Namespace,
    /// Where the server's processes belong.
    pub server: Namespace,
}

impl Lab {
    /// Builds it. The seed decides the fates of packets once a shape leaves them to chance.
    ///
    /// # Errors
    /// This is not root, or the kernel has no network namespaces or TUN devices, or `ip` is missing.
    pub fn build(seed: u64) -> anyhow::Result<Self> {
        ensure!(
            rustix::process::geteuid().is_root(),
            "this takes root: it makes network namespaces and TUN devices"
        );
        namespace::remove_stale();
        let number = namespace::next_number();
        let (client, server) = (Namespace::create("c", number)?, Namespace::create("s", number)?);
        let pid = std::process::id();
        let (near, far) = (format!("rxc{pid}n{number}"), format!("rxs{pid}n{number}"));
        let ends = [tun::create(&near)?, tun::create(&far)?];
        client
            .adopt(&near, CLIENT_ADDRESS, SERVER_ADDRESS)
            .context("could not connect the client")?;
        server
            .adopt(&far, SERVER_ADDRESS, CLIENT_ADDRESS)
            .context("could not connect the server")?;
        Ok(Self {
            bridge: Bridge::start(ends, seed)?,
            near,
            far,
            client,
            server,
        })
    }

    /// Changes what happens to packets in one direction, from the next one on.
    pub fn shape(&self, way: Way, shape: Shape) {
        let from = match way {
            Way::Up => 0,
            Way::Down => 1,
        };
        self.bridge.set_shape(from, shape);
    }

    /// Changes what happens to packets in both directions, from the next one on.
    pub fn shape_both(&self, shape: Shape) {
        Way::BOTH.into_iter().for_each(|way| self.shape(way, shape));
    }

    /// Sets how long a packet and its answer take together, beside the time that this machine needs, and ends faults.
    pub fn set_round_trip(&self, time: Duration) {
        self.shape_both(Shape::delayed(one_way(time)));
    }

    /// Takes the client's device down, as when a cable is pulled, or up again. Its address stays.
    ///
    /// # Errors
    /// `ip` refuses.
    pub fn set_up(&self, is_up: bool) -> anyhow::Result<()> {
        self.client.set_device(&self.near, is_up)
    }

    /// Sets the longest packet that both devices take, headers included; 1500 at first. TUN devices leave it to TCP to cut
    /// its data into packets, so each costs this machine what a network card would do: longer ones bring throughput
    /// closer to that of a real card.
    ///
    /// # Errors
    /// `ip` refuses.
    pub fn set_mtu(&self, bytes: u16) -> anyhow::Result<()> {
        self.client.set_mtu(&self.near, bytes)?;
        self.server.set_mtu(&self.far, bytes)
    }

    /// Gives how many bytes the client's TCP connections have carried to the server, repeated ones included.
    #[must_use]
    pub fn sent_by_client(&self) -> u64 {
        self.bridge.sent()
    }
}
