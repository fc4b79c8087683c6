//! The session that is shown, as far as this screen knows it.

use std::{collections::HashSet, time::Instant};

use protocol::{Frame, Item, Phase, PromptId, SessionId, Snapshot, TurnId};

use crate::session_task::Wanted;

/// The shown session. Its truth is the agent's; all of this can be thrown away and asked for again.
#[derive(Debug)]
pub(crate) struct Session {
    /// How it is opened or resumed; its id is chosen here and stays over all tries.
    pub(crate) wanted: Wanted,
    /// Its state, once the agent has answered.
    pub(crate) snapshot: Snapshot,
    /// How far opening it has got.
    pub(crate) stage: Stage,
    /// What its snapshot left out.
    pub(crate) older: Older,
    /// Questions that were answered here, and whose end is not told yet.
    pub(crate) answered: HashSet<PromptId>,
    /// The turn that was asked to stop.
    pub(crate) stopping: Option<TurnId>,
    /// The turn in progress, and since when this screen has seen it.
    pub(crate) turn: Option<(TurnId, Instant)>,
}

/// How far opening a session has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nobody has asked for it: a person may still pick another one.
    Unasked,
    /// It was asked for.
    Asked,
    /// It is there.
    Open,
    /// It was closed, or it cannot be opened.
    Over,
}

/// The history before the snapshot.
#[derive(Debug)]
pub(crate) enum Older {
    /// Nobody wanted it.
    Unasked,
    /// It is on its way.
    Asked,
    /// It is here, and this much of it is not in the transcript yet.
    Here(Vec<Item>),
}

/// How many older items go into the transcript at once.
const PAGE: usize = 200;

impl Session {
    pub(crate) fn new(wanted: Wanted) -> Self {
        Self {
            snapshot: Snapshot::empty(wanted.session()),
            wanted,
            stage: Stage::Unasked,
            older: Older::Unasked,
            answered: HashSet::new(),
            stopping: None,
            turn: None,
        }
    }

    pub(crate) fn id(&self) -> SessionId {
        self.wanted.session()
    }

    /// Says whether the agent has it and commands can be sent to it.
    pub(crate) fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    /// Takes over a whole state.
    pub(crate) fn replace(&mut self, snapshot: Snapshot, now: Instant) {
        self.snapshot = snapshot;
        self.stage = Stage::Open;
        self.older = Older::Unasked;
        self.settle(now);
    }

    /// Folds in a frame. Gives whether it fitted; the session task folds the same frames in the same order, so
    /// anything else is a defect, and asking for the state again mends it.
    pub(crate) fn apply(&mut self, frame: &Frame, now: Instant) -> bool {
        let applied = match frame {
            Frame::Event(envelope) => self.snapshot.apply(envelope).is_ok(),
            Frame::Delta(delta) => self.snapshot.apply_delta(delta).is_ok(),
            Frame::Snapshot(snapshot) => {
                self.snapshot = Snapshot::clone(snapshot);
                true
            }
            Frame::Unknown => true,
        };
        self.settle(now);
        applied
    }

    /// Brings what is known beside the state in line with it.
    fn settle(&mut self, now: Instant) {
        let running = self.snapshot.phase.turn();
        if self.turn.map(|(turn, _)| turn) != running {
            self.turn = running.map(|turn| (turn, now));
        }
        if self.stopping.is_some() && self.stopping != running {
            self.stopping = None;
        }
        let open = &self.snapshot.prompts;
        self.answered
            .retain(|id| open.iter().any(|prompt| prompt.id == *id));
        if self.snapshot.phase == Phase::Closed {
            self.stage = Stage::Over;
        }
    }

    /// Gives the turn that runs and that nobody has asked to stop.
    pub(crate) fn stoppable(&self) -> Option<TurnId> {
        match self.snapshot.phase {
            Phase::Running { turn } | Phase::Waiting { turn } if self.stopping != Some(turn) => Some(turn),
            _ => None,
        }
    }

    /// Gives the next older items for the transcript.
    pub(crate) fn take_older(&mut self) -> Option<Vec<Item>> {
        let Older::Here(items) = &mut self.older else {
            return None;
        };
        let page = items.split_off(items.len().saturating_sub(PAGE));
        (!page.is_empty()).then_some(page)
    }
}
