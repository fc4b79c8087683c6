//! Settings as the composition roots use them.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod env_file;
mod errors;
mod example;
mod forwards;
mod hosts;
mod layers;
mod models;
mod project;
mod support;
