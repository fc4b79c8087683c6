//! A faulty network between two namespaces of this machine, for tests and measurements: the kernel here has no netem.
//!
//! ```text
//! namespace "client"                                              namespace "server"
//!   TUN device ◄─── file descriptor ─── bridge thread ─── file descriptor ───► TUN device
//! ```
//!
//! What a way does to packets is a [`Shape`]: delay, loss in bursts, doubling, overtaking, a limit of size, silence. The
//! decisions are pure and follow from a seed; TCP on both ends is the kernel's own. Building a [`Lab`] takes root.
//! This crate is for development only; the TCP proxy that needs no root is `transport::testing`'s.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | decide what happens to a packet, and when | `schedule.rs` (pure) |
//! | change what a way may do to packets | `shape.rs` |
//! | see how packets are carried | `bridge.rs` |
//! | see what a host is told whose packet is too big | `icmp.rs` |
//! | change addresses, or what is cleaned up | `lab.rs`, `namespace.rs` |

mod bridge;
mod choices;
mod icmp;
mod lab;
mod namespace;
mod schedule;
mod shape;
mod tun;

pub use choices::Choices;
pub use lab::{CLIENT_ADDRESS, Lab, SERVER_ADDRESS, Way};
pub use namespace::Namespace;
pub use shape::{Loss, Mtu, Odds, Shape};
