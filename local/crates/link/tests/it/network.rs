//! A network that changes, as this machine's kernel tells it.

use std::{
    fs::File,
    net::SocketAddr,
    os::fd::AsFd as _,
    process::Stdio,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use link::{LinkState, NetworkWatch, Timings};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::bench::{Bench, PATIENCE, live, state};

/// A network namespace that this thread is in, and with it everything that the test opens and starts from then on.
struct Apart(String);

impl Apart {
    fn enter() -> Self {
        assert!(
            rustix::process::geteuid().is_root(),
            "this test makes a network namespace: run it as root, with iproute2 installed"
        );
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let apart = Self(format!("rx-net-{}-{number}-link", std::process::id()));
        ip(&["netns", "add", &apart.0]);
        let file = File::open(format!("/run/netns/{}", apart.0)).unwrap();
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
        ip(&["link", "set", "lo", "up"]);
        apart
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        // A test that fails says why by itself.
        if !std::thread::panicking() {
            ip(&["netns", "delete", &self.0]);
        }
    }
}

fn ip(words: &[&str]) {
    let output = stdx::process::blocking_command("ip")
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {words:?}: {said}");
}

/// A cable between two devices of the namespace.
fn plug_in(name: &str) {
    let peer = format!("{name}x");
    ip(&["link", "add", name, "type", "veth", "peer", "name", &peer]);
    ip(&["link", "set", &peer, "up"]);
    ip(&["link", "set", name, "up"]);
}

/// So patient that only a change of the network can be the reason.
fn patient() -> Timings {
    let hour = Duration::from_secs(3600);
    Timings {
        ping_interval: hour,
        dead_after: hour,
        stalled_after: hour,
        wake_grace: Duration::from_millis(1500),
        ..Timings::default()
    }
}

async fn watched() -> Bench {
    let mut bench = Bench::new().await;
    bench.network = NetworkWatch::On;
    bench.timings = patient();
    bench
}

async fn is_proved(bench: &Bench, before: u64) {
    let proved = async {
        while bench.daemon.asked() == before {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, proved).await.unwrap();
}

#[tokio::test]
async fn a_container_that_comes_and_goes_only_has_the_link_proved() {
    let _apart = Apart::enter();
    let bench = watched().await;
    let (link, _) = bench.live().await;
    let before = bench.daemon.asked();
    plug_in("veth0");
    is_proved(&bench, before).await;
    let before = bench.daemon.asked();
    ip(&["link", "delete", "veth0"]);
    is_proved(&bench, before).await;
    live(&link).await;
    assert_eq!(bench.proxy.connections(), 1, "a living connection is kept");
}

#[tokio::test]
async fn a_dead_peer_is_noticed_when_the_network_changes() {
    let _apart = Apart::enter();
    plug_in("wifi0");
    ip(&["address", "add", "198.18.7.1/24", "dev", "wifi0"]);
    ip(&["route", "add", "default", "via", "198.18.7.2"]);
    let bench = watched().await;
    let (link, _) = bench.live().await;
    bench.proxy.black_hole(true);
    ip(&["link", "set", "wifi0", "down"]);
    let lost = state(&link, "loss", |state| state.cause().is_some()).await;
    assert!(lost.to_string().contains("no sign of life"), "{lost}");
    bench.proxy.restore();
    live(&link).await;
    assert_eq!(bench.proxy.connections(), 2);
}

#[tokio::test]
async fn another_way_out_starts_the_schedule_anew() {
    let _apart = Apart::enter();
    plug_in("wifi0");
    let bench = watched().await;
    let (link, _) = bench.live().await;
    // Nobody listens on the discard port of this namespace.
    bench.proxy.retarget(SocketAddr::from(([127, 0, 0, 1], 9)));
    bench.proxy.cut();
    state(&link, "several tries", |state| {
        matches!(state, LinkState::Waiting { attempts: 5.., .. })
    })
    .await;
    ip(&["address", "add", "198.18.7.1/24", "dev", "wifi0"]);
    ip(&["route", "add", "default", "via", "198.18.7.2"]);
    state(&link, "a fresh schedule", |state| {
        matches!(state, LinkState::Waiting { attempts: ..3, .. })
    })
    .await;
}
