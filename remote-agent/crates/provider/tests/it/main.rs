//! Drives the provider over real HTTP against the scripted model.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod answers;
mod faults;
mod harness;
mod keys;
