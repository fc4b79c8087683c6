//! The running turn: what it reports, how it is stopped, what is left when it dies.

use std::time::Duration;

use agent_loop::TurnEvent;
use conversation::{
    AssistantMessage, CallId, CallOutcome, Failure, FailureKind, ItemId, TurnId, TurnOutcome, Usage,
};
use protocol::{CommandId, Credentials, Delta, DeltaTarget, ErrorBody, ErrorCode, limits};
use session_store::{
    Record,
    record::{CallRecord, CausedBy, SessionRecord, TurnRecord},
};

use crate::projection;

use super::{
    Effect, Effects, Session, Timer, TurnPlan,
    streaming::{CHECKPOINT_BYTES, Streaming},
};

/// Streamed text is made durable at the latest after this long (settled details 4).
const CHECKPOINT_AFTER: Duration = Duration::from_secs(2);

impl Session {
    pub(super) fn submit(
        &mut self,
        id: CommandId,
        by: CausedBy,
        text: String,
        max_steps: u32,
        out: &mut Effects,
    ) {
        if self.state.phase.queued.len() >= limits::QUEUE {
            let error = ErrorBody::new(ErrorCode::Busy, "the queue of the session is full")
                .hint("wait for a turn to end, or cancel a waiting one");
            out.push(Effect::Reply(Err(error)));
            return;
        }
        let turn = TurnId(self.state.counters.turns + 1);
        self.accept(
            id,
            Record::Turn(TurnRecord::Submitted {
                turn,
                text,
                max_steps,
                by,
            }),
            out,
        );
        self.held = false;
        self.start_next(out);
    }

    pub(super) fn cancel(&mut self, id: CommandId, by: CausedBy, turn: TurnId, out: &mut Effects) {
        if self.running() == Some(turn) {
            self.accept(id, Record::Turn(TurnRecord::CancelRequested { turn, by }), out);
            self.withdraw_prompts("the turn is being stopped", out);
            out.push(Effect::CancelTurn(turn));
        } else if self.state.phase.queued.iter().any(|queued| queued.turn == turn) {
            self.accept(id, Record::Turn(TurnRecord::CancelRequested { turn, by }), out);
            let (outcome, usage) = (TurnOutcome::Cancelled, Usage::default());
            self.append(Record::Turn(TurnRecord::Ended { turn, outcome, usage }), out);
        } else {
            let reason = format!("turn {turn} is not running");
            self.accept(id, Record::Session(SessionRecord::Ignored { by, reason }), out);
        }
    }

    /// Starts the next waiting submit when nothing runs.
    pub(super) fn start_next(&mut self, out: &mut Effects) {
        if self.held || self.state.closed || self.running().is_some() {
            return;
        }
        let Some(next) = self.state.phase.queued.first() else {
            return;
        };
        let (turn, max_steps) = (next.turn, next.max_steps);
        self.append(Record::Turn(TurnRecord::Started { turn }), out);
        let messages = self.state.transcript.clone();
        let next_item = self.state.counters.items + 1;
        out.push(Effect::StartTurn(TurnPlan {
            turn,
            messages,
            next_item,
            max_steps,
        }));
    }

    pub(super) fn on_turn(&mut self, turn: TurnId, event: TurnEvent, out: &mut Effects) {
        if self.running() != Some(turn) {
            return; // a report of a turn that was given up
        }
        match event {
            TurnEvent::Text { item, text } => self.stream_text(item, text, out),
            TurnEvent::Reasoning { item, text } => {
                out.push(Effect::Show(self.streaming(item).reasoning(text)));
            }
            TurnEvent::Discarded { item, reason } => self.discard(turn, item, reason, out),
            TurnEvent::Assistant { item, message } => self.assistant(turn, item, message, out),
            TurnEvent::Waiting => {
                let what = projection::WAITS_FOR_CREDENTIALS.to_owned();
                self.append(Record::Turn(TurnRecord::Waiting { turn, what }), out);
            }
            TurnEvent::WentOn => self.append(Record::Turn(TurnRecord::WentOn { turn }), out),
            TurnEvent::AskedAgain { reason } => {
                self.append(Record::Turn(TurnRecord::AskedAgain { turn, reason }), out);
            }
            // The report itself says nothing; it waits for the disk like every committed one.
            TurnEvent::RequestLeaving => {}
            TurnEvent::CallStarted { call } => {
                self.append(Record::Call(CallRecord::Started { turn, call }), out);
            }
            TurnEvent::Output { call, text } => self.show_output(call, text, out),
            TurnEvent::CallFinished(result) => {
                self.append(Record::Call(CallRecord::Finished { turn, result }), out);
            }
            TurnEvent::Ended { outcome, usage } => self.end(turn, outcome, usage, out),
        }
    }

    /// Ends a turn whose task is gone.
    pub(super) fn on_turn_lost(&mut self, turn: TurnId, why: &str, out: &mut Effects) {
        if self.running() != Some(turn) {
            return;
        }
        let outcome = if self.stopping() {
            TurnOutcome::Cancelled
        } else {
            TurnOutcome::Failed(Failure {
                kind: FailureKind::Internal,
                message: format!("the turn stopped unexpectedly: {why}"),
                hint: Some("submit again; the log of the agent says more".to_owned()),
            })
        };
        self.end_without_task(turn, outcome, out);
    }

    /// Ends the running turn because the daemon ends; what waits is held until a person decides.
    pub(super) fn on_shut_down(&mut self, out: &mut Effects) {
        self.held = true;
        if let Some(turn) = self.running() {
            let outcome = if self.stopping() {
                TurnOutcome::Cancelled
            } else {
                TurnOutcome::Interrupted
            };
            self.end_without_task(turn, outcome, out);
        }
    }

    /// Makes streamed text durable.
    pub(super) fn checkpoint(&mut self, out: &mut Effects) {
        let Some(turn) = self.running() else { return };
        if let Some(record) = self
            .streaming
            .as_mut()
            .and_then(|streaming| streaming.checkpoint(turn))
        {
            self.append(Record::Turn(record), out);
        }
    }

    /// Gives every open call a result, so that the conversation stays valid, and ends the turn.
    fn end_without_task(&mut self, turn: TurnId, outcome: TurnOutcome, out: &mut Effects) {
        self.withdraw_prompts("the turn is over", out);
        for open in self.state.phase.calls.clone() {
            let (outcome, text) = if open.started {
                (
                    CallOutcome::Interrupted,
                    "error: interrupted: the turn was stopped while this call ran",
                )
            } else {
                (
                    CallOutcome::Cancelled,
                    "cancelled: the turn was stopped before this call started",
                )
            };
            self.append(
                Record::Call(CallRecord::finished(turn, open.call.id, outcome, text)),
                out,
            );
        }
        let usage = self
            .state
            .phase
            .turn
            .as_ref()
            .map(|open| open.usage)
            .unwrap_or_default();
        self.end(turn, outcome, usage, out);
    }

    fn streaming(&mut self, item: ItemId) -> &mut Streaming {
        let other = self.streaming.take_if(|streaming| streaming.item() != item);
        debug_assert!(
            other.is_none(),
            "a message starts only after the one before is complete or discarded"
        );
        self.streaming.get_or_insert_with(|| Streaming::new(item))
    }

    fn stream_text(&mut self, item: ItemId, text: String, out: &mut Effects) {
        let streaming = self.streaming(item);
        let first = streaming.waiting() == 0;
        out.push(Effect::Show(streaming.text(text)));
        if streaming.waiting() >= CHECKPOINT_BYTES {
            self.checkpoint(out);
        } else if first {
            out.push(Effect::Arm(Timer::Checkpoint, CHECKPOINT_AFTER));
        }
    }

    fn discard(&mut self, turn: TurnId, item: ItemId, reason: String, out: &mut Effects) {
        // Nothing was shown of a message that never began to stream, so nothing needs to be taken back.
        if self
            .streaming
            .take_if(|streaming| streaming.item() == item)
            .is_some()
        {
            self.append(Record::Turn(TurnRecord::Discarded { turn, item, reason }), out);
        }
    }

    fn assistant(&mut self, turn: TurnId, item: ItemId, message: AssistantMessage, out: &mut Effects) {
        self.streaming = None;
        self.append(Record::Turn(TurnRecord::Assistant { turn, item, message }), out);
    }

    fn show_output(&mut self, call: CallId, text: String, out: &mut Effects) {
        let offset = self
            .output
            .take_if(|(known, _)| *known == call)
            .map_or(0, |(_, shown)| shown);
        let shown = offset + text.len() as u64;
        let target = DeltaTarget::Output { call: call.0.clone() };
        out.push(Effect::Show(Delta { target, offset, text }));
        self.output = Some((call, shown));
    }

    fn end(&mut self, turn: TurnId, outcome: TurnOutcome, usage: Usage, out: &mut Effects) {
        self.checkpoint(out);
        self.streaming = None;
        self.output = None;
        self.append(Record::Turn(TurnRecord::Ended { turn, outcome, usage }), out);
        out.push(Effect::Sync);
        self.change_credentials(out);
        self.start_next(out);
    }

    /// Changes over to other credentials, at once or when the running turn has ended.
    pub(super) fn on_credentials(&mut self, wanted: Credentials, out: &mut Effects) {
        self.wanted_credentials = Some(wanted);
        self.change_credentials(out);
    }

    fn change_credentials(&mut self, out: &mut Effects) {
        if self.running().is_some() || self.state.closed {
            return;
        }
        let Some(wanted) = self.wanted_credentials.take() else {
            return;
        };
        if wanted != projection::credentials(&self.state) {
            let credentials = wanted.name().to_owned();
            self.append(
                Record::Session(SessionRecord::CredentialsChanged { credentials }),
                out,
            );
            out.push(Effect::UseCredentials(wanted));
            out.push(Effect::Sync);
        }
    }
}
