//! One value of every wire type and variant, under the name of its golden file.

use protocol::{
    Amount, Answer, Build, CallOutcome, CallView, Command, CommandId, CommandRequest, Credentials, Delta,
    DeltaTarget, DrainReply, DrainRequest, ErrorBody, ErrorCode, ErrorResponse, Event, EventEnvelope, Frame,
    Hello, HistoryPage, Identity, InstanceId, Item, OpenPrompt, OpenSession, Outcome, Phase, Preset,
    PromptCommand, PromptEvent, PromptId, PromptKind, Question, QuestionOption, Receipt, Reply,
    SessionCommand, SessionEvent, SessionId, SessionInfo, SessionList, ShutdownReply, ShutdownRequest,
    Snapshot, ToolEvent, ToolState, TurnCommand, TurnEvent, TurnId, UsageView, VersionRange,
};
use serde_json::Value;
use uuid::Uuid;

use crate::{brokered, ports, turns::turn_events};

pub(crate) const TURN: TurnId = TurnId(3);

pub(crate) fn session() -> SessionId {
    SessionId(Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0001))
}

pub(crate) fn command() -> CommandId {
    CommandId(Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0002))
}

pub(crate) fn instance() -> InstanceId {
    InstanceId(Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0003))
}

/// Gives `(type, variant, value as JSON)` for everything that crosses the wire.
pub(crate) fn all() -> Vec<(&'static str, String, Value)> {
    let mut out = Vec::new();
    let mut add = |kind, variant: &str, value: Value| out.push((kind, variant.to_owned(), value));
    for (variant, event) in events() {
        let envelope = EventEnvelope {
            n: 7,
            at: 1_790_000_000_123,
            event,
        };
        add("frame", &format!("event.{variant}"), json(Frame::Event(envelope)));
    }
    for (variant, target) in targets() {
        let text = "und 汉字 👩‍💻".to_owned();
        let delta = Delta {
            target,
            offset: 12,
            text,
        };
        add("frame", &format!("delta.{variant}"), json(Frame::Delta(delta)));
    }
    add("frame", "snapshot", json(Frame::Snapshot(Box::new(snapshot()))));
    let measured = json(Frame::Snapshot(Box::new(measured())));
    add("frame", "snapshot_measured", measured);
    for (variant, command) in commands() {
        let request = CommandRequest {
            id: self::command(),
            command,
        };
        add("command_request", variant, json(request));
    }
    for (variant, outcome) in outcomes() {
        add("outcome", variant, json(outcome));
    }
    for (variant, phase) in phases() {
        add("phase", variant, json(phase));
    }
    for code in error_codes() {
        let name = json(code).as_str().unwrap().to_owned();
        add("error", &name, json(error(code)));
    }
    let others = brokered::all().into_iter().chain(ports::all());
    for (kind, variant, value) in queries().into_iter().chain(draining()).chain(others) {
        add(kind, variant, value);
    }
    out
}

pub(crate) fn json(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

fn error(code: ErrorCode) -> ErrorResponse {
    let mut body = ErrorBody::new(code, "what happened and where");
    if code == ErrorCode::Busy {
        body = body.hint("try again");
        body.retryable = true;
    }
    ErrorResponse { error: body }
}

fn error_codes() -> Vec<ErrorCode> {
    vec![
        ErrorCode::BadRequest,
        ErrorCode::TooLarge,
        ErrorCode::Denied,
        ErrorCode::NotFound,
        ErrorCode::Conflict,
        ErrorCode::HeldElsewhere,
        ErrorCode::Busy,
        ErrorCode::Workspace,
        ErrorCode::ModelAccess,
        ErrorCode::Configuration,
        ErrorCode::Draining,
        ErrorCode::Unreachable,
        ErrorCode::Internal,
    ]
}

pub(crate) fn events() -> Vec<(&'static str, Event)> {
    let mut out = Vec::new();
    out.extend(session_events().map(|(name, event)| (name, Event::Session(event))));
    out.extend(turn_events().map(|(name, event)| (name, Event::Turn(event))));
    out.extend(tool_events().map(|(name, event)| (name, Event::Tool(event))));
    out.extend(prompt_events().map(|(name, event)| (name, Event::Prompt(event))));
    out
}

fn session_events() -> impl Iterator<Item = (&'static str, SessionEvent)> {
    let opened = SessionEvent::Opened {
        session: session(),
        workspace: "/home/ann/work".into(),
        model: "main".into(),
        preset: Preset::WorkspaceWrite,
        context_window: None,
    };
    let measured = SessionEvent::Opened {
        session: session(),
        workspace: "/home/ann/work".into(),
        model: "main".into(),
        preset: Preset::WorkspaceWrite,
        context_window: Some(1_000_000),
    };
    let model = SessionEvent::ModelChanged {
        model: "main/large".into(),
        context_window: Some(200_000),
    };
    let preset = SessionEvent::PresetChanged {
        preset: Preset::ReadOnly,
        command: command(),
    };
    let ignored = SessionEvent::CommandIgnored {
        command: command(),
        reason: "the turn had ended".into(),
    };
    let credentials = SessionEvent::CredentialsChanged {
        credentials: Credentials::Broker,
    };
    [
        ("session.credentials_changed", credentials),
        ("session.opened", opened),
        ("session.opened_with_window", measured),
        ("session.model_changed", model),
        (
            "session.prefix_made",
            SessionEvent::PrefixMade { system_bytes: 4096 },
        ),
        ("session.preset_changed", preset),
        ("session.command_ignored", ignored),
        ("session.resumed", SessionEvent::Resumed { instance: instance() }),
        ("session.closed", SessionEvent::Closed { command: command() }),
    ]
    .into_iter()
}

fn tool_events() -> impl Iterator<Item = (&'static str, ToolEvent)> {
    let finished = |outcome| ToolEvent::Finished {
        turn: TURN,
        call: "call_1".into(),
        outcome,
        output: "a\nb\n".into(),
    };
    [
        (
            "tool.started",
            ToolEvent::Started {
                turn: TURN,
                call: "call_1".into(),
            },
        ),
        ("tool.finished_ok", finished(CallOutcome::Ok)),
        ("tool.finished_failed", finished(CallOutcome::Failed)),
        ("tool.finished_denied", finished(CallOutcome::Denied)),
        ("tool.finished_cancelled", finished(CallOutcome::Cancelled)),
        ("tool.finished_interrupted", finished(CallOutcome::Interrupted)),
        ("tool.finished_unknown", finished(CallOutcome::Unknown)),
    ]
    .into_iter()
}

fn prompt_events() -> impl Iterator<Item = (&'static str, PromptEvent)> {
    let answered = |answer| PromptEvent::Answered {
        prompt: PromptId(1),
        answer,
        replies: vec![],
        command: command(),
    };
    let replied = PromptEvent::Answered {
        prompt: PromptId(2),
        answer: Answer::Replied,
        replies: replies(),
        command: command(),
    };
    let withdrawn = PromptEvent::Withdrawn {
        prompt: PromptId(1),
        reason: "the turn was cancelled".into(),
    };
    [
        ("prompt.opened", PromptEvent::Opened { prompt: prompt() }),
        (
            "prompt.opened_question",
            PromptEvent::Opened {
                prompt: question_prompt(),
            },
        ),
        ("prompt.answered_replied", replied),
        ("prompt.answered_nobody", answered(Answer::Nobody)),
        ("prompt.answered_allow_once", answered(Answer::AllowOnce)),
        ("prompt.answered_allow_session", answered(Answer::AllowSession)),
        ("prompt.answered_deny", answered(Answer::Deny)),
        ("prompt.withdrawn", withdrawn),
    ]
    .into_iter()
}

fn targets() -> [(&'static str, DeltaTarget); 3] {
    [
        ("text", DeltaTarget::Text { item: 5 }),
        ("reasoning", DeltaTarget::Reasoning { item: 5 }),
        (
            "output",
            DeltaTarget::Output {
                call: "call_1".into(),
            },
        ),
    ]
}

fn commands() -> [(&'static str, Command); 7] {
    let submit = TurnCommand::Submit {
        text: "fix it".into(),
        max_steps: 25,
    };
    let answer = PromptCommand::Answer {
        prompt: PromptId(1),
        answer: Answer::AllowOnce,
    };
    let nobody = PromptCommand::Answer {
        prompt: PromptId(2),
        answer: Answer::Nobody,
    };
    let reply = PromptCommand::Reply {
        prompt: PromptId(2),
        replies: replies(),
    };
    let preset = SessionCommand::SetPreset {
        preset: Preset::DangerFullAccess,
    };
    [
        ("turn.submit", Command::Turn(submit)),
        ("turn.cancel", Command::Turn(TurnCommand::Cancel { turn: TURN })),
        ("prompt.answer", Command::Prompt(answer)),
        ("prompt.answer_nobody", Command::Prompt(nobody)),
        ("prompt.reply", Command::Prompt(reply)),
        ("session.set_preset", Command::Session(preset)),
        ("session.close", Command::Session(SessionCommand::Close)),
    ]
}

fn outcomes() -> [(&'static str, Outcome); 5] {
    let failed = Outcome::Failed {
        kind: "model_access".into(),
        message: "no key".into(),
        hint: Some("reasonix remote key HOST NAME".into()),
    };
    let paused = Outcome::Paused {
        reason: "25 tool rounds".into(),
    };
    [
        ("completed", Outcome::Completed),
        ("cancelled", Outcome::Cancelled),
        ("failed", failed),
        ("paused", paused),
        ("interrupted", Outcome::Interrupted),
    ]
}

fn phases() -> [(&'static str, Phase); 5] {
    [
        ("idle", Phase::Idle),
        ("running", Phase::Running { turn: TURN }),
        ("waiting", Phase::Waiting { turn: TURN }),
        ("cancelling", Phase::Cancelling { turn: TURN }),
        ("closed", Phase::Closed),
    ]
}

fn queries() -> Vec<(&'static str, &'static str, Value)> {
    let open = OpenSession {
        session: session(),
        workspace: Some("~/work".into()),
        model: Some("main".into()),
        preset: Some(Preset::ReadOnly),
        credentials: None,
    };
    let resume = OpenSession {
        workspace: None,
        model: None,
        preset: None,
        ..open.clone()
    };
    let event = EventEnvelope {
        n: 1,
        at: 0,
        event: Event::Turn(TurnEvent::Started { turn: TURN }),
    };
    let page = HistoryPage {
        events: vec![event],
        newest: 9,
    };
    let reply = ShutdownReply {
        stopping: false,
        running: vec![session()],
    };
    let receipt = Receipt {
        id: command(),
        at: 8,
        turn: Some(TURN),
    };
    let without = Receipt {
        turn: None,
        ..receipt.clone()
    };
    let sessions = SessionList {
        sessions: vec![info()],
    };
    let counted = SessionInfo {
        turns: Some(12),
        phase: None,
        ..info()
    };
    let counted = SessionList {
        sessions: vec![counted],
    };
    vec![
        ("hello", "hello", json(hello())),
        (
            "hello",
            "with_key_agent_socket",
            json(Hello {
                key_agent_socket: Some("/tmp/reasonix-1000-0a0b0c0d-keys/agent.sock".into()),
                ..hello()
            }),
        ),
        ("open_session", "new", json(open)),
        ("open_session", "resume", json(resume)),
        ("session_list", "one", json(sessions)),
        ("session_list", "counted", json(counted)),
        ("history_page", "one", json(page)),
        ("shutdown_request", "force", json(ShutdownRequest { force: true })),
        ("shutdown_reply", "running", json(reply)),
        ("receipt", "turn", json(receipt)),
        ("receipt", "plain", json(without)),
    ]
}

fn draining() -> Vec<(&'static str, &'static str, Value)> {
    let successor = DrainRequest {
        successor: Some("/tmp/reasonix-0-x/1/s".into()),
    };
    let running = vec![session()];
    let held_by = Some("/tmp/reasonix-0-x/s".into());
    let held = SessionInfo { held_by, ..info() };
    let sessions = vec![held];
    vec![
        ("drain_request", "plain", json(DrainRequest::default())),
        ("drain_request", "successor", json(successor)),
        ("drain_reply", "running", json(DrainReply { running })),
        ("session_list", "held", json(SessionList { sessions })),
    ]
}

fn info() -> SessionInfo {
    SessionInfo {
        held_by: None,
        session: session(),
        workspace: "/home/ann/work".into(),
        title: "fix it".into(),
        changed_at: 1_790_000_000_123,
        phase: Some(Phase::Idle),
        turns: None,
    }
}

fn hello() -> Hello {
    Hello {
        protocol: VersionRange { min: 1, max: 1 },
        build: Build {
            version: "0.1.0".into(),
            target: "x86_64-unknown-linux-gnu".into(),
        },
        identity: Identity {
            instance: instance(),
            pid: 4711,
            start_time: 123_456,
            boot_id: "b0".into(),
            machine: "m0".into(),
            uid: 1000,
            socket: "/tmp/reasonix-1000-0a0b0c0d/agent.sock".into(),
            program: "/home/ann/.reasonix/bin/reasonix-0.1.0-abcdef012345".into(),
        },
        capabilities: vec!["events".into()],
        draining: false,
        key_agent_socket: None,
    }
}

pub(crate) fn call() -> CallView {
    CallView {
        id: "call_1".into(),
        name: "bash".into(),
        arguments: r#"{"command":"ls"}"#.into(),
    }
}

pub(crate) fn usage() -> UsageView {
    UsageView {
        input: 1000,
        cached: 900,
        output: 50,
    }
}

fn prompt() -> OpenPrompt {
    OpenPrompt {
        id: PromptId(1),
        turn: TURN,
        call: "call_1".into(),
        tool: "bash".into(),
        subject: "rm -r build".into(),
        reason: "no rule allows it".into(),
        scope: Some("bash(rm -r build)".into()),
        kind: PromptKind::Approval,
    }
}

pub(crate) fn cost() -> Amount {
    Amount {
        currency: "USD".into(),
        micros: 1_234,
    }
}

fn question_prompt() -> OpenPrompt {
    let option = |label: &str, description: &str| QuestionOption {
        label: label.into(),
        description: description.into(),
    };
    let one = Question {
        header: "Storage".into(),
        text: "Where should the data live?".into(),
        options: vec![option("SQLite", "one file"), option("汉字", "")],
        multi_select: false,
        free_text: true,
    };
    let several = Question {
        header: "Tests".into(),
        text: "Which tests should run?".into(),
        multi_select: true,
        free_text: false,
        ..one.clone()
    };
    OpenPrompt {
        id: PromptId(2),
        tool: "ask".into(),
        subject: "Where should the data live?\nWhich tests should run?".into(),
        reason: "the model asks".into(),
        scope: None,
        kind: PromptKind::Question {
            questions: vec![one, several],
        },
        ..prompt()
    }
}

fn replies() -> Vec<Reply> {
    let several = Reply {
        chosen: vec!["SQLite".into(), "汉字".into()],
        text: None,
    };
    vec![Reply::words("in memory, for now"), several, Reply::default()]
}

/// A snapshot with every kind of transcript item and tool state.
pub(crate) fn snapshot() -> Snapshot {
    let tool = |call: &str, state| Item::Tool {
        turn: TURN,
        call: call.into(),
        name: "bash".into(),
        arguments: "{}".into(),
        state,
        output: "out".into(),
    };
    let done = ToolState::Done {
        outcome: CallOutcome::Failed,
    };
    let mut snapshot = Snapshot::empty(session());
    snapshot.at = 42;
    snapshot.phase = Phase::Waiting { turn: TURN };
    snapshot.items = [
        Item::User {
            turn: TURN,
            text: "fix it".into(),
        },
        Item::Assistant {
            turn: TURN,
            id: 5,
            text: "so far".into(),
            reasoning: "hm".into(),
            complete: false,
            recorded: 3,
        },
        tool("call_0", done),
        tool("call_1", ToolState::Running),
        tool("call_2", ToolState::Pending),
        Item::TurnEnd {
            turn: TurnId(2),
            outcome: Outcome::Completed,
            usage: usage(),
        },
    ]
    .into();
    snapshot.items_before = 2;
    snapshot.prompts = vec![prompt()];
    snapshot.queue = vec![TurnId(4)];
    snapshot.usage = usage();
    snapshot
}

/// A snapshot with a question of the model, and what requests took.
fn measured() -> Snapshot {
    let mut snapshot = snapshot();
    snapshot.prompts.push(question_prompt());
    snapshot.context.used = Some(1_000);
    snapshot.context.window = Some(200_000);
    snapshot.cost.add(Some(&cost()));
    snapshot.cost.add(None);
    snapshot
}
