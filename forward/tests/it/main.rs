//! Tests of forwards over real SSH connections, and through a stand-in for the agent.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod load;
mod local;
mod matrix;
mod policy;
mod remote;
mod socks;
mod support;
