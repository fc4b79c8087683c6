//! The wire types as another program sees them.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod answer;
mod brokered;
mod decode;
mod fold;
mod golden;
mod limits;
mod meter;
mod ports;
mod samples;
mod turns;
mod unknown;
