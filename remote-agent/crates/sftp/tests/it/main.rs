//! Public behaviour of the crate.
#![expect(clippy::unwrap_used, reason = "tests")]

mod beside_openssh;
mod packets;
mod server;
