//! Public behaviour of the crate.
#![expect(clippy::unwrap_used, reason = "tests")]

mod beside_openssh;
mod client;
mod packets;
mod server;
