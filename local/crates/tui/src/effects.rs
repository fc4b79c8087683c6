//! What the screen wants done outside of itself.

use std::time::{Duration, Instant};

use protocol::{CommandRequest, SessionId};

use crate::{Why, overlays::PortsAsk, session_task::Wanted};

/// One thing to do. Results come back as messages.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    /// Open or resume a session and follow it; the one of before is left.
    Follow(Wanted),
    /// Send a command to a session.
    Send(SessionId, CommandRequest),
    /// List the sessions.
    ListSessions,
    /// Fetch what the snapshot of a session left out: so many items.
    Older(SessionId, u64),
    /// Look at, or change, the forwards of the host, after so long. The instant tells which dialog asked.
    Ports(PortsAsk, Duration, Instant),
    /// Dial now.
    Retry,
    /// Put a text into the clipboard of the person's terminal.
    Copy(String),
    /// Add a prompt to the history file.
    Remember(String),
    /// Write a text to a file of this machine.
    Export(Option<String>, String),
    /// Capture the mouse or not.
    Mouse(bool),
    /// Draw everything anew.
    Redraw,
    /// Give the terminal back to the shell until the process is continued.
    Suspend,
    /// Leave.
    Quit(Why),
}
