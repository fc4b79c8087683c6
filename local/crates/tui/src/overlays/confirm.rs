//! Yes or no.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::{buffer::Buffer, layout::Rect};
use tokio::sync::oneshot;

use super::{
    Decision, OverlayOutcome,
    dialog::{Dialog, Scroll},
};
use crate::theme::{Role, Theme};

/// Who waits for the answer.
#[derive(Debug)]
pub(crate) enum Asker {
    /// This screen: what a yes means.
    Screen(Decision),
    /// The link. Dropped, it is a no.
    Link(Option<oneshot::Sender<bool>>),
}

/// The dialog. Enter is a no, unless the question came from a key that was just pressed.
#[derive(Debug)]
pub(crate) struct Confirm {
    title: String,
    text: String,
    yes: String,
    asker: Asker,
    scroll: Scroll,
}

impl Confirm {
    /// Asks what this screen wants to know; `yes` says what yes does.
    pub(crate) fn screen(title: &str, text: &str, yes: &str, decision: Decision) -> Self {
        Self {
            title: title.to_owned(),
            text: text.to_owned(),
            yes: yes.to_owned(),
            asker: Asker::Screen(decision),
            scroll: Scroll::default(),
        }
    }

    /// Asks what the link wants to know.
    pub(crate) fn link(text: String, answer: oneshot::Sender<bool>) -> Self {
        Self {
            title: "Continue?".to_owned(),
            text,
            yes: "yes".to_owned(),
            asker: Asker::Link(Some(answer)),
            scroll: Scroll::default(),
        }
    }

    /// Says whether nobody waits for the answer any more.
    pub(crate) fn is_moot(&self) -> bool {
        match &self.asker {
            Asker::Screen(_) => false,
            Asker::Link(answer) => answer.as_ref().is_none_or(oneshot::Sender::is_closed),
        }
    }

    /// Gives what a yes means to this screen.
    pub(crate) fn decision(&self) -> Option<&Decision> {
        match &self.asker {
            Asker::Screen(decision) => Some(decision),
            Asker::Link(_) => None,
        }
    }

    pub(crate) fn update(&mut self, key: KeyEvent) -> OverlayOutcome {
        let yes = match key.code {
            KeyCode::Char('y' | 'Y' | '1') => true,
            KeyCode::Char('n' | 'N' | '2') | KeyCode::Esc | KeyCode::Enter => false,
            _ => {
                self.scroll.update(key);
                return OverlayOutcome::Open;
            }
        };
        match &mut self.asker {
            Asker::Screen(decision) if yes => OverlayOutcome::Decided(decision.clone()),
            Asker::Screen(_) => OverlayOutcome::Closed,
            Asker::Link(answer) => {
                if let Some(answer) = answer.take() {
                    // Who gave up meanwhile does not need it.
                    let _gave_up = answer.send(yes);
                }
                OverlayOutcome::Closed
            }
        }
    }

    pub(crate) fn view(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        self.dialog().view(&self.scroll, theme, area, buffer);
    }

    pub(crate) fn dialog(&self) -> Dialog {
        Dialog::new(&self.title, Role::Warning)
            .say(Role::Text, &self.text)
            .key("y", &self.yes)
            .key("n", "no (also Enter, Esc)")
    }
}
