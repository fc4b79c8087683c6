//! Drives the scripted model over real connections with a client that shares no code with it.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod client;
mod faults;
mod scripts;
