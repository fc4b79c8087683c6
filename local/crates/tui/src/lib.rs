//! The terminal front end: a model, an update and a view per pane.
//!
//! ```text
//! terminal, session, link, questions, timers ─► Msg ─► update(model) ─► effects ─► runner ─► Msg
//!                                                        │
//!                                                        └─► view(model) ─► changed cells
//! ```
//!
//! Nothing here waits: `update` is synchronous and pure, only the effect runner awaits. The state of the session is
//! the agent's; this crate shows a projection of it and can throw that away.

mod app;
mod effects;
mod error;
mod interrupt;
mod keymap;
mod model;
mod msg;
mod older;
mod options;
mod outbox;
mod overlays;
mod pace;
mod panes;
mod ports_task;
mod questions;
mod runner;
mod session;
mod session_task;
mod signals;
mod slash;
#[cfg(any(test, feature = "testing"))]
pub mod stage;
mod terminal;
#[cfg(test)]
mod testing;
mod theme;
mod update;
mod view;

pub use app::run;
pub use error::Error;
pub use options::{Ending, Opening, TuiOptions, Why};
pub use questions::{Question, Questions, questions};
pub use theme::Appearance;
