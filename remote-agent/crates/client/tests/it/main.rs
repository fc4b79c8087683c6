//! The client against an agent that is made of HTTP answers only.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod calls;
mod events;
mod fake;
mod follow;
mod liveness;
mod sse;
mod view;
mod windows;
