//! What the screen is told at its start, and what it tells at its end.

use std::path::PathBuf;

use protocol::{OpenSession, SessionId};

use crate::theme::Appearance;

/// What the screen needs to know.
#[derive(Debug, Clone)]
pub struct TuiOptions {
    /// The session to show first.
    pub opening: Opening,
    /// What stands in the composer at the start, to be sent by the person.
    pub draft: String,
    /// Where typed prompts are kept between starts; `None` keeps them for this run only.
    pub history_file: Option<PathBuf>,
    /// The version shown in the banner.
    pub version: String,
    /// A line or two below the banner, such as what the demo is about.
    pub introduction: String,
    /// How colours are chosen; [`Appearance::Plain`] where `NO_COLOR` is set.
    pub appearance: Appearance,
    /// The command that comes back to a session, to which its id is appended; empty where there is none.
    pub way_back: String,
    /// Whether the mouse is captured (wheel scrolls; selecting text then needs Shift).
    pub mouse: bool,
}

/// The session to show first.
#[derive(Debug, Clone)]
pub enum Opening {
    /// A new one. A workspace that is `None` is the one of the link's host.
    New(OpenSession),
    /// One that exists.
    Resume(SessionId),
    /// Let the person pick.
    Pick,
}

/// How the screen ended. The terminal is as it was before.
#[derive(Debug, Clone)]
pub struct Ending {
    /// The session that was shown last, if one was open.
    pub session: Option<SessionId>,
    /// Whether a turn still runs there.
    pub is_working: bool,
    /// Submits that were typed and could not be delivered.
    pub undelivered: usize,
    /// What ended it.
    pub why: Why,
    /// The end of the transcript as plain lines, for the normal screen.
    pub tail: Vec<String>,
}

/// What ended the screen.
#[derive(Debug, Clone)]
pub enum Why {
    /// The person left.
    Quit,
    /// SIGTERM or SIGHUP, or the terminal is gone.
    Signal,
    /// The person left because the link failed for this reason.
    Failed(link::Error),
}
