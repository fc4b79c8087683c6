//! Integration tests of the session store, through its public interface.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod damage;
mod faults;
mod golden;
mod lease;
mod log;
mod recovery;
mod samples;
mod sessions;
