//! Tests of the public face: real shells, and real confinement where the host has any.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod background;
mod confine;
mod ending;
mod git;
mod output;
mod probe;
mod terminal;
mod world;
