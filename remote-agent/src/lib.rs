//! The whole agent: open it, and serve it over any byte stream or as a daemon.
//!
//! This is the composition root of the agent's side: the only place there that reads settings, the environment and
//! the home directory. Local-only use opens an [`Agent`] in the same process and talks to it through a pipe
//! ([`Agent::connect`]); a host runs [`daemon::serve`].
//!
//! | I want to… | Open |
//! | --- | --- |
//! | see how settings become sessions | `assemble/` |
//! | change how the daemon starts, ends, or is found | [`daemon`], [`detach`], [`run_dir`] |
//! | change what a client is told about this process | [`identity`] |
//! | change which environment tools get | [`environment`] |
//! | see what `reasonix bridge` does | [`bridge`] |
//! | change the agent that lives on one connection | [`attached`] |

mod agent;
mod assemble;
pub mod attached;
pub mod bridge;
pub mod daemon;
pub mod detach;
pub mod environment;
mod guard;
pub mod identity;
pub mod run_dir;
mod run_lock;
pub mod socket;

pub use agent::{Agent, AgentOptions, OpenError};
pub use assemble::{ModelTrouble, check_model};
pub use guard::guard;
