//! The thread that carries packets between two TUN devices.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::choices::Choices;
use crate::icmp;
use crate::schedule::{Fate, Schedule};
use crate::shape::Shape;

/// How long an idle bridge waits before it looks whether it is to end.
const IDLE: Duration = Duration::from_millis(100);
/// Longest packet, in bytes: the MTU of the devices is below it.
const PACKET: usize = 64 * 1024;
/// How much of a packet is kept to say that it was too big, in bytes.
const START: usize = 128;

/// A running bridge; it ends when dropped.
#[derive(Debug)]
pub(crate) struct Bridge {
    orders: Arc<Orders>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Orders {
    end: AtomicBool,
    /// What happens on the way from each end to the other.
    shapes: Mutex<[Shape; 2]>,
    /// What came in at the first end: bytes that TCP carried for its users.
    sent: AtomicU64,
}

impl Bridge {
    /// Starts to carry packets, at first without any fault. The same seed gives the same fates to the same packets.
    pub(crate) fn start(ends: [File; 2], seed: u64) -> anyhow::Result<Self> {
        let orders = Arc::<Orders>::default();
        let seen = Arc::clone(&orders);
        let thread = std::thread::Builder::new()
            .name("bridge".to_owned())
            .spawn(move || carry(ends, &seen, seed))
            .context("could not start the bridge's thread")?;
        Ok(Self {
            orders,
            thread: Some(thread),
        })
    }

    /// Changes what happens on the way from an end (0 or 1) to the other, from the next packet on.
    pub(crate) fn set_shape(&self, from: usize, shape: Shape) {
        let mut shapes = self.orders.shapes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = shapes.get_mut(from) {
            *old = shape;
        }
    }

    /// Gives how many bytes TCP carried from the first end to the second for its users, repeated ones included.
    pub(crate) fn sent(&self) -> u64 {
        self.orders.sent.load(Ordering::Relaxed)
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.orders.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so.
            drop(thread.join());
        }
    }
}

fn carry(mut ends: [File; 2], orders: &Orders, seed: u64) {
    let mut choices = Choices::seeded(seed);
    let mut ways = [(); 2].map(|()| Schedule::new(Choices::seeded(choices.below(u64::MAX))));
    let mut buffer = vec![0; PACKET];
    while !orders.end.load(Ordering::Relaxed) {
        let next = ways.iter().filter_map(Schedule::next).min();
        wait(&ends, next);
        let shapes = *orders.shapes.lock().unwrap_or_else(PoisonError::into_inner);
        for (from, way) in ways.iter_mut().enumerate() {
            way.set_shape(shapes[from]);
            while let Some(packet) = read(&mut ends[from], &mut buffer) {
                if from == 0 {
                    let count = tcp_payload(&packet).unwrap_or(0);
                    orders.sent.fetch_add(count, Ordering::Relaxed);
                }
                let start = packet.get(..START.min(packet.len())).map(<[u8]>::to_vec);
                if let Fate::TooBig(limit) = way.enter(now(), packet)
                    && let Some(told) = start.and_then(|start| icmp::fragmentation_needed(&start, limit))
                {
                    // Like any other packet, it may be lost.
                    drop(ends[from].write(&told));
                }
            }
            while let Some(packet) = way.leave(now()) {
                // A device that takes no packet now drops it, as a network would; TCP sends it again.
                drop(ends[1 - from].write(&packet));
            }
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "packets are due at times; this crate is built before everything else and uses no stdx"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits until a packet came in or one is to come out.
fn wait(ends: &[File; 2], next: Option<Instant>) {
    let left = next.map_or(IDLE, |next| next.saturating_duration_since(now()).min(IDLE));
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: left.subsec_nanos().into(),
    };
    let [one, other] = ends;
    let mut polled = [PollFd::new(one, PollFlags::IN), PollFd::new(other, PollFlags::IN)];
    // An interrupted wait is only shorter.
    let _ready = poll(&mut polled, Some(&timeout));
}

fn read(end: &mut File, buffer: &mut [u8]) -> Option<Vec<u8>> {
    loop {
        match end.read(buffer) {
            Ok(count) => {
                return buffer
                    .get(..count)
                    .filter(|packet| !packet.is_empty())
                    .map(Vec::from);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Nothing there, or a device that is just going down.
            Err(_) => return None,
        }
    }
}

/// Gives how many bytes of an IPv4 packet (RFC 791) are what a user of TCP (RFC 9293) sent.
fn tcp_payload(packet: &[u8]) -> Option<u64> {
    let words = |byte: u8| u64::from(byte) * 4;
    let ip = words(packet.first()? & 0x0f);
    let total = u64::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    let is_tcp = packet.first()? >> 4 == 4 && *packet.get(9)? == 6;
    let tcp = words(packet.get(usize::try_from(ip).ok()? + 12)? >> 4);
    is_tcp.then(|| total.saturating_sub(ip + tcp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_not_payload() {
        let mut packet = vec![0; 20 + 32 + 5];
        (packet[0], packet[3], packet[9], packet[32]) = (0x45, 57, 6, 0x80);
        assert_eq!(tcp_payload(&packet), Some(5));
        packet[9] = 17;
        assert_eq!(tcp_payload(&packet), None);
        assert_eq!(tcp_payload(&[]), None);
    }
}
