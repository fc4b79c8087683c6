//! Shows on standard error how a link comes up: a bar while uploading on a terminal, lines elsewhere.

use std::{
    io::IsTerminal as _,
    sync::{Mutex, MutexGuard, PoisonError},
};

use indicatif::{ProgressBar, ProgressStyle};
use link::{AgentLink, LinkState, Stage};

use crate::terminal;

/// Follows the states of a link until it is dropped.
pub(crate) async fn follow(link: AgentLink) {
    let mut states = link.states();
    let mut shown = Shown::new(link.host().unwrap_or("this machine"));
    loop {
        let state = states.borrow_and_update().clone();
        shown.show(&state);
        if states.changed().await.is_err() {
            return;
        }
    }
}

/// Shows an upload outside of a link.
pub(crate) struct Uploads(Mutex<Shown>);

impl Uploads {
    /// Shows nothing yet.
    pub(crate) fn new(host: &str) -> Self {
        Self(Mutex::new(Shown::new(host)))
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = self.shown().bar.take() {
            bar.finish_and_clear();
        }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl bootstrap::Progress for Uploads {
    fn update(&self, update: bootstrap::Update) {
        if let bootstrap::Update::Uploaded { done, total } = update {
            self.shown().upload(done, total);
        }
    }
}

/// What was shown last, so that nothing is said twice.
struct Shown {
    host: String,
    on_terminal: bool,
    bar: Option<ProgressBar>,
    quarter: u64,
    seen: Seen,
}

/// What became of the link so far. A command that never came through says why itself.
#[derive(PartialEq, Eq)]
enum Seen {
    Nothing,
    Live,
    Lost,
}

impl Shown {
    fn new(host: &str) -> Self {
        let on_terminal = std::io::stderr().is_terminal();
        Self {
            host: host.to_owned(),
            on_terminal,
            bar: None,
            quarter: 0,
            seen: Seen::Nothing,
        }
    }

    fn show(&mut self, state: &LinkState) {
        if let LinkState::Connecting(Stage::Installing { done, total }) = state {
            return self.upload(*done, *total);
        }
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        match state {
            LinkState::Waiting { cause, .. } if self.seen == Seen::Live => {
                self.seen = Seen::Lost;
                terminal::error(&format!("{}: {cause}; trying again", self.host));
            }
            // The first try comes at once, and only the newest state is kept: the loss itself may go unseen.
            LinkState::Connecting(_) if self.seen == Seen::Live => {
                self.seen = Seen::Lost;
                terminal::error(&format!("{}: the connection was lost; trying again", self.host));
            }
            LinkState::Live { .. } => {
                if self.seen == Seen::Lost {
                    terminal::error(&format!("{}: connected again", self.host));
                }
                self.seen = Seen::Live;
            }
            _ => {}
        }
    }

    fn upload(&mut self, done: u64, total: u64) {
        if total == 0 {
            return;
        }
        if self.on_terminal {
            let bar = self.bar.get_or_insert_with(|| bar(&self.host, total));
            bar.set_position(done);
            return;
        }
        let quarter = done.saturating_mul(4) / total;
        if quarter > self.quarter || (done == 0 && self.quarter == 0) {
            self.quarter = quarter;
            terminal::error(&format!(
                "{}: uploading the program, {} % of {} KiB",
                self.host,
                quarter * 25,
                total / 1024
            ));
        }
    }
}

fn bar(host: &str, total: u64) -> ProgressBar {
    let bar = ProgressBar::new(total);
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {bytes}/{total_bytes} {eta}") {
        bar.set_style(style);
    }
    bar.set_message(format!("uploading to {host}"));
    bar
}
