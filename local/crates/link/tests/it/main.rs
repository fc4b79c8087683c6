//! Real SSH on loopback, a stand-in program on the host and an agent in this process.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod bench;
mod connect;
mod daemon;
mod deadlines;
mod drops;
mod factors;
mod local;
mod machines;
mod network;
mod refusals;
