//! The whole program: real binary, real sshd, real agent, scripted model, hermetic homes.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod alone;
mod attached;
mod broker;
mod cases;
mod cli;
mod crash;
mod doctor;
mod faults;
mod files;
mod forwards;
mod held;
mod homes;
mod hosts;
mod key_agent;
mod local_rig;
mod local_run;
mod login;
mod machines;
mod orphans;
mod remote;
mod remote_care;
mod remote_verbs;
mod rig;
mod screen;
mod screen_faults;
mod secrets;
mod serving;
mod shell;
mod skew;
mod soak;
mod stopping;
mod trust;
mod upload;
mod wake;
