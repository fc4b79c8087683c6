//! Is this the host? Asked for a key that no known-hosts file has.

use crossterm::event::{KeyCode, KeyEvent};
use link::{HostKeyAnswer, HostKeyQuestion};
use ratatui::{buffer::Buffer, layout::Rect};
use tokio::sync::oneshot;

use super::{
    OverlayOutcome,
    dialog::{Dialog, Scroll},
};
use crate::theme::{Role, Theme};

/// The dialog. Dropping it refuses.
#[derive(Debug)]
pub(crate) struct HostKeyDialog {
    question: HostKeyQuestion,
    answer: Option<oneshot::Sender<HostKeyAnswer>>,
    scroll: Scroll,
}

impl HostKeyDialog {
    pub(crate) fn new(question: HostKeyQuestion, answer: oneshot::Sender<HostKeyAnswer>) -> Self {
        Self {
            question,
            answer: Some(answer),
            scroll: Scroll::default(),
        }
    }

    /// Says whether nobody waits for the answer any more.
    pub(crate) fn is_moot(&self) -> bool {
        self.answer.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    pub(crate) fn update(&mut self, key: KeyEvent) -> OverlayOutcome {
        let decision = match key.code {
            // Not `y`: who types `yes`, as OpenSSH wants it, would leave `es` and Enter for the composer.
            KeyCode::Char('r' | 'R' | '1') => HostKeyAnswer::Remember,
            KeyCode::Char('o' | 'O' | '2') => HostKeyAnswer::Once,
            // Enter too: trusting a host takes a deliberate key.
            KeyCode::Char('n' | 'N' | '3') | KeyCode::Esc | KeyCode::Enter => HostKeyAnswer::Refuse,
            _ => {
                self.scroll.update(key);
                return OverlayOutcome::Open;
            }
        };
        if let Some(answer) = self.answer.take() {
            // Who gave up meanwhile does not need it.
            let _gave_up = answer.send(decision);
        }
        OverlayOutcome::Closed
    }

    pub(crate) fn view(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        self.dialog().view(&self.scroll, theme, area, buffer);
    }

    pub(crate) fn dialog(&self) -> Dialog {
        let question = &self.question;
        let title = format!("Is this {}?", question.host);
        let role = if question.known_otherwise.is_empty() {
            Role::Accent
        } else {
            Role::Warning
        };
        let known_as = format!(
            "No known-hosts file has this key of {}. Compare it with what the host's owner gives:",
            question.listed_as
        );
        let key = format!("{}  {}", question.algorithm, question.fingerprint);
        let mut dialog = Dialog::new(&title, role)
            .say(Role::Text, &known_as)
            .quote(Role::Accent, &key);
        if !question.known_otherwise.is_empty() {
            let warning = "Other keys of this host are known. A host that shows a new kind of key may be another \
                           machine in its place.";
            dialog = dialog.gap().say(Role::Warning, warning);
            for known in &question.known_otherwise {
                let line = format!(
                    "{}  {}  {}:{}",
                    known.algorithm,
                    known.fingerprint,
                    known.file.display(),
                    known.line
                );
                dialog = dialog.quote(Role::Dim, &line);
            }
        }
        dialog
            .key("r", "trust and remember")
            .key("o", "trust once")
            .key("n", "refuse (also Enter, Esc)")
    }
}
