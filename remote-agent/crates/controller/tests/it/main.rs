//! Sessions from outside: a scripted model over real HTTP, real tools, a real log on disk.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod follow;
mod resume;
mod rig;
mod turns;
