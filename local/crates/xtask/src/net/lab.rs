//! Two namespaces and the bridge between them.

use std::time::Duration;

use anyhow::{Context as _, ensure};

use super::bridge::Bridge;
use super::namespace::{self, Namespace};
use super::tun;

/// RFC 2544 sets this network aside for benchmarks.
const CLIENT_ADDRESS: &str = "198.18.0.1";
/// Where the server is, seen from the client.
pub(crate) const SERVER_ADDRESS: &str = "198.18.0.2";

/// A client and a server that see only each other. Everything is gone when it is dropped.
#[derive(Debug)]
pub(crate) struct Lab {
    bridge: Bridge,
    pub(crate) client: Namespace,
    pub(crate) server: Namespace,
}

impl Lab {
    /// Builds it; this takes root.
    pub(crate) fn build() -> anyhow::Result<Self> {
        ensure!(
            rustix::process::geteuid().is_root(),
            "this takes root: it makes network namespaces and TUN devices"
        );
        namespace::remove_stale();
        let (client, server) = (Namespace::create("c")?, Namespace::create("s")?);
        let pid = std::process::id();
        let (near, far) = (format!("rxc{pid}"), format!("rxs{pid}"));
        let ends = [tun::create(&near)?, tun::create(&far)?];
        client
            .adopt(&near, CLIENT_ADDRESS, SERVER_ADDRESS)
            .context("could not connect the client")?;
        server
            .adopt(&far, SERVER_ADDRESS, CLIENT_ADDRESS)
            .context("could not connect the server")?;
        Ok(Self {
            bridge: Bridge::start(ends)?,
            client,
            server,
        })
    }

    /// Sets how long a packet and its answer take together, beside the time that this machine needs.
    pub(crate) fn set_round_trip(&self, time: Duration) {
        self.bridge.set_delay(time / 2);
    }

    /// Gives how many bytes the client's TCP connections have carried to the server, repeated ones included.
    pub(crate) fn sent_by_client(&self) -> u64 {
        self.bridge.sent()
    }
}
