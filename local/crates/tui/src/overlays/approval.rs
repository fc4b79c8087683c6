//! May this call run?

use crossterm::event::{KeyCode, KeyEvent};
use protocol::{Answer, OpenPrompt};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    Decision, OverlayOutcome,
    dialog::{Dialog, Scroll},
};
use crate::theme::{Role, Theme};

/// The dialog.
#[derive(Debug)]
pub(crate) struct Approval {
    pub(crate) prompt: OpenPrompt,
    scroll: Scroll,
}

impl Approval {
    pub(crate) fn new(prompt: OpenPrompt) -> Self {
        Self {
            prompt,
            scroll: Scroll::default(),
        }
    }

    pub(crate) fn update(&mut self, key: KeyEvent) -> OverlayOutcome {
        let answer = match key.code {
            KeyCode::Char('y' | 'Y' | '1') | KeyCode::Enter => Answer::AllowOnce,
            KeyCode::Char('a' | 'A' | '2') if self.prompt.scope.is_some() => Answer::AllowSession,
            KeyCode::Char('n' | 'N' | '3') | KeyCode::Esc => Answer::Deny,
            _ => {
                self.scroll.update(key);
                return OverlayOutcome::Open;
            }
        };
        OverlayOutcome::Decided(Decision::Answer(self.prompt.id, answer))
    }

    pub(crate) fn view(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        self.dialog().view(&self.scroll, theme, area, buffer);
    }

    pub(crate) fn dialog(&self) -> Dialog {
        let prompt = &self.prompt;
        let title = format!("May {} run?", prompt.tool);
        let subject = richtext::reveal(&prompt.subject);
        let mut dialog = Dialog::new(&title, Role::Warning).quote(Role::Text, &subject);
        if !prompt.reason.is_empty() {
            dialog = dialog.gap().say(Role::Dim, &prompt.reason);
        }
        dialog = dialog.key("y", "once");
        if let Some(scope) = &prompt.scope {
            let scope = richtext::safe_line(&richtext::reveal(scope));
            let scope = richtext::truncate(&scope, 48);
            dialog = dialog.key("a", &format!("for this session: {scope}"));
        }
        dialog.key("n", "no").key("Ctrl-C", "stop the turn")
    }
}
