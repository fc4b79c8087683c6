//! `reasonix demo`: the whole way on a throwaway host, without sshd, key or network.
//!
//! The host is a folder behind an embedded SSH server on loopback; the model follows a script. Everything between is
//! what a real host gets: [`link::Link`] dials, checks the host key, logs in, puts this program there, starts
//! `reasonix serve --detach`, and a turn fixes a failing test with tools that run on the host's side. In the middle of
//! the last answer the SSH connection is cut; the link comes back by itself, and at the end the events that were
//! applied here are compared with the host's own log.
//!
//! [`run()`] plays all of that by itself. For a screen, [`DemoHost`] gives host and link, the person asks for the work, and a
//! [`Companion`] cuts the connection and counts.
//!
//! Nothing is printed here: a caller gets [`Line`]s while it runs and a [`Summary`] at its end.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | follow the whole run, its deadline and its cleaning up | `run.rs` |
//! | open host and link for a screen, and end them on every way out | `demo_host.rs` |
//! | see what happens beside the screen | `companion.rs` |
//! | change the throwaway host: server, keys, configuration | `host.rs` |
//! | change the sample work | `repository.rs` |
//! | change what the model says and does | `scenario.rs` |
//! | see how the way to the host is timed | `arrival.rs` |
//! | see when the connection is cut and when it counts as back | `turn.rs`, `outage.rs` |
//! | know what “lost” and “doubled” mean | [`Tally`] in `ledger.rs`, `check.rs` |
//! | see how the daemon is ended on every way out | `daemon.rs` |
//! | change what is shown | `narrator.rs`, `line.rs`, `summary.rs` |

mod arrival;
mod check;
mod companion;
mod daemon;
mod demo_host;
mod error;
mod host;
mod ledger;
mod line;
mod narrator;
mod options;
mod outage;
mod repository;
mod run;
mod scenario;
mod summary;
mod turn;

pub use companion::Companion;
pub use demo_host::DemoHost;
pub use error::DemoError;
pub use ledger::Tally;
pub use line::{Line, Topic};
pub use options::{Audience, DemoOptions};
pub use run::run;
pub use summary::{Stage, Summary};
