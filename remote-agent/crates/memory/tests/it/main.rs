//! Instructions from directories as people have them.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod files;
mod imports;
mod limits;
mod support;
