//! Questions of the model, one after the other.

use crossterm::event::{KeyCode, KeyEvent};
use protocol::{Answer, OpenPrompt, Question, Reply};
use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
};

use super::{
    Decision, OverlayOutcome,
    dialog::{Dialog, Scroll},
    input::Input,
    secret::Field,
};
use crate::theme::{Role, Theme};

/// The dialog.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) prompt: OpenPrompt,
    replies: Vec<Reply>,
    /// The focused row of the question at hand; the one behind the options is for own words.
    row: usize,
    chosen: Vec<bool>,
    words: Input,
    scroll: Scroll,
}

impl Ask {
    pub(crate) fn new(prompt: OpenPrompt) -> Self {
        let mut ask = Self {
            prompt,
            replies: Vec::new(),
            row: 0,
            chosen: Vec::new(),
            words: Input::new(),
            scroll: Scroll::default(),
        };
        ask.begin();
        ask
    }

    fn question(&self) -> Option<&Question> {
        self.prompt.kind.questions().get(self.replies.len())
    }

    fn begin(&mut self) {
        let options = self.question().map_or(0, |question| question.options.len());
        self.row = 0;
        self.chosen = vec![false; options];
        self.words = Input::new();
        self.scroll = Scroll::default();
    }

    /// Says whether own words can be typed now.
    fn is_typing(&self) -> bool {
        self.row == self.chosen.len() && self.takes_words()
    }

    fn takes_words(&self) -> bool {
        self.question()
            .is_some_and(|question| question.free_text || question.options.is_empty())
    }

    pub(crate) fn paste(&mut self, text: &str) {
        if self.takes_words() {
            self.row = self.chosen.len();
            self.words.paste(text);
        }
    }

    pub(crate) fn update(&mut self, key: KeyEvent) -> OverlayOutcome {
        let rows = self.chosen.len() + usize::from(self.takes_words());
        match key.code {
            KeyCode::Esc => {
                return OverlayOutcome::Decided(Decision::Answer(self.prompt.id, Answer::Deny));
            }
            KeyCode::Enter => return self.answer(),
            KeyCode::Up | KeyCode::BackTab => self.row = (self.row + rows).saturating_sub(1) % rows.max(1),
            KeyCode::Down | KeyCode::Tab => self.row = (self.row + 1) % rows.max(1),
            _ if self.is_typing() => {
                if !self.words.update(key) {
                    self.scroll.update(key);
                }
            }
            KeyCode::Char('k') => self.row = (self.row + rows).saturating_sub(1) % rows.max(1),
            KeyCode::Char('j') => self.row = (self.row + 1) % rows.max(1),
            KeyCode::Char(' ') => self.toggle(),
            KeyCode::Char(digit @ '1'..='9') => {
                let index = usize::from(digit as u8 - b'1');
                if index < self.chosen.len() {
                    self.row = index;
                    if self.is_multiple() {
                        self.toggle();
                    } else {
                        return self.answer();
                    }
                }
            }
            _ => {
                self.scroll.update(key);
            }
        }
        OverlayOutcome::Open
    }

    fn is_multiple(&self) -> bool {
        self.question().is_some_and(|question| question.multi_select)
    }

    fn toggle(&mut self) {
        let multiple = self.is_multiple();
        if let Some(chosen) = self.chosen.get_mut(self.row) {
            let now = !*chosen;
            if !multiple {
                self.chosen.fill(false);
            }
            if let Some(chosen) = self.chosen.get_mut(self.row) {
                *chosen = now;
            }
        }
    }

    /// Takes the answer to the question at hand and goes on to the next one.
    fn answer(&mut self) -> OverlayOutcome {
        let Some(question) = self.question() else {
            return OverlayOutcome::Decided(Decision::Reply(self.prompt.id, self.replies.clone()));
        };
        let label = |index: usize| question.options.get(index).map(|option| option.label.clone());
        let mut chosen: Vec<String> = Vec::new();
        for (index, _) in self.chosen.iter().enumerate().filter(|(_, chosen)| **chosen) {
            chosen.extend(label(index));
        }
        if self.row < self.chosen.len() && (chosen.is_empty() || !question.multi_select) {
            chosen = label(self.row).into_iter().collect();
        }
        let words = self.words.text().trim().to_owned();
        let text = (self.is_typing() && !words.is_empty()).then_some(words);
        if text.is_some() && !question.multi_select {
            chosen.clear();
        }
        self.replies.push(Reply { chosen, text });
        if self.question().is_none() {
            return OverlayOutcome::Decided(Decision::Reply(self.prompt.id, self.replies.clone()));
        }
        self.begin();
        OverlayOutcome::Open
    }

    /// Gives the dialog with an empty field where there is one.
    pub(crate) fn dialog(&self) -> Dialog {
        let Some(question) = self.question() else {
            return Dialog::new("", Role::Accent);
        };
        let dialog = self.question_dialog(question);
        if self.takes_words() {
            dialog.quote(Role::Text, " ")
        } else {
            dialog
        }
    }

    fn question_dialog(&self, question: &Question) -> Dialog {
        let count = self.prompt.kind.questions().len();
        let title = match count {
            1 => question.header.clone(),
            _ => format!("{} ({} of {count})", question.header, self.replies.len() + 1),
        };
        let mut dialog = Dialog::new(&title, Role::Accent)
            .say(Role::Text, &question.text)
            .gap();
        for (index, option) in question.options.iter().enumerate() {
            let focused = index == self.row;
            let mark = match (question.multi_select, self.chosen.get(index)) {
                (true, Some(true)) => "[x] ",
                (true, _) => "[ ] ",
                (false, _) => "",
            };
            let pointer = if focused { "›" } else { " " };
            let role = if focused { Role::Accent } else { Role::Text };
            let label = richtext::safe_line(&option.label);
            dialog = dialog.say(role, &format!("{pointer} {} {mark}{label}", index + 1));
            if !option.description.is_empty() {
                let description = richtext::safe_line(&option.description);
                dialog = dialog.say(Role::Dim, &format!("    {description}"));
            }
        }
        let dialog = dialog.key("Enter", "answer");
        let dialog = match (question.options.is_empty(), question.multi_select) {
            (true, _) => dialog,
            (false, true) => dialog.key("Space", "choose").key("↑ ↓ 1-9", "move"),
            (false, false) => dialog.key("↑ ↓ 1-9", "choose"),
        };
        dialog.key("Esc", "do not answer")
    }

    pub(crate) fn view(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Option<Position> {
        let question = self.question()?;
        let dialog = self.question_dialog(question);
        if !self.takes_words() {
            dialog.view(&self.scroll, theme, area, buffer);
            return None;
        }
        let pointer = if self.is_typing() { "›" } else { " " };
        let field = Field {
            label: format!("{pointer} in your own words: "),
            text: richtext::safe_line(self.words.text()),
        };
        let cursor = field.view(dialog, &self.scroll, theme, area, buffer);
        cursor.filter(|_| self.is_typing())
    }
}
