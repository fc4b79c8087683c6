//! The HTTP face with real sessions behind it, over in-memory pipes and unix sockets.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod beside;
mod broker;
mod files;
mod flood;
mod http1;
mod ports;
mod rig;
mod sessions;
mod streams;
mod terminal;
mod unix;
