//! Bootstrap against real shells on this machine, in throwaway homes.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod cuts;
mod directories;
mod doctor;
mod files;
mod homes;
mod host;
mod install;
mod ladder;
mod launch;
mod over_ssh;
mod poor;
mod shells;
mod stand_in;
mod uninstall;
mod workspace;
