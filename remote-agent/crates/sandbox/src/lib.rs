//! Runs commands confined, in a session of their own, with bounded output.
//!
//! The crate knows how a command is started, watched and ended, never why. Policy comes in as [`Policy`], the
//! program as [`Command`], and everything that happened comes back as [`Outcome`].
//!
//! | I want to… | Open |
//! | --- | --- |
//! | know what a command may touch | [`Policy`] (`policy.rs`), `layers.rs` and `bubblewrap.rs` for how it is enforced |
//! | see which enforcement this host has | [`Backend`] (`backend.rs`) |
//! | see why git works in a linked worktree | `git_dirs.rs` |
//! | change what a child's environment holds | [`Environment`] (`environment.rs`) |
//! | change how output is kept or cut | [`Output`] (`capture.rs`) |
//! | follow a command while it runs | [`LiveOutput`] (`live.rs`) |
//! | see how a command is watched and ended | `supervise.rs`, `kill.rs` |
//! | see who ends commands when the process is killed | [`Guard`] (`guard.rs`), its process in `watchdog.rs` |
//! | open a terminal for the user | [`LoginShell`] (`terminal.rs`) |
//! | stop what commands left behind | [`Sandbox::stop_background`] (`jobs.rs`) |
//!
//! Absences: no setting is read, no process is started without a group of its own, and a command that should be
//! confined never runs open because confinement is missing.

mod backend;
mod bubblewrap;
mod capture;
mod command;
mod environment;
mod error;
mod git_dirs;
mod guard;
mod jobs;
mod kill;
mod layers;
mod live;
mod locale;
mod outcome;
mod platform;
mod policy;
mod session;
mod supervise;
mod terminal;
mod watchdog;

pub use backend::Backend;
pub use capture::{Output, OutputLimits, Rendered};
pub use command::{Command, RunOptions, Shell};
pub use environment::Environment;
pub use error::SandboxError;
pub use guard::{GUARD_FOLDER, Guard, GuardProgram};
pub use jobs::BackgroundGroup;
pub use live::LiveOutput;
pub use locale::Locales;
pub use outcome::{Background, End, Outcome};
pub use platform::ProcessInfo;
pub use policy::{Mode, Network, Policy};
pub use session::{PRIVATE_TMP, Sandbox, SandboxOptions};
pub use terminal::{LoginShell, Master, Terminal, TerminalOptions};
pub use watchdog::{end_listed, guard_processes};
