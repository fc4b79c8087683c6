//! Who types: gives work, whether the link is there or not, and answers what is asked.

use std::time::Duration;

use link::AgentLink;
use protocol::Phase;
use scripted_model::Reply;
use serde_json::json;
use transport::testing::Choices;
use tui::stage::{Seen, Stage};

use crate::rig::Rig;

/// A dialog takes no keys until it was there for a moment without any.
const READING: Duration = Duration::from_millis(350);
/// How often a person looks.
const LOOK: Duration = Duration::from_millis(15);
/// How many requests a person lets wait.
const AHEAD: usize = 3;

pub(super) struct Person<'a> {
    pub(super) rig: &'a Rig,
    pub(super) link: &'a AgentLink,
    pub(super) stage: &'a Stage,
    pub(super) choices: Choices,
    /// How many requests were sent off.
    pub(super) typed: usize,
    /// How many of them while there was no link.
    pub(super) in_outages: usize,
    /// How many questions were answered.
    pub(super) answered: usize,
}

/// Gives what a person writes as their request number `k`.
pub(crate) fn request(k: usize) -> String {
    format!("submit-{k}.")
}

/// Gives the line that the work of request `k` leaves.
pub(crate) fn effect(k: usize) -> String {
    format!("call-{k}.")
}

/// What request `k` lets the model say and do.
pub(crate) fn replies(k: usize) -> [Reply; 2] {
    let leave = format!("echo call-{k}. | tee -a effects");
    let command = match k % 3 {
        0 => leave,
        // Has to be allowed.
        1 => format!("touch asked-{k} && {leave}"),
        // Says something while it runs.
        _ => format!("echo one; sleep 0.05; echo two; sleep 0.05; {leave}"),
    };
    let first = Reply::new()
        .think("Let me see. ".repeat(k % 5))
        .say(format!(
            "Turn {k} begins. {}",
            "and *on* it `goes` ".repeat(6 + k % 7)
        ))
        .call("bash", &json!({ "command": command }))
        .when(request(k));
    let second = Reply::new()
        .say(format!(
            "Turn {k} is over. {}",
            "Or **almost**. 漢字 ".repeat(3 + k % 11)
        ))
        .when(effect(k));
    [first, second]
}

/// Says whether requests wait and nothing runs: after the death of an agent they are held back until a person says more.
fn is_held(seen: &Seen) -> bool {
    seen.snapshot.phase == Phase::Idle && !seen.snapshot.queue.is_empty() && seen.undelivered == 0
}

impl Person<'_> {
    /// Works until told to stop, and then until everything is done.
    pub(super) async fn work(&mut self, goes_on: impl Fn() -> bool) {
        while goes_on() {
            self.answer().await;
            let seen = self.stage.seen();
            if seen.undelivered + seen.snapshot.queue.len() < AHEAD || is_held(&seen) {
                self.give_work().await;
            }
            let pause = self.choices.below(60);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        while !self.is_done() {
            self.answer().await;
            if is_held(&self.stage.seen()) {
                self.give_work().await;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn is_done(&self) -> bool {
        let Seen {
            snapshot,
            undelivered,
            has_dialog,
            ..
        } = self.stage.seen();
        let idle = snapshot.phase == Phase::Idle && snapshot.queue.is_empty();
        idle && undelivered == 0 && !has_dialog && self.stage.heard().at == snapshot.at
    }

    /// Allows what is asked, if anything is.
    async fn answer(&mut self) {
        let seen = self.stage.seen();
        if !seen.has_dialog {
            return;
        }
        assert!(seen.text.contains("May bash run?"), "{}", seen.text);
        tokio::time::sleep(READING).await;
        if !self.stage.seen().has_dialog {
            return;
        }
        self.stage.keys("y").await;
        let seen = self.stage.seen();
        if !seen.has_dialog && seen.has_draft {
            // It went away at the last moment, and the letter is in the composer.
            self.clear().await;
        } else {
            self.answered += usize::from(!seen.has_dialog);
        }
    }

    async fn clear(&self) {
        while self.stage.seen().has_draft && !self.stage.seen().has_dialog {
            self.stage.keys("<ctrl+u>").await;
        }
    }

    /// Types the next request and sends it off. Questions that come in between are answered first.
    async fn give_work(&mut self) {
        let k = self.typed;
        for reply in replies(k) {
            self.rig.model.push(reply);
        }
        loop {
            self.clear().await;
            self.stage.paste(&request(k)).await;
            if !self.stage.seen().has_dialog && self.stage.seen().has_draft {
                let is_live = self.link.states().borrow().is_live();
                self.stage.keys("<enter>").await;
                if !self.stage.seen().has_draft {
                    self.in_outages += usize::from(!is_live);
                    break;
                }
            }
            while self.stage.seen().has_dialog {
                self.answer().await;
            }
        }
        self.typed = k + 1;
    }
}
