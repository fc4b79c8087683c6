//! How events and streamed text change the state.

use std::collections::VecDeque;

use super::{Applied, ApplyError, Item, Phase, SessionHead, Snapshot, ToolState};
use crate::{
    broker::Credentials,
    content::{Outcome, Preset, UsageView},
    event::{Delta, DeltaTarget, Event, EventEnvelope, PromptEvent, SessionEvent, ToolEvent, TurnEvent},
    ids::{PromptId, SessionId, TurnId},
    limits,
    meter::{ContextView, CostView},
};

impl Snapshot {
    /// Makes the state before any event.
    #[must_use]
    pub fn empty(session: SessionId) -> Self {
        let head = SessionHead {
            session,
            workspace: String::new(),
            model: String::new(),
            preset: Preset::default(),
            credentials: Credentials::default(),
        };
        Self {
            at: 0,
            session: head,
            phase: Phase::Idle,
            items: VecDeque::new(),
            items_before: 0,
            prompts: Vec::new(),
            queue: Vec::new(),
            usage: UsageView::default(),
            context: ContextView::default(),
            cost: CostView::default(),
            waiting: None,
            asked_again: 0,
        }
    }

    /// Folds in the next durable event. Events that are known are dropped.
    ///
    /// # Errors
    /// [`ApplyError::Gap`] when events are missing; the state is then unchanged.
    pub fn apply(&mut self, envelope: &EventEnvelope) -> Result<Applied, ApplyError> {
        if envelope.n <= self.at {
            return Ok(Applied::Known);
        }
        if envelope.n != self.at + 1 {
            return Err(ApplyError::Gap {
                expected: self.at + 1,
                got: envelope.n,
            });
        }
        self.at = envelope.n;
        match &envelope.event {
            Event::Session(event) => self.apply_session(event),
            Event::Turn(event) => self.apply_turn(event),
            Event::Tool(event) => self.apply_tool(event),
            Event::Prompt(event) => self.apply_prompt(event),
            Event::Unknown => {}
        }
        Ok(Applied::Changed)
    }

    /// Folds in a piece of streamed text. Pieces that are known are dropped, overlapping ones cut.
    ///
    /// # Errors
    /// [`ApplyError::TextGap`] when earlier text is missing; the state is then unchanged.
    pub fn apply_delta(&mut self, delta: &Delta) -> Result<Applied, ApplyError> {
        match &delta.target {
            DeltaTarget::Text { item } => match self.streaming(*item, delta.offset)? {
                Some(Item::Assistant { text, .. }) => splice(text, delta.offset, &delta.text),
                _ => Ok(Applied::Known),
            },
            DeltaTarget::Reasoning { item } => match self.streaming(*item, delta.offset)? {
                Some(Item::Assistant { reasoning, .. }) => splice(reasoning, delta.offset, &delta.text),
                _ => Ok(Applied::Known),
            },
            DeltaTarget::Output { call } => match self.tool(call) {
                Some(Item::Tool {
                    state: ToolState::Running,
                    output,
                    ..
                }) => splice(output, delta.offset, &delta.text),
                _ => Ok(Applied::Known),
            },
            DeltaTarget::Unknown => Ok(Applied::Known),
        }
    }

    fn apply_session(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::Opened {
                session,
                workspace,
                model,
                preset,
                context_window,
            } => {
                self.context.window = *context_window;
                self.session = SessionHead {
                    session: *session,
                    workspace: workspace.clone(),
                    model: model.clone(),
                    preset: *preset,
                    credentials: self.session.credentials,
                };
            }
            SessionEvent::ModelChanged {
                model,
                context_window,
            } => {
                self.session.model.clone_from(model);
                self.context.window = *context_window;
            }
            SessionEvent::CredentialsChanged { credentials } => self.session.credentials = *credentials,
            SessionEvent::PresetChanged { preset, .. } => self.session.preset = *preset,
            SessionEvent::Closed { .. } => self.phase = Phase::Closed,
            SessionEvent::PrefixMade { .. }
            | SessionEvent::CommandIgnored { .. }
            | SessionEvent::Resumed { .. }
            | SessionEvent::Unknown => {}
        }
    }

    fn apply_turn(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::Submitted { turn, text, .. } => {
                self.queue.push(*turn);
                self.push(Item::User {
                    turn: *turn,
                    text: text.clone(),
                });
            }
            TurnEvent::Started { turn } => {
                self.queue.retain(|queued| queued != turn);
                self.phase = Phase::Running { turn: *turn };
            }
            TurnEvent::Partial {
                turn,
                item,
                offset,
                text,
            } => self.partial(*turn, *item, *offset, text),
            TurnEvent::Discarded { item, .. } => self.discard(*item),
            TurnEvent::Waiting { turn, what } => {
                self.waiting = (self.phase.turn() == Some(*turn)).then_some(*what);
            }
            TurnEvent::WentOn { .. } => self.waiting = None,
            TurnEvent::AskedAgain { .. } => self.asked_again += 1,
            TurnEvent::Assistant {
                turn,
                item,
                text,
                reasoning,
                calls,
                usage,
                cost,
            } => {
                self.complete(*turn, *item, text, reasoning);
                for call in calls {
                    self.push(Item::Tool {
                        turn: *turn,
                        call: call.id.clone(),
                        name: call.name.clone(),
                        arguments: call.arguments.clone(),
                        state: ToolState::Pending,
                        output: String::new(),
                    });
                }
                self.usage += usage.unwrap_or_default();
                self.context.used = usage.map(|usage| usage.input).or(self.context.used);
                self.cost.add(cost.as_ref());
            }
            TurnEvent::CancelRequested { turn, .. } => {
                if self.phase.turn() == Some(*turn) {
                    self.phase = Phase::Cancelling { turn: *turn };
                }
            }
            TurnEvent::Ended { turn, outcome, usage } => self.end_turn(*turn, outcome, *usage),
            TurnEvent::Unknown => {}
        }
    }

    fn apply_tool(&mut self, event: &ToolEvent) {
        match event {
            ToolEvent::Started { call, .. } => {
                if let Some(Item::Tool { state, .. }) = self.tool(call) {
                    *state = ToolState::Running;
                }
            }
            ToolEvent::Finished {
                call,
                outcome,
                output,
                ..
            } => {
                if let Some(Item::Tool {
                    state, output: known, ..
                }) = self.tool(call)
                {
                    *state = ToolState::Done { outcome: *outcome };
                    known.clone_from(output);
                }
            }
            ToolEvent::Unknown => {}
        }
    }

    fn apply_prompt(&mut self, event: &PromptEvent) {
        match event {
            PromptEvent::Opened { prompt } => {
                self.phase = Phase::Waiting { turn: prompt.turn };
                self.prompts.push(prompt.clone());
            }
            PromptEvent::Answered { prompt, .. } | PromptEvent::Withdrawn { prompt, .. } => {
                self.close_prompt(*prompt);
            }
            PromptEvent::Unknown => {}
        }
    }

    fn close_prompt(&mut self, prompt: PromptId) {
        self.prompts.retain(|open| open.id != prompt);
        if let (true, Phase::Waiting { turn }) = (self.prompts.is_empty(), self.phase) {
            self.phase = Phase::Running { turn };
        }
    }

    fn end_turn(&mut self, turn: TurnId, outcome: &Outcome, usage: UsageView) {
        self.queue.retain(|queued| *queued != turn);
        if self.phase.turn() == Some(turn) {
            self.waiting = None;
            self.phase = Phase::Idle;
        }
        self.items.retain_mut(|item| keep_recorded(item, turn));
        self.push(Item::TurnEnd {
            turn,
            outcome: outcome.clone(),
            usage,
        });
    }

    fn partial(&mut self, turn: TurnId, item: u64, offset: u64, piece: &str) {
        if self.assistant(item).is_none() {
            self.push(new_assistant(turn, item));
        }
        if let Some(Item::Assistant { text, recorded, .. }) = self.assistant(item) {
            // A durable piece wins over what was streamed in its place; text that came after it stays.
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            let end = start.saturating_add(piece.len());
            *recorded = (*recorded).max(end as u64);
            if text.get(start..end) != Some(piece) {
                let keep = prefix(text, start).to_owned();
                *text = keep + piece;
            }
        }
    }

    fn complete(&mut self, turn: TurnId, item: u64, full: &str, reason: &str) {
        if self.assistant(item).is_none() {
            self.push(new_assistant(turn, item));
        }
        if let Some(Item::Assistant {
            text,
            reasoning,
            complete,
            recorded,
            ..
        }) = self.assistant(item)
        {
            *recorded = full.len() as u64;
            full.clone_into(text);
            reason.clone_into(reasoning);
            *complete = true;
        }
    }

    fn discard(&mut self, item: u64) {
        self.items
            .retain(|entry| !matches!(entry, Item::Assistant { id, .. } if *id == item));
    }

    /// Gives the message that is being streamed, making it when its first piece arrives while a turn runs.
    fn streaming(&mut self, item: u64, offset: u64) -> Result<Option<&mut Item>, ApplyError> {
        if self.assistant(item).is_none() {
            let Some(turn) = self.phase.turn() else {
                return Ok(None);
            };
            let newest = self.items.iter().rev().find_map(|entry| match entry {
                Item::Assistant { id, .. } => Some(*id),
                _ => None,
            });
            // A late piece of an older message must not bring it back.
            if newest.is_some_and(|id| id >= item) {
                return Ok(None);
            }
            if offset > 0 {
                return Err(ApplyError::TextGap {
                    known: 0,
                    got: offset,
                });
            }
            self.push(new_assistant(turn, item));
        }
        let streaming = |entry: &&mut Item| matches!(entry, Item::Assistant { complete: false, .. });
        Ok(self.assistant(item).filter(streaming))
    }

    fn assistant(&mut self, item: u64) -> Option<&mut Item> {
        self.items
            .iter_mut()
            .rev()
            .find(|entry| matches!(entry, Item::Assistant { id, .. } if *id == item))
    }

    fn tool(&mut self, wanted: &str) -> Option<&mut Item> {
        self.items
            .iter_mut()
            .rev()
            .find(|entry| matches!(entry, Item::Tool { call, .. } if call == wanted))
    }

    /// Adds to the transcript, behind what belongs to the same turn and before later ones. Requests that wait in the
    /// queue thereby stay last, and the order does not depend on how early streamed text arrived.
    fn push(&mut self, item: Item) {
        if self.items.len() == limits::SNAPSHOT_ITEMS {
            self.items.pop_front();
            self.items_before += 1;
        }
        let turn = item.turn();
        let later = self
            .items
            .iter()
            .rev()
            .take_while(|other| other.turn() > turn)
            .count();
        self.items.insert(self.items.len() - later, item);
    }
}

/// Ends an item of a turn: of an answer that is not complete, only what is recorded stays. Says whether any of it does.
fn keep_recorded(item: &mut Item, ended: TurnId) -> bool {
    let Item::Assistant {
        turn,
        text,
        reasoning,
        complete: complete @ false,
        recorded,
        ..
    } = item
    else {
        return true;
    };
    if *turn != ended {
        return true;
    }
    let stays = prefix(text, usize::try_from(*recorded).unwrap_or(usize::MAX)).len();
    text.truncate(stays);
    reasoning.clear();
    *complete = true;
    stays > 0
}

fn new_assistant(turn: TurnId, id: u64) -> Item {
    Item::Assistant {
        turn,
        id,
        text: String::new(),
        reasoning: String::new(),
        complete: false,
        recorded: 0,
    }
}

/// Appends what is new of a piece that starts at `offset`.
fn splice(text: &mut String, offset: u64, piece: &str) -> Result<Applied, ApplyError> {
    let known = text.len() as u64;
    if offset > known {
        return Err(ApplyError::TextGap { known, got: offset });
    }
    let skip = usize::try_from(known - offset).unwrap_or(usize::MAX);
    match piece.get(skip..) {
        Some(new) if !new.is_empty() => {
            text.push_str(new);
            Ok(Applied::Changed)
        }
        _ => Ok(Applied::Known),
    }
}

/// Gives the longest prefix of at most `max` bytes that ends at a character boundary.
fn prefix(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
