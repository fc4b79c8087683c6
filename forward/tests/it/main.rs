//! Tests of forwards over real SSH connections.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod local;
