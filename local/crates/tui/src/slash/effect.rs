//! What a command asks of the screen.

use protocol::{Preset, SessionId};

use crate::Appearance;

/// What a command does; performed by the screen's update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Opens the help.
    Help,
    /// Opens a new session in the same workspace. The one of before goes on where it is.
    NewSession,
    /// Opens this session, or lets the person pick one.
    Sessions(Option<SessionId>),
    /// Shows the forwards of the host and what listens there.
    Ports,
    /// Empties the transcript on the screen; the session keeps everything.
    ClearScreen,
    /// Tells something.
    Show(Fact),
    /// Changes what may be done without asking.
    SetPreset(Preset),
    /// Copies an answer to the clipboard; 1 is the last one.
    Copy(usize),
    /// Dials now.
    RetryLink,
    /// Changes the colours.
    SetAppearance(Appearance),
    /// Shows long output whole or shortened.
    ToggleOutput,
    /// Shows or hides what the model thought.
    ToggleReasoning,
    /// Captures the mouse or leaves it to the terminal; `None` changes it.
    Mouse(Option<bool>),
    /// Writes the transcript as Markdown into a file of this machine; `None` chooses the name.
    Export(Option<String>),
    /// Leaves.
    Quit,
}

/// What can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fact {
    /// Host, workspace, link, session, model, preset.
    Status,
    /// Tokens used and what they cost.
    Cost,
    /// How full the model's context window is.
    Context,
    /// The preset in force and what it permits.
    Permissions,
    /// The requests that wait.
    Queue,
    /// The colours in force.
    Appearance,
}
