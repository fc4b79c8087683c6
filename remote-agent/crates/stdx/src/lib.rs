//! Small extensions of the standard library that every other crate may use.
//!
//! Nothing here knows about agents, models or the wire. The crate is the only place (beside the two composition
//! roots) that may start tasks, start processes and read clocks; everything else goes through it, so that ownership,
//! scrubbed environments and testable time do not depend on memory.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | start a task that somebody owns | [`task`] |
//! | start a process with a clean environment | [`process`] |
//! | know what time it is | [`clock`] |
//! | wait until something is going on, or nothing | [`gauge`] |
//! | hold a secret so that it does not print | [`secret`] |
//! | replace a file so that a crash leaves the old or the new one | [`atomic_write`] |
//! | cut text at a character boundary | [`bounded`] |
//! | know which ports of this machine somebody listens on | [`listening`] |
//! | have a temporary folder that a kill does not leave behind for ever | [`private_folder`] |
//! | take a path that is known to be absolute | [`abs_path`] |

pub mod abs_path;
pub mod atomic_write;
pub mod bounded;
pub mod clock;
pub mod gauge;
pub mod listening;
pub mod private_folder;
pub mod process;
pub mod secret;
pub mod task;

pub use abs_path::AbsPath;
pub use gauge::Gauge;
pub use private_folder::PrivateFolder;
pub use secret::Secret;
