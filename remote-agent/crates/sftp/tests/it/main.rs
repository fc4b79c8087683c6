//! Public behaviour of the crate.
#![expect(clippy::unwrap_used, reason = "tests")]

mod packets;
mod server;
