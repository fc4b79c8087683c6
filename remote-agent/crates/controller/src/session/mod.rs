//! One session as a pure machine: inputs in, effects out. No clock, no I/O, no await.
//!
//! Its state is the fold of its own records (`session_store::Replayed`), applied as they are decided, so a session
//! that was restarted is the same by construction. Beside it stands only what no record holds: text that was streamed
//! and is not durable yet, and what a person granted until the session ends.
//!
//! | From | Input | To | Effects |
//! | --- | --- | --- | --- |
//! | idle | submit | running | append, sync, reply, append, start turn |
//! | running, waiting | submit | same | append, sync, reply |
//! | running | turn asks | waiting | append, sync |
//! | waiting | answer or reply (last) | running | append, sync, reply, answer |
//! | running, waiting | cancel | cancelling | append, sync, reply, withdraw questions, cancel turn |
//! | any with a turn | turn ended or lost | idle, or running with the next submit | append, sync |
//! | any with a turn | daemon ends | idle | append results and the end, sync |
//! | any with a turn | other credentials | same | nothing; as below when the turn has ended |
//! | idle | other credentials | idle | append, change over, sync |
//! | any | close | closed | append, sync, reply, cancel turn |

mod input;
mod prompts;
mod replies;
mod streaming;
#[cfg(test)]
mod tests;
mod turns;

use conversation::TurnId;
use permission::Grants;
use protocol::{
    Command, CommandId, Credentials, ErrorBody, ErrorCode, Preset, PromptCommand, Receipt, SessionCommand,
    TurnCommand,
};
use session_store::{
    Record, Replayed, Stored,
    record::{CausedBy, SessionRecord},
};

pub(crate) use input::{Effect, Input, Posture, Timer, TurnPlan};

use self::{prompts::Scopes, streaming::Streaming};
use crate::projection;

/// The effects of one step, in order.
pub(crate) type Effects = Vec<Effect>;

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    /// What its records add up to.
    state: Replayed,
    /// Whether submits that wait are held back, because the turn before them was cut off by the end of a daemon: a
    /// person decides first.
    held: bool,
    /// The credentials to change over to when no turn runs.
    wanted_credentials: Option<Credentials>,
    /// The answer that is being streamed.
    streaming: Option<Streaming>,
    /// Live output of the call that runs: which, and how many bytes were shown.
    output: Option<(conversation::CallId, u64)>,
    /// What answers for the whole session would grant.
    scopes: Scopes,
    grants: Grants,
}

impl Session {
    /// Goes on from what a log holds, after its recovery.
    pub(crate) fn new(state: Replayed, recovered: bool) -> Self {
        Self {
            state,
            held: recovered,
            wanted_credentials: None,
            streaming: None,
            output: None,
            scopes: Scopes::default(),
            grants: Grants::default(),
        }
    }

    /// Decides. Every record appended takes the next number.
    pub(crate) fn step(&mut self, input: Input) -> Effects {
        let mut out = Effects::new();
        match input {
            Input::Command { id, body, command } => self.on_command(id, body, command, &mut out),
            Input::Turn(turn, event) => self.on_turn(turn, event, &mut out),
            Input::Ask(turn, approval) => self.on_ask(turn, approval, &mut out),
            Input::Inquiry(turn, inquiry) => self.on_inquiry(turn, inquiry, &mut out),
            Input::TurnLost(turn, why) => self.on_turn_lost(turn, &why, &mut out),
            Input::Timer(Timer::Checkpoint) => self.checkpoint(&mut out),
            Input::Credentials(wanted) => self.on_credentials(wanted, &mut out),
            Input::Opened => self.start_next(&mut out),
            Input::ShutDown => self.on_shut_down(&mut out),
        }
        out
    }

    /// Gives what its records add up to.
    #[cfg(test)]
    pub(crate) fn state(&self) -> &Replayed {
        &self.state
    }

    /// Says whether it is closed and nothing runs in it any more.
    pub(crate) fn is_over(&self) -> bool {
        self.state.closed && self.running().is_none()
    }

    /// Says whether nothing runs in it and nothing is about to: what waits is held until a person decides.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.running().is_none() && (self.held || self.state.closed || self.state.phase.queued.is_empty())
    }

    /// Gives what it may do without asking.
    pub(crate) fn posture(&self) -> Posture {
        let preset = domain_preset(projection::preset_named(&self.state.preset));
        Posture {
            preset,
            grants: self.grants.clone(),
        }
    }

    fn running(&self) -> Option<TurnId> {
        self.state.phase.turn.as_ref().map(|open| open.turn)
    }

    /// Says whether the running turn is being stopped.
    fn stopping(&self) -> bool {
        self.state.closed
            || self
                .state
                .phase
                .turn
                .as_ref()
                .is_some_and(|open| open.cancel_requested)
    }

    fn on_command(&mut self, id: CommandId, body: String, command: Command, out: &mut Effects) {
        if let Some(reply) = self.repeated(id, &body) {
            out.push(Effect::Reply(reply));
            return;
        }
        if self.state.closed {
            let error =
                ErrorBody::new(ErrorCode::Conflict, "the session is closed").hint("open a new session");
            out.push(Effect::Reply(Err(error)));
            return;
        }
        let by = CausedBy {
            id: id.to_string(),
            body,
        };
        match command {
            Command::Turn(TurnCommand::Submit { text, max_steps }) => {
                self.submit(id, by, text, max_steps, out);
            }
            Command::Turn(TurnCommand::Cancel { turn }) => self.cancel(id, by, TurnId(turn.0), out),
            Command::Prompt(PromptCommand::Answer { prompt, answer }) => {
                self.answer(id, by, prompt, answer, out);
            }
            Command::Prompt(PromptCommand::Reply { prompt, replies }) => {
                self.reply(id, by, prompt, replies, out);
            }
            Command::Session(SessionCommand::SetPreset { preset }) => self.set_preset(id, by, preset, out),
            Command::Session(SessionCommand::Close) => self.close(id, by, out),
        }
    }

    /// Gives the receipt of a command that was accepted before, or the conflict when its body was another one.
    fn repeated(&self, id: CommandId, body: &str) -> Option<Result<Receipt, ErrorBody>> {
        let known = self.state.commands.get(&id.to_string())?;
        if known.body == body {
            return Some(Ok(Receipt {
                id,
                at: known.n,
                turn: known.turn.map(|turn| protocol::TurnId(turn.0)),
            }));
        }
        let message = format!("command {id} was sent before with another body");
        Some(Err(
            ErrorBody::new(ErrorCode::Conflict, message).hint("use a fresh id for every new command")
        ))
    }

    fn set_preset(&mut self, id: CommandId, by: CausedBy, preset: Preset, out: &mut Effects) {
        self.accept(
            id,
            Record::Session(SessionRecord::PresetChanged {
                preset: preset.name().to_owned(),
                by,
            }),
            out,
        );
        self.grants.invalidate();
        out.push(Effect::SetPolicy(self.posture()));
    }

    fn close(&mut self, id: CommandId, by: CausedBy, out: &mut Effects) {
        self.accept(id, Record::Session(SessionRecord::Closed { by }), out);
        self.withdraw_prompts("the session was closed", out);
        if let Some(turn) = self.running() {
            out.push(Effect::CancelTurn(turn));
        }
    }

    /// Writes the record of an accepted command, and answers the command once the record is on disk.
    fn accept(&mut self, id: CommandId, record: Record, out: &mut Effects) {
        self.append(record, out);
        out.push(Effect::Sync);
        let known = self.state.commands.get(&id.to_string());
        let turn = known
            .and_then(|known| known.turn)
            .map(|turn| protocol::TurnId(turn.0));
        out.push(Effect::Reply(Ok(Receipt {
            id,
            at: self.state.last,
            turn,
        })));
    }

    fn append(&mut self, record: Record, out: &mut Effects) {
        // The time matters to readers of the log, not to the state.
        let stored = Stored {
            n: self.state.last + 1,
            at: 0,
            record,
        };
        self.state.apply(&stored);
        out.push(Effect::Append(stored.record));
    }
}

/// Gives the policy's name for a preset of the wire.
pub(crate) fn domain_preset(preset: Preset) -> permission::Preset {
    match preset {
        // A name this version does not know must not permit more than the strictest one.
        Preset::ReadOnly | Preset::Unknown => permission::Preset::ReadOnly,
        Preset::WorkspaceWrite => permission::Preset::WorkspaceWrite,
        Preset::DangerFullAccess => permission::Preset::FullAccess,
    }
}
