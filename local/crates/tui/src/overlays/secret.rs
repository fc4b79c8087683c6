//! A password, a passphrase or a one-time code, typed without being shown.

use crossterm::event::{KeyCode, KeyEvent};
use link::{SecretKind, SecretQuestion};
use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
};
use stdx::Secret;
use tokio::sync::oneshot;

use super::{
    OverlayOutcome,
    dialog::{Dialog, Scroll},
    input::Input,
};
use crate::theme::{Role, Theme};

/// The dialog. Dropping it refuses.
#[derive(Debug)]
pub(crate) struct SecretDialog {
    question: SecretQuestion,
    answer: Option<oneshot::Sender<Option<Secret>>>,
    input: Input,
    scroll: Scroll,
}

impl SecretDialog {
    pub(crate) fn new(question: SecretQuestion, answer: oneshot::Sender<Option<Secret>>) -> Self {
        Self {
            question,
            answer: Some(answer),
            input: Input::new(),
            scroll: Scroll::default(),
        }
    }

    /// Says whether nobody waits for the answer any more.
    pub(crate) fn is_moot(&self) -> bool {
        self.answer.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    /// Says whether something is typed that was not sent.
    pub(crate) fn is_begun(&self) -> bool {
        !self.input.text().is_empty()
    }

    pub(crate) fn paste(&mut self, text: &str) {
        self.input.paste(text);
    }

    pub(crate) fn update(&mut self, key: KeyEvent) -> OverlayOutcome {
        match key.code {
            KeyCode::Enter => self.send(|input| Some(Secret::new(input.take()))),
            KeyCode::Esc => self.send(|_| None),
            _ => {
                if !self.input.update(key) {
                    self.scroll.update(key);
                }
                OverlayOutcome::Open
            }
        }
    }

    fn send(&mut self, secret: impl FnOnce(&mut Input) -> Option<Secret>) -> OverlayOutcome {
        if let Some(answer) = self.answer.take() {
            // Who gave up meanwhile does not need it.
            drop(answer.send(secret(&mut self.input)));
        }
        OverlayOutcome::Closed
    }

    /// Gives the dialog with an empty field, which takes a row whatever is in it.
    pub(crate) fn dialog(&self) -> Dialog {
        self.question_dialog().quote(Role::Text, " ")
    }

    fn question_dialog(&self) -> Dialog {
        let question = &self.question;
        let host = &question.host;
        let (title, wrong) = match &question.kind {
            SecretKind::Password => (format!("Password for {host}"), "The last password was wrong."),
            SecretKind::Passphrase { .. } => (
                format!("Passphrase of a key for {host}"),
                "The last passphrase was wrong.",
            ),
            SecretKind::Challenge => (
                format!("{host} asks"),
                "The host asks again; the last answer may have been wrong.",
            ),
        };
        let mut dialog = Dialog::new(&title, Role::Accent);
        if question.round > 1 {
            dialog = dialog.say(Role::Error, wrong);
        }
        if let SecretKind::Passphrase { file } = &question.kind {
            dialog = dialog.say(Role::Dim, &file.display().to_string());
        }
        dialog
            .say(Role::Text, &question.instructions)
            .key("Enter", "answer")
            .key("Esc", "do not log in")
    }

    /// Gives what stands before the input.
    fn label(&self) -> String {
        let label = richtext::safe_line(&self.question.label);
        let label = label.trim().trim_end_matches(':');
        let label = if label.is_empty() { "Answer" } else { label };
        format!("{}: ", richtext::truncate(label, 40))
    }

    fn shown(&self) -> String {
        let typed = self.input.text();
        if self.question.echo {
            richtext::safe_line(typed)
        } else {
            "•".repeat(typed.chars().count())
        }
    }

    pub(crate) fn view(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Option<Position> {
        let field = Field {
            label: self.label(),
            text: self.shown(),
        };
        field.view(self.question_dialog(), &self.scroll, theme, area, buffer)
    }
}

/// A dialog whose last line is typed into.
pub(crate) struct Field {
    pub(crate) label: String,
    pub(crate) text: String,
}

impl Field {
    /// Draws the dialog and the field, and gives where the cursor is.
    pub(crate) fn view(
        self,
        dialog: Dialog,
        scroll: &Scroll,
        theme: &Theme,
        area: Rect,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let room = usize::from(area.width.saturating_sub(6)).saturating_sub(richtext::width(&self.label));
        // The end of the text is what is being typed.
        let mut text = self.text.as_str();
        while richtext::width(text) > room {
            let next = text.chars().next().map_or(text.len(), char::len_utf8);
            text = &text[next..];
        }
        let line = format!("{}{text}", self.label);
        let drawn = dialog.quote(Role::Text, &line).view(scroll, theme, area, buffer);
        let row = u16::try_from(drawn.rows.checked_sub(1)?).ok()?;
        let x = drawn.text.x + u16::try_from(richtext::width(&line)).ok()?;
        let y = drawn.text.y + row;
        let inside = x < drawn.text.right() && y < drawn.text.bottom();
        inside.then(|| Position::new(x, y))
    }
}
