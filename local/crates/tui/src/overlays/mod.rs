//! Dialogs in front of the panes, as one stack. Adding one adds a file and a variant.

mod approval;
mod ask;
mod confirm;
mod dialog;
mod failure;
pub(crate) mod help;
mod host_key;
mod input;
pub(crate) mod picker;
mod ports;
mod secret;
mod stack;

use crossterm::event::KeyEvent;
use protocol::{Answer, Preset, PromptId, Reply, SessionId};
use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
};

pub(crate) use self::{
    approval::Approval,
    ask::Ask,
    confirm::Confirm,
    failure::{Cause, Failure, sentence},
    host_key::HostKeyDialog,
    ports::{Ports, PortsAsk, PortsNews, Said},
    secret::SecretDialog,
    stack::Overlays,
};
use self::{help::Help, picker::Picker};
use crate::theme::Theme;

/// A dialog.
#[derive(Debug)]
pub(crate) enum Overlay {
    /// May a call run?
    Approval(Approval),
    /// The model asks something.
    Ask(Ask),
    /// The link asks whether a host is who it says.
    HostKey(HostKeyDialog),
    /// The link asks for a secret.
    Secret(SecretDialog),
    /// Yes or no.
    Confirm(Confirm),
    /// Something failed and a person has to act.
    Failure(Failure),
    /// The sessions of the agent.
    Sessions(Picker<SessionId>),
    /// The forwards of the host and what listens there.
    Ports(Box<Ports>),
    /// The keys and commands.
    Help(Help),
}

/// What a key did to a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OverlayOutcome {
    /// It stays.
    Open,
    /// It goes, and nothing follows.
    Closed,
    /// It goes, and this was decided.
    Decided(Decision),
    /// It stays, and this is wanted.
    Asked(Decision),
}

/// What a person decided in a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Answer a request for approval, or refuse to answer a question.
    Answer(PromptId, Answer),
    /// Answer a question.
    Reply(PromptId, Vec<Reply>),
    /// Change what may be done without asking.
    Preset(Preset),
    /// Show this session.
    Session(SessionId),
    /// Show a new session.
    NewSession,
    /// Ask for the shown session again.
    RetrySession,
    /// Dial now.
    RetryLink,
    /// Change the forwards of the host.
    Ports(PortsAsk),
    /// Leave.
    Leave,
}

impl Overlay {
    /// Takes a key.
    pub(crate) fn update(&mut self, key: KeyEvent) -> OverlayOutcome {
        match self {
            Self::Approval(dialog) => dialog.update(key),
            Self::Ask(dialog) => dialog.update(key),
            Self::HostKey(dialog) => dialog.update(key),
            Self::Secret(dialog) => dialog.update(key),
            Self::Confirm(dialog) => dialog.update(key),
            Self::Failure(dialog) => dialog.update(key),
            Self::Sessions(picker) => match picker.update(key) {
                picker::Outcome::Open => OverlayOutcome::Open,
                picker::Outcome::Closed => OverlayOutcome::Closed,
                picker::Outcome::Chosen(session) => OverlayOutcome::Decided(Decision::Session(session)),
            },
            Self::Ports(dialog) => dialog.update(key),
            Self::Help(help) => help.update(key),
        }
    }

    /// Takes pasted text, where something is typed.
    pub(crate) fn paste(&mut self, text: &str) {
        match self {
            Self::Ask(dialog) => dialog.paste(text),
            Self::Secret(dialog) => dialog.paste(text),
            Self::Sessions(picker) => picker.paste(text),
            Self::Ports(dialog) => dialog.paste(text),
            Self::Help(help) => help.paste(text),
            _ => {}
        }
    }

    /// Draws it into the whole area of the panes, and gives where the cursor is.
    pub(crate) fn view(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Option<Position> {
        match self {
            Self::Approval(dialog) => dialog.view(theme, area, buffer),
            Self::Ask(dialog) => return dialog.view(theme, area, buffer),
            Self::HostKey(dialog) => dialog.view(theme, area, buffer),
            Self::Secret(dialog) => return dialog.view(theme, area, buffer),
            Self::Confirm(dialog) => dialog.view(theme, area, buffer),
            Self::Failure(dialog) => dialog.view(theme, area, buffer),
            Self::Sessions(picker) => {
                picker.view(theme, area, buffer);
                return picker.cursor(area);
            }
            Self::Ports(dialog) => {
                dialog.view(theme, area, buffer);
                return dialog.cursor(area);
            }
            Self::Help(help) => {
                help.view(theme, area, buffer);
                return help.cursor(area);
            }
        }
        None
    }

    /// Gives how many rows it takes at the bottom of the screen, in the place of the composer; `None` when it covers
    /// everything.
    pub(crate) fn height(&self, width: u16) -> Option<u16> {
        let dialog = match self {
            Self::Approval(dialog) => dialog.dialog(),
            Self::Ask(dialog) => dialog.dialog(),
            Self::HostKey(dialog) => dialog.dialog(),
            Self::Secret(dialog) => dialog.dialog(),
            Self::Confirm(dialog) => dialog.dialog(),
            Self::Failure(dialog) => dialog.dialog(),
            Self::Sessions(_) | Self::Ports(_) | Self::Help(_) => return None,
        };
        Some(dialog.height(width))
    }

    /// Says whether nobody waits for its answer any more.
    fn is_moot(&self) -> bool {
        match self {
            Self::HostKey(dialog) => dialog.is_moot(),
            Self::Secret(dialog) => dialog.is_moot(),
            Self::Confirm(dialog) => dialog.is_moot(),
            _ => false,
        }
    }

    /// Says whether it appears without a key of the person, who may be typing something else at that moment.
    fn comes_by_itself(&self) -> bool {
        match self {
            Self::Approval(_) | Self::Ask(_) | Self::HostKey(_) | Self::Secret(_) | Self::Failure(_) => true,
            Self::Confirm(dialog) => dialog.decision().is_none(),
            Self::Sessions(_) | Self::Ports(_) | Self::Help(_) => false,
        }
    }

    /// Gives the question of the agent that it shows.
    pub(crate) fn prompt(&self) -> Option<PromptId> {
        match self {
            Self::Approval(dialog) => Some(dialog.prompt.id),
            Self::Ask(dialog) => Some(dialog.prompt.id),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;

/// A question for a password, with the end that waits for the answer.
#[cfg(test)]
pub(crate) fn sample_secret() -> (
    crate::Question,
    tokio::sync::oneshot::Receiver<Option<stdx::Secret>>,
) {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let question = link::SecretQuestion {
        kind: link::SecretKind::Password,
        host: "box".to_owned(),
        label: "me@box's password: ".to_owned(),
        instructions: String::new(),
        echo: false,
        round: 1,
    };
    (crate::Question::Secret(question, sender), receiver)
}
