//! The whole program: real binary, real sshd, real agent, scripted model, hermetic homes.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod hosts;
mod remote;
mod rig;
mod secrets;
mod trust;
mod upload;
