//! Forwards of the host, how they are doing, and what listens there and is not forwarded.

mod view;

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent};
use link::{RuleId, RuleSnapshot};
use protocol::ListeningPort;

use super::{Decision, OverlayOutcome, input::Input};
use crate::keymap::{Keymap, ListKey};

/// What is wanted of the host's forwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PortsAsk {
    /// Look what there is.
    Look,
    /// Open this rule.
    Add(String),
    /// End this one.
    Remove(RuleId),
}

/// What there is.
#[derive(Debug)]
pub(crate) struct PortsNews {
    /// The forwards.
    pub(crate) forwards: Vec<RuleSnapshot>,
    /// What listens on the host; `None` where the agent cannot tell, an error where it could not be asked.
    pub(crate) ports: Result<Option<Vec<ListeningPort>>, String>,
    /// What became of what was wanted, unless it was only a look.
    pub(crate) said: Option<Said>,
}

/// What became of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// It was done.
    Done(String),
    /// It was not done: why, what to do, and a rule that would do.
    Refused {
        message: String,
        hint: Option<String>,
        instead: Option<String>,
    },
}

/// The dialog.
#[derive(Debug)]
pub(crate) struct Ports {
    host: String,
    /// When it was opened: tells its looks from those of a dialog that was closed.
    pub(crate) opened: Instant,
    /// Nothing is known until the first look.
    news: Option<PortsNews>,
    /// What became of the last thing that was wanted.
    said: Option<Said>,
    /// Index into forwards, then ports.
    at: usize,
    /// A rule that is being typed.
    input: Option<Input>,
    keymap: Keymap,
}

/// What a row is.
#[derive(Debug, Clone, Copy)]
enum Entry<'a> {
    Forward(&'a RuleSnapshot),
    Port(&'a ListeningPort),
}

impl Ports {
    pub(crate) fn new(host: &str, opened: Instant) -> Self {
        Self {
            host: richtext::safe_line(host),
            opened,
            news: None,
            said: None,
            at: 0,
            input: None,
            keymap: Keymap::default(),
        }
    }

    /// Takes what there is now.
    pub(crate) fn take(&mut self, mut news: PortsNews) {
        if let Some(said) = news.said.take() {
            if let Said::Refused {
                instead: Some(rule), ..
            } = &said
            {
                let mut input = Input::new();
                input.paste(rule);
                self.input = Some(input);
            }
            self.said = Some(said);
        }
        self.news = Some(news);
        self.at = self.at.min(self.entries().len().saturating_sub(1));
    }

    /// Takes a key.
    pub(crate) fn update(&mut self, key: KeyEvent) -> OverlayOutcome {
        match self.input {
            Some(_) => self.typed(key),
            None => self.pressed(key),
        }
    }

    /// Takes pasted text: a rule begins to be typed.
    pub(crate) fn paste(&mut self, text: &str) {
        self.input.get_or_insert_with(Input::new).paste(text);
    }

    fn typed(&mut self, key: KeyEvent) -> OverlayOutcome {
        let Some(input) = &mut self.input else {
            return OverlayOutcome::Open;
        };
        match key.code {
            KeyCode::Esc => self.input = None,
            KeyCode::Enter => {
                let rule = input.take();
                self.input = None;
                let rule = rule.trim();
                if !rule.is_empty() {
                    return self.wants(PortsAsk::Add(rule.to_owned()));
                }
            }
            _ => {
                input.update(key);
            }
        }
        OverlayOutcome::Open
    }

    fn pressed(&mut self, key: KeyEvent) -> OverlayOutcome {
        let last = self.entries().len().saturating_sub(1);
        let movement = match key.code {
            KeyCode::Char('j') => Some(ListKey::Down),
            KeyCode::Char('k') => Some(ListKey::Up),
            _ => self.keymap.list(key),
        };
        self.at = match movement {
            Some(ListKey::Close) => return OverlayOutcome::Closed,
            Some(ListKey::Up) => self.at.saturating_sub(1),
            Some(ListKey::Down) => (self.at + 1).min(last),
            Some(ListKey::First | ListKey::PageUp) => 0,
            Some(ListKey::Last | ListKey::PageDown) => last,
            Some(ListKey::Accept) | None => self.at,
        };
        let chosen = match (movement, key.code, self.entries().get(self.at)) {
            (Some(ListKey::Accept), _, Some(Entry::Port(port))) => PortsAsk::Add(link::rule_for(port)),
            (_, KeyCode::Char('d') | KeyCode::Delete, Some(Entry::Forward(rule))) => {
                PortsAsk::Remove(rule.id)
            }
            (_, KeyCode::Char('a'), _) => {
                self.input = Some(Input::new());
                return OverlayOutcome::Open;
            }
            _ => return OverlayOutcome::Open,
        };
        self.wants(chosen)
    }

    fn wants(&mut self, ask: PortsAsk) -> OverlayOutcome {
        self.said = None;
        OverlayOutcome::Asked(Decision::Ports(ask))
    }

    /// Gives the rows that can be chosen, forwards first.
    fn entries(&self) -> Vec<Entry<'_>> {
        let Some(news) = &self.news else {
            return Vec::new();
        };
        let ports = news.ports.as_ref().ok().and_then(Option::as_ref);
        let forwards = news.forwards.iter().map(Entry::Forward);
        forwards
            .chain(ports.into_iter().flatten().map(Entry::Port))
            .collect()
    }
}

#[cfg(test)]
mod tests;
