//! Everything that can happen to the screen.

use std::time::Instant;

use crossterm::event::{KeyEvent, MouseEvent};
use link::{BrokerState, LinkState};
use protocol::{CommandId, Frame, Item, Receipt, SessionId, SessionInfo, Snapshot};

use crate::{Question, overlays::PortsNews, panes::transcript::Level};

/// One thing that happened.
#[derive(Debug)]
pub(crate) enum Msg {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The mouse.
    Mouse(MouseEvent),
    /// The terminal has this size now, in cells.
    Resize(u16, u16),
    /// Something about a session.
    Session(SessionMsg),
    /// The link has this state now.
    Link(LinkState),
    /// Requests to the model that are made here stand like this.
    Broker(BrokerState),
    /// The link asks something.
    Question(Question),
    /// An effect has its result.
    Done(Done),
    /// Time has passed, for what moves.
    Tick,
}

/// What the session task tells. It names the session, since a person may have gone to another one meanwhile.
#[derive(Debug)]
pub(crate) struct SessionMsg {
    pub(crate) session: SessionId,
    pub(crate) news: SessionNews,
}

/// News of a session.
#[derive(Debug)]
pub(crate) enum SessionNews {
    /// The state as a whole.
    Replaced(Box<Snapshot>),
    /// What changed, in order.
    Frame(Box<Frame>),
    /// The stream broke off; it is taken up again by itself.
    Interrupted(client::Error),
    /// It was closed; nothing follows.
    Closed,
    /// It cannot be shown, and trying again would not help.
    Failed(client::Error),
}

/// What an effect brought.
#[derive(Debug)]
pub(crate) enum Done {
    /// A command has its receipt, or not.
    Command(CommandId, Result<Receipt, client::Error>),
    /// The sessions of the agent.
    Sessions(Result<Vec<SessionInfo>, client::Error>),
    /// Everything of a session that its snapshot left out, oldest first.
    Older(SessionId, Result<Vec<Item>, client::Error>),
    /// The forwards of the host as they are now, for the dialog of that instant.
    Ports(PortsNews, Instant),
    /// Something to tell the person.
    Told(Level, String),
}
