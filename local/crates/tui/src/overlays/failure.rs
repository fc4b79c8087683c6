//! Something a person has to decide about: what failed, in one sentence, and what can be done now.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    Decision, OverlayOutcome,
    dialog::{Dialog, Scroll},
};
use crate::theme::{Role, Theme};

/// What failed.
#[derive(Debug, Clone)]
pub(crate) enum Cause {
    /// The link.
    Link(link::Error),
    /// Showing a session.
    Session(client::Error),
}

/// The dialog.
#[derive(Debug)]
pub(crate) struct Failure {
    cause: Cause,
    scroll: Scroll,
}

impl Failure {
    pub(crate) fn new(cause: Cause) -> Self {
        Self {
            cause,
            scroll: Scroll::default(),
        }
    }

    /// Says whether it is the link that failed.
    pub(crate) fn is_about_link(&self) -> bool {
        matches!(self.cause, Cause::Link(_))
    }

    pub(crate) fn update(&mut self, key: KeyEvent) -> OverlayOutcome {
        let decision = match (key.code, &self.cause) {
            (KeyCode::Char('r' | 'R' | '1'), Cause::Link(_)) => Decision::RetryLink,
            (KeyCode::Char('r' | 'R' | '1'), Cause::Session(..)) => Decision::RetrySession,
            (KeyCode::Char('n' | 'N'), Cause::Session(..)) => Decision::NewSession,
            (KeyCode::Char('q' | 'Q' | '2'), _) => Decision::Leave,
            (KeyCode::Char('o' | 'O' | '3') | KeyCode::Esc, _) => return OverlayOutcome::Closed,
            _ => {
                self.scroll.update(key);
                return OverlayOutcome::Open;
            }
        };
        OverlayOutcome::Decided(decision)
    }

    pub(crate) fn view(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        self.dialog().view(&self.scroll, theme, area, buffer);
    }

    pub(crate) fn dialog(&self) -> Dialog {
        let (title, hint, details, causes) = match &self.cause {
            Cause::Link(error) => {
                let title = format!("No connection to {}", error.host());
                (title, error.hint(), error.details(), causes(error))
            }
            Cause::Session(error) => {
                let hint = error.hint().map(str::to_owned);
                (
                    "This session cannot be shown".to_owned(),
                    hint,
                    Vec::new(),
                    causes(error),
                )
            }
        };
        let mut dialog = Dialog::new(&title, Role::Error);
        for (depth, cause) in causes.iter().enumerate() {
            let role = if depth == 0 { Role::Text } else { Role::Dim };
            dialog = dialog.say(role, &sentence(cause));
        }
        if !details.is_empty() {
            dialog = dialog.gap().quote(Role::Dim, &details.join("\n"));
        }
        if let Some(hint) = hint {
            dialog = dialog.gap().say(Role::Accent, &format!("hint: {hint}"));
        }
        dialog = dialog.key("r", "try again");
        if matches!(self.cause, Cause::Session(..)) {
            dialog = dialog.key("n", "new session");
        }
        dialog.key("q", "quit").key("o", "stay and read (also Esc)")
    }
}

/// Gives the message of an error and of what lies behind it.
fn causes(error: &dyn std::error::Error) -> Vec<String> {
    let mut messages = vec![error.to_string()];
    let mut next = error.source();
    while let Some(source) = next {
        messages.push(source.to_string());
        next = source.source();
    }
    messages
}

/// Makes a message a sentence: errors begin in lower case, as they are parts of longer lines elsewhere.
pub(crate) fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
