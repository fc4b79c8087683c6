//! Tests of the public face: real files, real shells.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod bash;
mod edit;
mod keep;
mod look;
mod read;
mod registry;
mod search;
mod world;
mod write;
