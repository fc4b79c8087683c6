//! What was said and done, oldest first, with its own scrolling.
//!
//! The pane is a list of cells in the order of the session's items. A cell is data; its lines are made when it comes
//! into sight, for one width, and kept until it changes. What is out of sight costs nothing, so neither a key nor a
//! word of the model costs more in a long session than in a short one.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | change how an item looks | `cells/` |
//! | change what an event changes | `model.rs` |
//! | change scrolling | `scroll.rs`, `update.rs` |
//! | change what is kept of drawn lines | `wrap_cache.rs` |

mod cells;
mod look;
mod model;
mod scroll;
mod update;
mod view;
mod wrap_cache;

#[cfg(test)]
mod tests;

pub(crate) use model::Transcript;
use protocol::CommandId;

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// The banner and what goes with it.
    Banner,
    /// Good to know.
    Info,
    /// Needs attention.
    Warning,
    /// Something failed.
    Error,
}

/// A line or more that only this screen knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) level: Level,
    pub(crate) text: String,
}

/// A submit that the agent has not confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueuedSubmit {
    pub(crate) id: CommandId,
    pub(crate) text: String,
    /// Whether it is on its way at this moment.
    pub(crate) is_sent: bool,
}

/// What can be done with the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TranscriptMsg {
    LineUp,
    LineDown,
    PageUp,
    PageDown,
    Top,
    Bottom,
    WheelUp,
    WheelDown,
    ToggleReasoning,
    ToggleOutput,
    Resize { width: u16, height: u16 },
}
