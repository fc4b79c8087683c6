//! Decisions as callers of this crate see them.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod commands;
mod paths;
mod presets;
mod properties;
mod support;
