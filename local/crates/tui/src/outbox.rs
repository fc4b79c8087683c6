//! Commands on their way to the agent (pure): in order, each with its id, again with the same id after a break.
//!
//! | State | Meaning | Next |
//! | --- | --- | --- |
//! | waiting | not sent, or sent and unanswered when the connection broke | sent, once the session may be reached |
//! | sent | a request is under way | waiting, confirmed, or gone when refused |
//! | confirmed | has its receipt; its event may still be on the way | gone, once the event is folded in |
//!
//! Submits go one after the other, so that they arrive as they were typed. Answers, cancels and the rest do not wait
//! for them.

use std::collections::VecDeque;

use protocol::{Command, CommandId, CommandRequest, ErrorCode, Receipt, SessionId, TurnCommand};

use crate::panes::transcript::QueuedSubmit;

/// How many ids of commands of this screen are remembered, to tell its own answers from those of others.
const REMEMBERED: usize = 256;

/// The commands that are not known to have had their effect.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    entries: VecDeque<Entry>,
    ours: VecDeque<CommandId>,
    /// Whether what waits differs from what was shown last.
    changed: bool,
}

#[derive(Debug)]
struct Entry {
    session: SessionId,
    request: CommandRequest,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Sent,
    Confirmed { at: u64 },
}

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Delivery {
    /// It has its receipt.
    Confirmed,
    /// It may not have arrived; it is sent again.
    Again,
    /// The agent does not do it.
    Refused(Command, client::Error),
    /// It was not asked for here.
    Unknown,
}

impl Outbox {
    /// Takes a command for a session and gives the id under which it goes.
    pub(crate) fn push(&mut self, session: SessionId, command: Command) -> CommandId {
        let id = CommandId::fresh();
        if self.ours.len() == REMEMBERED {
            self.ours.pop_front();
        }
        self.ours.push_back(id);
        self.changed = true;
        self.entries.push_back(Entry {
            session,
            request: CommandRequest { id, command },
            state: State::Waiting,
        });
        id
    }

    /// Gives what may be sent to a session that can be reached, and notes it as sent.
    pub(crate) fn ready(&mut self, session: SessionId) -> Vec<CommandRequest> {
        let mut submit_ahead = false;
        let mut ready = Vec::new();
        for entry in self.entries.iter_mut().filter(|entry| entry.session == session) {
            let is_submit = is_submit(&entry.request.command);
            if entry.state == State::Waiting && !(is_submit && submit_ahead) {
                entry.state = State::Sent;
                ready.push(entry.request.clone());
                self.changed = true;
            }
            submit_ahead |= is_submit && entry.state == State::Sent;
        }
        ready
    }

    /// Takes the result of a request.
    pub(crate) fn delivered(&mut self, id: CommandId, result: Result<Receipt, client::Error>) -> Delivery {
        let Some(index) = self.entries.iter().position(|entry| entry.request.id == id) else {
            return Delivery::Unknown;
        };
        self.changed = true;
        let entry = &mut self.entries[index];
        match result {
            Ok(receipt) => {
                entry.state = State::Confirmed { at: receipt.at };
                Delivery::Confirmed
            }
            Err(error) if error.is_retryable() => {
                entry.state = State::Waiting;
                Delivery::Again
            }
            Err(error) => match self.entries.remove(index) {
                Some(entry) => Delivery::Refused(entry.request.command, error),
                None => Delivery::Unknown,
            },
        }
    }

    /// Notes that the events up to number `at` of a session are folded in.
    pub(crate) fn folded(&mut self, session: SessionId, at: u64) {
        let done = |entry: &Entry| {
            entry.session == session && matches!(entry.state, State::Confirmed { at: event } if event <= at)
        };
        self.remove(done);
    }

    /// Notes that an event names a command: it has arrived, whatever became of its receipt. A receipt that is still
    /// under way finds nothing here, which is fine.
    pub(crate) fn arrived(&mut self, id: CommandId) {
        self.remove(|entry| entry.request.id == id);
    }

    fn remove(&mut self, is_done: impl Fn(&Entry) -> bool) {
        let before = self.entries.len();
        self.entries.retain(|entry| !is_done(entry));
        self.changed |= self.entries.len() != before;
    }

    /// Says once after each change that what waits is to be shown anew.
    pub(crate) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Says whether a command is one of this screen.
    pub(crate) fn is_ours(&self, id: CommandId) -> bool {
        self.ours.contains(&id)
    }

    /// Gives the submits of a session that are not in its transcript.
    pub(crate) fn queued(&self, session: SessionId) -> Vec<QueuedSubmit> {
        let entries = self.entries.iter().filter(|entry| entry.session == session);
        entries.filter_map(Entry::as_queued).collect()
    }

    /// Counts the submits without a receipt.
    pub(crate) fn undelivered(&self) -> usize {
        let without = |entry: &&Entry| {
            is_submit(&entry.request.command) && !matches!(entry.state, State::Confirmed { .. })
        };
        self.entries.iter().filter(without).count()
    }
}

impl Entry {
    fn as_queued(&self) -> Option<QueuedSubmit> {
        match &self.request.command {
            Command::Turn(TurnCommand::Submit { text, .. }) => Some(QueuedSubmit {
                id: self.request.id,
                text: text.clone(),
                is_sent: self.state != State::Waiting,
            }),
            _ => None,
        }
    }
}

fn is_submit(command: &Command) -> bool {
    matches!(command, Command::Turn(TurnCommand::Submit { .. }))
}

/// Says whether a refusal only means that somebody else was faster.
pub(crate) fn came_too_late(error: &client::Error) -> bool {
    matches!(error, client::Error::Agent(body) if matches!(body.code, ErrorCode::Conflict | ErrorCode::NotFound))
}

#[cfg(test)]
mod tests;
