//! What a session's records add up to. Pure: no file is touched.
//!
//! The fold is also meant for a running session: apply each record as it is written, and the state after a restart is
//! the same by construction. It never fails. Records that are lost to damage leave the state valid: a result without
//! its call is dropped, a call without its result is answered when its turn goes on, and turns that lost their start
//! or their end are started or ended by what follows.

use std::collections::HashMap;

use conversation::{CallId, ItemId, Message, Question, ToolCall, TurnId, Usage};

use crate::{
    Record, Stored,
    record::{CallRecord, CausedBy, Parent, PromptRecord, SessionRecord, TurnRecord},
};

/// The state of a session after a number of records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replayed {
    /// The number of the last record applied.
    pub last: u64,
    /// How the session was opened; `None` when that record is lost.
    pub opened: Option<Opened>,
    /// The fixed prefix of its model requests, once made. It is not part of `transcript`.
    pub prefix: Option<Prefix>,
    /// What is known of the model in use; `None` when its record is lost.
    pub model: Option<Model>,
    /// The permission preset in force; empty when its record is lost.
    pub preset: String,
    /// Whose credentials its models are asked with; empty for those of the host.
    pub credentials: String,
    /// Whether it was closed by a command.
    pub closed: bool,
    /// The highest numbers used so far.
    pub counters: Counters,
    /// The conversation as the model must see it, after the prefix. While calls run, their results are missing;
    /// everything else is paired. Results stand in the order of the calls, whatever finished first.
    pub transcript: Vec<Message>,
    /// What goes on.
    pub phase: Phase,
    /// Accepted commands by id.
    pub commands: HashMap<String, Receipt>,
    /// Tokens used by all turns that have ended.
    pub usage: Usage,
}

/// The model of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// The model reference.
    pub reference: String,
    /// How many tokens fit into its context window; `None` when nobody said.
    pub context_window: Option<u64>,
}

/// How a session was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The session's id.
    pub id: String,
    /// SHA-256 of the canonical request that opened it.
    pub request: String,
    /// The absolute workspace folder.
    pub workspace: String,
    /// The model reference at that time.
    pub model: String,
    /// From where it was forked.
    pub parent: Option<Parent>,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
}

/// The fixed prefix of a session's model requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix {
    /// The system text.
    pub system: String,
    /// The message before the first turn.
    pub context: String,
}

/// The highest numbers used in a session; the next ones are one higher.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Of turns.
    pub turns: u64,
    /// Of streamed messages.
    pub items: u64,
    /// Of questions.
    pub prompts: u64,
}

/// What goes on in a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Phase {
    /// The turn that runs.
    pub turn: Option<OpenTurn>,
    /// Submits whose turn has not started, in order.
    pub queued: Vec<Queued>,
    /// Questions that wait for an answer, in order.
    pub prompts: Vec<OpenPrompt>,
    /// Calls without a result, in the order in which the model asked for them.
    pub calls: Vec<OpenCall>,
    /// The streamed message that is not complete.
    pub partial: Option<Partial>,
}

/// A turn that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTurn {
    /// The turn.
    pub turn: TurnId,
    /// Tool rounds after which it pauses; 0 for no limit.
    pub max_steps: u32,
    /// Whether a person asked it to stop.
    pub cancel_requested: bool,
    /// Tokens that its complete messages used.
    pub usage: Usage,
}

/// A submit that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    /// The turn that will answer it.
    pub turn: TurnId,
    /// The text as typed.
    pub text: String,
    /// Tool rounds after which the turn pauses; 0 for no limit.
    pub max_steps: u32,
    /// The command.
    pub by: CausedBy,
}

/// A question that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPrompt {
    /// Its number.
    pub prompt: u64,
    /// The turn that waits.
    pub turn: TurnId,
    /// The call that needs approval, or asks.
    pub call: CallId,
    /// The tool's name.
    pub tool: String,
    /// What it would act on.
    pub subject: String,
    /// Why a person is asked.
    pub reason: String,
    /// The wider permission that can be granted for the session.
    pub scope: Option<String>,
    /// What the model asks; empty for a request for approval.
    pub questions: Vec<Question>,
}

/// A call without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCall {
    /// The turn.
    pub turn: TurnId,
    /// What the model asked for.
    pub call: ToolCall,
    /// The call's place among the calls of its message, from 0.
    pub place: usize,
    /// Whether the tool was started.
    pub started: bool,
}

/// A streamed message that is not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partial {
    /// The turn.
    pub turn: TurnId,
    /// The message.
    pub item: ItemId,
    /// The text so far.
    pub text: String,
    /// Where the next piece starts in the message as it was streamed, in bytes; more than the length of `text` where
    /// a piece is lost.
    pub end: u64,
}

/// That a command was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// SHA-256 of the canonical command body, in hex.
    pub body: String,
    /// The record that the command caused.
    pub n: u64,
    /// The turn that the command concerns; for a submit the one that answers it.
    pub turn: Option<TurnId>,
}

/// Folds records into a state.
#[must_use]
pub fn replay<'a>(records: impl IntoIterator<Item = &'a Stored>) -> Replayed {
    let mut state = Replayed::default();
    for stored in records {
        state.apply(stored);
    }
    state
}

impl Replayed {
    /// Applies the next record.
    pub fn apply(&mut self, stored: &Stored) {
        self.last = stored.n;
        if let Some(by) = stored.record.caused_by() {
            // The first record of a command is its receipt.
            let receipt = || Receipt {
                body: by.body.clone(),
                n: stored.n,
                turn: stored.record.commanded_turn(),
            };
            self.commands.entry(by.id.clone()).or_insert_with(receipt);
        }
        match &stored.record {
            Record::Session(record) => self.apply_session(record, stored.at),
            Record::Turn(record) => self.apply_turn(record),
            Record::Call(record) => self.apply_call(record),
            Record::Prompt(record) => self.apply_prompt(record),
            Record::Unknown { .. } => {}
        }
    }

    fn apply_session(&mut self, record: &SessionRecord, at: u64) {
        match record {
            SessionRecord::Opened {
                id,
                request,
                workspace,
                model,
                preset,
                context_window,
                parent,
            } => {
                self.set_model(model, *context_window);
                preset.clone_into(&mut self.preset);
                self.opened = Some(Opened {
                    id: id.clone(),
                    request: request.clone(),
                    workspace: workspace.clone(),
                    model: model.clone(),
                    parent: parent.clone(),
                    at,
                });
            }
            SessionRecord::Prefix { system, context } => {
                self.prefix = Some(Prefix {
                    system: system.clone(),
                    context: context.clone(),
                });
            }
            SessionRecord::ModelChanged {
                model,
                context_window,
            } => self.set_model(model, *context_window),
            SessionRecord::CredentialsChanged { credentials } => {
                credentials.clone_into(&mut self.credentials);
            }
            SessionRecord::PresetChanged { preset, .. } => preset.clone_into(&mut self.preset),
            SessionRecord::Closed { .. } => self.closed = true,
            SessionRecord::Ignored { .. } | SessionRecord::Resumed { .. } => {}
        }
    }

    fn apply_turn(&mut self, record: &TurnRecord) {
        match record {
            TurnRecord::Submitted {
                turn,
                text,
                max_steps,
                by,
            } => {
                self.count_turn(*turn);
                let (text, by) = (text.clone(), by.clone());
                self.phase.queued.push(Queued {
                    turn: *turn,
                    text,
                    max_steps: *max_steps,
                    by,
                });
            }
            TurnRecord::Started { turn } => self.ensure_turn(*turn),
            TurnRecord::Partial {
                turn,
                item,
                offset,
                text,
            } => {
                self.ensure_turn(*turn);
                self.add_partial(*turn, *item, *offset, text);
            }
            TurnRecord::Discarded { turn, item, .. } => {
                self.ensure_turn(*turn);
                self.discard(*item);
            }
            TurnRecord::Assistant { turn, item, message } => {
                self.ensure_turn(*turn);
                if let Some(open) = &mut self.phase.turn {
                    open.usage += message.usage.unwrap_or_default();
                }
                self.add_assistant(*turn, *item, message);
            }
            TurnRecord::Waiting { turn, .. }
            | TurnRecord::WentOn { turn }
            | TurnRecord::AskedAgain { turn, .. } => self.ensure_turn(*turn),
            TurnRecord::CancelRequested { turn, .. } => {
                if let Some(open) = self.phase.turn.as_mut().filter(|open| open.turn == *turn) {
                    open.cancel_requested = true;
                }
            }
            TurnRecord::Ended { turn, usage, .. } => self.end_turn(*turn, *usage),
        }
    }

    fn apply_call(&mut self, record: &CallRecord) {
        match record {
            CallRecord::Started { turn, call } => {
                self.ensure_turn(*turn);
                if let Some(open) = self.phase.calls.iter_mut().find(|open| open.call.id == *call) {
                    open.started = true;
                }
            }
            CallRecord::Finished { result, .. } => self.add_result(result),
        }
    }

    fn apply_prompt(&mut self, record: &PromptRecord) {
        match record {
            PromptRecord::Opened {
                prompt,
                turn,
                call,
                tool,
                subject,
                reason,
                scope,
                questions,
            } => {
                self.ensure_turn(*turn);
                self.counters.prompts = self.counters.prompts.max(*prompt);
                self.phase.prompts.push(OpenPrompt {
                    prompt: *prompt,
                    turn: *turn,
                    call: call.clone(),
                    tool: tool.clone(),
                    subject: subject.clone(),
                    reason: reason.clone(),
                    scope: scope.clone(),
                    questions: questions.clone(),
                });
            }
            PromptRecord::Answered { prompt, .. } | PromptRecord::Withdrawn { prompt, .. } => {
                self.phase.prompts.retain(|open| open.prompt != *prompt);
            }
        }
    }

    fn set_model(&mut self, reference: &str, context_window: Option<u64>) {
        self.model = Some(Model {
            reference: reference.to_owned(),
            context_window,
        });
    }

    fn count_turn(&mut self, turn: TurnId) {
        self.counters.turns = self.counters.turns.max(turn.0);
    }

    /// Makes `turn` the one that runs, also when the record of its start, or of the end of the one before, is lost.
    fn ensure_turn(&mut self, turn: TurnId) {
        if self.phase.turn.as_ref().is_some_and(|open| open.turn == turn) {
            return;
        }
        self.close_turn();
        self.count_turn(turn);
        let place = self.phase.queued.iter().position(|queued| queued.turn == turn);
        let submit = place.map(|place| self.phase.queued.remove(place));
        let max_steps = submit.as_ref().map_or(0, |submit| submit.max_steps);
        self.add_user(submit.map(|submit| submit.text));
        self.phase.turn = Some(OpenTurn {
            turn,
            max_steps,
            cancel_requested: false,
            usage: Usage::default(),
        });
    }

    fn end_turn(&mut self, turn: TurnId, usage: Usage) {
        self.count_turn(turn);
        self.phase.queued.retain(|queued| queued.turn != turn);
        if let Some(open) = self.phase.turn.as_mut().filter(|open| open.turn == turn) {
            open.usage = usage;
            self.close_turn();
        } else {
            self.usage += usage;
        }
    }

    /// Ends the turn that runs, if one does, leaving nothing of it open.
    fn close_turn(&mut self) {
        let Some(open) = self.phase.turn.take() else {
            return;
        };
        self.usage += open.usage;
        self.settle_calls();
        self.keep_partial();
        self.phase.prompts.retain(|prompt| prompt.turn != open.turn);
    }
}

impl Record {
    /// Gives the turn that a command was about.
    fn commanded_turn(&self) -> Option<TurnId> {
        match self {
            Self::Turn(TurnRecord::Submitted { turn, .. } | TurnRecord::CancelRequested { turn, .. }) => {
                Some(*turn)
            }
            _ => None,
        }
    }

    /// Gives the command that caused the record, if one did.
    #[must_use]
    pub fn caused_by(&self) -> Option<&CausedBy> {
        match self {
            Self::Session(
                SessionRecord::PresetChanged { by, .. }
                | SessionRecord::Ignored { by, .. }
                | SessionRecord::Closed { by },
            )
            | Self::Turn(TurnRecord::Submitted { by, .. } | TurnRecord::CancelRequested { by, .. })
            | Self::Prompt(PromptRecord::Answered { by, .. }) => Some(by),
            _ => None,
        }
    }
}
