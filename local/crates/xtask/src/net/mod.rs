//! A network between two namespaces of this machine whose delay is known: the kernel here has no netem.
//!
//! ```text
//! namespace "client"                                              namespace "server"
//!   TUN device ◄─── file descriptor ─── bridge thread ─── file descriptor ───► TUN device
//! ```
//!
//! | I want to… | Open |
//! | --- | --- |
//! | decide what happens to a packet, and when | `schedule.rs` (pure) |
//! | see how packets are carried | `bridge.rs` |
//! | change addresses, or what is cleaned up | `lab.rs`, `namespace.rs` |

mod bridge;
mod lab;
mod namespace;
mod schedule;
mod tun;

pub(crate) use lab::{Lab, SERVER_ADDRESS};
pub(crate) use namespace::Namespace;
