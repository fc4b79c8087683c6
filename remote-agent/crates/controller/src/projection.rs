//! Domain to wire: the only place that turns records into events.

use conversation::{
    AssistantMessage, CallOutcome, Cost, FailureKind, PauseReason, Question, TurnId, TurnOutcome, Usage,
};
use protocol::{
    Amount, Answer, CallView, CommandId, Credentials, Event, EventEnvelope, InstanceId, OpenPrompt, Outcome,
    Preset, PromptEvent, PromptId, PromptKind, QuestionOption, Reply, SessionEvent, SessionId, ToolEvent,
    TurnEvent, UsageView, Wait, limits,
};
use session_store::Replayed;
use session_store::record::{CallRecord, CausedBy, PromptRecord, Record, SessionRecord, TurnRecord};

/// Projects the record with number `n` to the event with the same number.
pub(crate) fn event(n: u64, at: u64, record: &Record) -> EventEnvelope {
    let event = match record {
        Record::Session(record) => Event::Session(session(record)),
        Record::Turn(record) => Event::Turn(turn(record)),
        Record::Call(record) => Event::Tool(call(record)),
        Record::Prompt(record) => Event::Prompt(prompt(record)),
        Record::Unknown { .. } => Event::Unknown,
    };
    EventEnvelope { n, at, event }
}

/// Gives what fits where the wire has one line for a person. Whoever decodes a longer one refuses the event, and with
/// it the whole session; a model may call a tool by a name of any length, and a rule may be a whole script.
fn line(text: &str) -> String {
    cut(text, limits::LINE)
}

/// Gives a text of at most `max` bytes; a cut shows.
fn cut(text: &str, max: usize) -> String {
    const CUT: char = '…';
    if text.len() <= max {
        return text.to_owned();
    }
    let mut kept = stdx::bounded::prefix(text, max - CUT.len_utf8()).to_owned();
    kept.push(CUT);
    kept
}

/// Gives the wire's view of token counts.
pub(crate) fn usage(usage: Usage) -> UsageView {
    UsageView {
        input: usage.input,
        cached: usage.cached,
        output: usage.output,
    }
}

fn amount(cost: &Cost) -> Amount {
    Amount {
        currency: cost.currency.clone(),
        micros: cost.micros,
    }
}

fn session(record: &SessionRecord) -> SessionEvent {
    match record {
        SessionRecord::Opened {
            id,
            workspace,
            model,
            preset,
            context_window,
            ..
        } => SessionEvent::Opened {
            session: SessionId(id.parse().unwrap_or_default()),
            workspace: workspace.clone(),
            model: model.clone(),
            preset: preset_named(preset),
            context_window: *context_window,
        },
        SessionRecord::Prefix { system, .. } => SessionEvent::PrefixMade {
            system_bytes: system.len() as u64,
        },
        SessionRecord::ModelChanged {
            model,
            context_window,
        } => SessionEvent::ModelChanged {
            model: model.clone(),
            context_window: *context_window,
        },
        SessionRecord::CredentialsChanged { credentials } => SessionEvent::CredentialsChanged {
            credentials: Credentials::named(credentials),
        },
        SessionRecord::PresetChanged { preset, by } => SessionEvent::PresetChanged {
            preset: preset_named(preset),
            command: command(by),
        },
        SessionRecord::Ignored { by, reason } => SessionEvent::CommandIgnored {
            command: command(by),
            reason: line(reason),
        },
        SessionRecord::Resumed { instance } => SessionEvent::Resumed {
            instance: InstanceId(instance.parse().unwrap_or_default()),
        },
        SessionRecord::Closed { by } => SessionEvent::Closed { command: command(by) },
    }
}

fn turn(record: &TurnRecord) -> TurnEvent {
    match record {
        TurnRecord::Submitted { turn, text, by, .. } => TurnEvent::Submitted {
            turn: turn_id(*turn),
            text: text.clone(),
            command: command(by),
        },
        TurnRecord::Started { turn } => TurnEvent::Started { turn: turn_id(*turn) },
        TurnRecord::Partial {
            turn,
            item,
            offset,
            text,
        } => TurnEvent::Partial {
            turn: turn_id(*turn),
            item: item.0,
            offset: *offset,
            text: text.clone(),
        },
        TurnRecord::Discarded { turn, item, reason } => TurnEvent::Discarded {
            turn: turn_id(*turn),
            item: item.0,
            reason: line(reason),
        },
        TurnRecord::Waiting { turn, what } => TurnEvent::Waiting {
            turn: turn_id(*turn),
            what: match what.as_str() {
                WAITS_FOR_CREDENTIALS => Wait::Credentials,
                _ => Wait::Unknown,
            },
        },
        TurnRecord::WentOn { turn } => TurnEvent::WentOn { turn: turn_id(*turn) },
        TurnRecord::AskedAgain { turn, reason } => TurnEvent::AskedAgain {
            turn: turn_id(*turn),
            reason: line(reason),
        },
        TurnRecord::Assistant { turn, item, message } => assistant(*turn, item.0, message),
        TurnRecord::CancelRequested { turn, by } => TurnEvent::CancelRequested {
            turn: turn_id(*turn),
            command: command(by),
        },
        TurnRecord::Ended {
            turn,
            outcome: how,
            usage: used,
        } => TurnEvent::Ended {
            turn: turn_id(*turn),
            outcome: outcome(how),
            usage: usage(*used),
        },
    }
}

fn assistant(turn: TurnId, item: u64, message: &AssistantMessage) -> TurnEvent {
    let calls = message.calls.iter().map(|call| CallView {
        id: call.id.0.clone(),
        name: line(&call.name),
        arguments: call.arguments.clone(),
    });
    TurnEvent::Assistant {
        turn: turn_id(turn),
        item,
        text: message.text.clone(),
        reasoning: message.reasoning.clone(),
        calls: calls.collect(),
        usage: message.usage.map(usage),
        cost: message.cost.as_ref().map(amount),
    }
}

fn call(record: &CallRecord) -> ToolEvent {
    match record {
        CallRecord::Started { turn, call } => ToolEvent::Started {
            turn: turn_id(*turn),
            call: call.0.clone(),
        },
        CallRecord::Finished { turn, result } => ToolEvent::Finished {
            turn: turn_id(*turn),
            call: result.call.0.clone(),
            outcome: call_outcome(result.outcome),
            output: result.content.clone(),
        },
    }
}

fn prompt(record: &PromptRecord) -> PromptEvent {
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
        } => PromptEvent::Opened {
            prompt: OpenPrompt {
                id: PromptId(*prompt),
                turn: turn_id(*turn),
                call: call.0.clone(),
                tool: cut(tool, limits::NAME),
                subject: subject.clone(),
                reason: line(reason),
                scope: scope.as_deref().map(line),
                kind: kind(questions),
            },
        },
        PromptRecord::Answered {
            prompt,
            answer,
            replies,
            by,
        } => PromptEvent::Answered {
            prompt: PromptId(*prompt),
            answer: answer_named(answer),
            replies: replies.iter().map(reply).collect(),
            command: command(by),
        },
        PromptRecord::Withdrawn { prompt, reason } => PromptEvent::Withdrawn {
            prompt: PromptId(*prompt),
            reason: line(reason),
        },
    }
}

fn kind(questions: &[Question]) -> PromptKind {
    if questions.is_empty() {
        return PromptKind::Approval;
    }
    PromptKind::Question {
        questions: questions.iter().map(question).collect(),
    }
}

fn question(question: &Question) -> protocol::Question {
    let option = |option: &conversation::QuestionOption| QuestionOption {
        label: option.label.clone(),
        description: option.description.clone(),
    };
    protocol::Question {
        header: question.header.clone(),
        text: question.text.clone(),
        options: question.options.iter().map(option).collect(),
        multi_select: question.multi_select,
        free_text: question.free_text,
    }
}

fn reply(reply: &conversation::Reply) -> Reply {
    Reply {
        chosen: reply.chosen.clone(),
        text: reply.text.clone(),
    }
}

fn outcome(outcome: &TurnOutcome) -> Outcome {
    match outcome {
        TurnOutcome::Completed => Outcome::Completed,
        TurnOutcome::Cancelled => Outcome::Cancelled,
        TurnOutcome::Interrupted => Outcome::Interrupted,
        TurnOutcome::Paused {
            reason: PauseReason::MaxSteps,
        } => Outcome::Paused {
            reason: "the limit of tool rounds was reached".to_owned(),
        },
        TurnOutcome::Failed(failure) => Outcome::Failed {
            kind: failure_kind(failure.kind).to_owned(),
            message: failure.message.clone(),
            hint: failure.hint.as_deref().map(line),
        },
    }
}

fn failure_kind(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::ModelAccess => "model_access",
        FailureKind::ModelUnreachable => "model_unreachable",
        FailureKind::ModelProtocol => "model_protocol",
        FailureKind::ModelRefused => "model_refused",
        FailureKind::Internal => "internal",
    }
}

fn call_outcome(outcome: CallOutcome) -> protocol::CallOutcome {
    match outcome {
        CallOutcome::Ok => protocol::CallOutcome::Ok,
        CallOutcome::Failed => protocol::CallOutcome::Failed,
        CallOutcome::Denied => protocol::CallOutcome::Denied,
        CallOutcome::Cancelled => protocol::CallOutcome::Cancelled,
        CallOutcome::Interrupted => protocol::CallOutcome::Interrupted,
        CallOutcome::Unknown => protocol::CallOutcome::Unknown,
    }
}

fn turn_id(turn: TurnId) -> protocol::TurnId {
    protocol::TurnId(turn.0)
}

/// Gives the command's id; a log that was edited by hand gives the nil id rather than an unreadable session.
fn command(by: &CausedBy) -> CommandId {
    CommandId(by.id.parse().unwrap_or_default())
}

/// What a turn without a broker waits for, in a log's word.
pub(crate) const WAITS_FOR_CREDENTIALS: &str = "credentials";

/// Gives the credentials of a session. A word that this version does not know is no reason to look for a key.
pub(crate) fn credentials(state: &Replayed) -> Credentials {
    match state.credentials.as_str() {
        "" | "host" => Credentials::Host,
        _ => Credentials::Broker,
    }
}

/// Gives the preset of a log; one this version does not know is the strictest.
pub(crate) fn preset_named(name: &str) -> Preset {
    name.parse().unwrap_or(Preset::ReadOnly)
}

fn answer_named(name: &str) -> Answer {
    match name {
        "allow_once" => Answer::AllowOnce,
        "allow_session" => Answer::AllowSession,
        "replied" => Answer::Replied,
        "nobody" => Answer::Nobody,
        _ => Answer::Deny,
    }
}
