//! The demo with the real program: the whole way, and every way out of it.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod person;
mod program;
mod whole;
