//! The dialogs that are open: the last one is in front and gets every key.

use std::time::{Duration, Instant};

use crossterm::event::KeyEvent;

use super::{Decision, Overlay, OverlayOutcome, Ports};

/// How long a dialog that comes by itself has to be seen, with no key pressed, before keys count: what is typed
/// ahead never answers a question.
const SEEN: Duration = Duration::from_millis(300);
/// How long nothing may be typed, after the question for a secret went away while it was answered, before keys count
/// again: the rest of a password is no prompt.
const SECRET_CUT: Duration = Duration::from_millis(1500);

/// The stack.
#[derive(Debug, Default)]
pub(crate) struct Overlays {
    stack: Vec<Overlay>,
    /// Until when keys are taken for typing that was meant for something else.
    deaf: Option<Deaf>,
}

/// Keys do not count for a while.
#[derive(Debug, Clone, Copy)]
struct Deaf {
    until: Instant,
    /// How long it lasts after another key.
    pause: Duration,
}

impl Overlays {
    pub(crate) fn top(&self) -> Option<&Overlay> {
        self.stack.last()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Overlay> {
        self.stack.iter()
    }

    /// Puts a dialog in front.
    pub(crate) fn push(&mut self, overlay: Overlay, now: Instant) {
        self.stack.push(overlay);
        self.changed(now);
    }

    /// Puts a dialog behind all others, to be seen when they are gone.
    pub(crate) fn push_behind(&mut self, overlay: Overlay, now: Instant) {
        self.stack.insert(0, overlay);
        if self.stack.len() == 1 {
            self.changed(now);
        }
    }

    /// Says whether what is typed now was meant for something that is gone, or for what was there before a dialog.
    pub(crate) fn swallows(&mut self, now: Instant) -> bool {
        self.deaf = self.deaf.filter(|deaf| now < deaf.until);
        match &mut self.deaf {
            Some(deaf) => {
                deaf.until = now + deaf.pause;
                true
            }
            None => false,
        }
    }

    /// Gives a key to the dialog in front, and what was decided there.
    pub(crate) fn key(&mut self, key: KeyEvent, now: Instant) -> Option<Decision> {
        if self.swallows(now) {
            return None;
        }
        match self.stack.last_mut()?.update(key) {
            OverlayOutcome::Open => None,
            OverlayOutcome::Closed => {
                self.pop(now);
                None
            }
            OverlayOutcome::Asked(decision) => Some(decision),
            OverlayOutcome::Decided(decision) => {
                self.pop(now);
                Some(decision)
            }
        }
    }

    pub(crate) fn paste(&mut self, text: &str) {
        if let Some(overlay) = self.stack.last_mut() {
            overlay.paste(text);
        }
    }

    /// Gives the dialog about ports, if it is open.
    pub(crate) fn ports(&mut self) -> Option<&mut Ports> {
        self.stack.iter_mut().find_map(|overlay| match overlay {
            Overlay::Ports(dialog) => Some(dialog.as_mut()),
            _ => None,
        })
    }

    /// Takes away the dialog in front; what it asks is refused.
    pub(crate) fn pop(&mut self, now: Instant) {
        drop(self.stack.pop());
        self.changed(now);
    }

    /// Takes away what does not fit any more.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&Overlay) -> bool, now: Instant) {
        let before = self.stack.len();
        let cut = self
            .top()
            .is_some_and(|top| matches!(top, Overlay::Secret(dialog) if dialog.is_begun()) && !keep(top));
        self.stack.retain(keep);
        if self.stack.len() != before {
            self.changed(now);
        }
        if cut {
            self.be_deaf(SECRET_CUT, now);
        }
    }

    /// Takes away the dialogs whose asker gave up, and says whether there were any.
    pub(crate) fn drop_moot(&mut self, now: Instant) -> bool {
        let before = self.stack.len();
        self.retain(|overlay| !overlay.is_moot(), now);
        self.stack.len() != before
    }

    fn changed(&mut self, now: Instant) {
        let by_itself = self.stack.last().is_some_and(Overlay::comes_by_itself);
        let is_cut = |deaf: &Deaf| deaf.pause == SECRET_CUT && now < deaf.until;
        self.deaf = self.deaf.filter(is_cut);
        if by_itself && self.deaf.is_none() {
            self.be_deaf(SEEN, now);
        }
    }

    fn be_deaf(&mut self, pause: Duration, now: Instant) {
        let until = now + pause;
        self.deaf = Some(Deaf { until, pause });
    }
}
