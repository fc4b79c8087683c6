//! Records, scenarios and folders that the tests share.

use std::path::Path;

use conversation::{
    AssistantMessage, CallId, CallOutcome, Cost, Failure, FailureKind, Finish, ItemId, Message, Question,
    QuestionOption, Reply, ToolCall, TurnId, TurnOutcome, Usage,
};
use session_store::{
    Log, Record, Stored,
    record::{CallRecord, CausedBy, Parent, PromptRecord, SessionRecord, TurnRecord},
};

/// 2026-01-02T03:04:05.678Z.
pub(crate) const AT: u64 = 1_767_323_045_678;

/// A folder in memory where the machine has one, since some tests open thousands of logs.
pub(crate) fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory)
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

pub(crate) fn write_all(log: &mut Log, records: &[Record]) -> Vec<Stored> {
    records
        .iter()
        .zip(log.last()..)
        .map(|(record, n)| log.append(record, AT + n).unwrap())
        .collect()
}

pub(crate) fn by(id: &str) -> CausedBy {
    CausedBy {
        id: id.to_owned(),
        body: "ab".repeat(32),
    }
}

pub(crate) fn opened() -> Record {
    Record::Session(SessionRecord::Opened {
        id: "0190b1c2-0000-7000-8000-000000000001".to_owned(),
        request: "cd".repeat(32),
        workspace: "/srv/app".to_owned(),
        model: "deepseek/chat".to_owned(),
        preset: "ask".to_owned(),
        context_window: None,
        parent: None,
    })
}

pub(crate) fn submitted(turn: u64, text: &str) -> Record {
    let by = by(&format!("submit-{turn}"));
    Record::Turn(TurnRecord::Submitted {
        turn: TurnId(turn),
        text: text.to_owned(),
        max_steps: 0,
        by,
    })
}

pub(crate) fn started(turn: u64) -> Record {
    Record::Turn(TurnRecord::Started { turn: TurnId(turn) })
}

pub(crate) fn partial(turn: u64, item: u64, offset: u64, text: &str) -> Record {
    Record::Turn(TurnRecord::Partial {
        turn: TurnId(turn),
        item: ItemId(item),
        offset,
        text: text.to_owned(),
    })
}

pub(crate) fn assistant(turn: u64, item: u64, text: &str, calls: usize) -> Record {
    let call = |index| ToolCall {
        id: CallId::new(ItemId(item), index),
        name: "bash".to_owned(),
        arguments: format!(r#"{{"command":"echo {index} \"汉字\""}}"#),
        malformed: None,
    };
    let message = AssistantMessage {
        text: text.to_owned(),
        reasoning: String::new(),
        calls: (0..calls).map(call).collect(),
        finish: if calls == 0 {
            Finish::Stop
        } else {
            Finish::ToolCalls
        },
        usage: Some(Usage {
            input: 100,
            cached: 64,
            output: 7,
        }),
        cost: None,
    };
    Record::Turn(TurnRecord::Assistant {
        turn: TurnId(turn),
        item: ItemId(item),
        message,
    })
}

fn priced() -> Record {
    let mut record = assistant(1, 3, "Done.", 0);
    if let Record::Turn(TurnRecord::Assistant { message, .. }) = &mut record {
        message.cost = Some(Cost {
            currency: "USD".to_owned(),
            micros: 1_234,
        });
    }
    record
}

pub(crate) fn call_started(turn: u64, item: u64, index: usize) -> Record {
    Record::Call(CallRecord::Started {
        turn: TurnId(turn),
        call: CallId::new(ItemId(item), index),
    })
}

pub(crate) fn call_finished(turn: u64, item: u64, index: usize, content: &str) -> Record {
    let call = CallId::new(ItemId(item), index);
    Record::Call(CallRecord::finished(TurnId(turn), call, CallOutcome::Ok, content))
}

pub(crate) fn prompt_opened(prompt: u64, turn: u64, item: u64, index: usize) -> Record {
    Record::Prompt(PromptRecord::Opened {
        prompt,
        turn: TurnId(turn),
        call: CallId::new(ItemId(item), index),
        tool: "bash".to_owned(),
        subject: "cargo test".to_owned(),
        reason: "runs a program".to_owned(),
        scope: Some("bash(cargo test:*)".to_owned()),
        questions: Vec::new(),
    })
}

/// A question of the model.
pub(crate) fn question_opened(prompt: u64, turn: u64, item: u64) -> Record {
    let option = |label: &str, description: &str| QuestionOption {
        label: label.to_owned(),
        description: description.to_owned(),
    };
    let question = Question {
        header: "Storage".to_owned(),
        text: "Where should the data live?".to_owned(),
        options: vec![option("SQLite", "one file"), option("汉字", "")],
        multi_select: true,
        free_text: true,
    };
    Record::Prompt(PromptRecord::Opened {
        prompt,
        turn: TurnId(turn),
        call: CallId::new(ItemId(item), 0),
        tool: "ask".to_owned(),
        subject: question.text.clone(),
        reason: "the model asks".to_owned(),
        scope: None,
        questions: vec![question],
    })
}

/// The answer to a question of the model.
pub(crate) fn question_answered(prompt: u64) -> Record {
    let reply = Reply {
        chosen: vec!["SQLite".to_owned()],
        text: Some("for now".to_owned()),
    };
    Record::Prompt(PromptRecord::Answered {
        prompt,
        answer: "replied".to_owned(),
        replies: vec![reply],
        by: by(&format!("reply-{prompt}")),
    })
}

pub(crate) fn prompt_answered(prompt: u64) -> Record {
    let by = by(&format!("answer-{prompt}"));
    Record::Prompt(PromptRecord::Answered {
        prompt,
        answer: "allow_once".to_owned(),
        replies: Vec::new(),
        by,
    })
}

pub(crate) fn ended(turn: u64) -> Record {
    let usage = Usage {
        input: 200,
        cached: 128,
        output: 14,
    };
    Record::Turn(TurnRecord::Ended {
        turn: TurnId(turn),
        outcome: TurnOutcome::Completed,
        usage,
    })
}

/// A fixed scenario of 40 records with every kind of thing in it.
pub(crate) fn scenario() -> Vec<Record> {
    let mut records = vec![
        opened(),
        Record::Session(SessionRecord::Prefix {
            system: "You are …\n".to_owned(),
            context: "汉字".to_owned(),
        }),
    ];
    for turn in 1..=3 {
        let item = turn * 10;
        records.extend([
            submitted(turn, "fix the test 👩‍💻"),
            started(turn),
            partial(turn, item, 0, "I lo"),
            partial(turn, item, 4, "ok"),
            assistant(turn, item, "I look", 2),
            prompt_opened(turn, turn, item, 0),
            prompt_answered(turn),
            call_started(turn, item, 0),
            call_started(turn, item, 1),
            call_finished(turn, item, 1, "line\nline\0"),
            call_finished(turn, item, 0, "ok"),
            assistant(turn, item + 1, "Done.", 0),
        ]);
        if turn < 3 {
            records.push(ended(turn));
        }
    }
    assert_eq!(records.len(), 40);
    records
}

/// One record of every kind, and its golden file's name.
pub(crate) fn one_of_each() -> Vec<(&'static str, Record)> {
    let calls_and_prompts = [
        ("call.started", call_started(1, 2, 0)),
        ("call.finished", call_finished(1, 2, 0, "ok\n")),
        ("prompt.opened", prompt_opened(1, 1, 2, 0)),
        ("prompt.answered", prompt_answered(1)),
        ("prompt.opened.question", question_opened(2, 1, 3)),
        ("prompt.answered.replied", question_answered(2)),
        (
            "prompt.withdrawn",
            Record::Prompt(PromptRecord::Withdrawn {
                prompt: 1,
                reason: "cancelled".to_owned(),
            }),
        ),
        ("blob", call_finished(1, 2, 0, &"0123456789abcdef".repeat(4096))),
    ];
    session_records()
        .into_iter()
        .chain(turn_records())
        .chain(calls_and_prompts)
        .collect()
}

fn session_records() -> Vec<(&'static str, Record)> {
    let text = |text: &str| text.to_owned();
    let mut forked = opened();
    if let Record::Session(SessionRecord::Opened { parent, .. }) = &mut forked {
        *parent = Some(Parent {
            session: text("0190b1c2-0000-7000-8000-000000000000"),
            at: 12,
        });
    }
    let mut measured = opened();
    if let Record::Session(SessionRecord::Opened { context_window, .. }) = &mut measured {
        *context_window = Some(1_000_000);
    }
    let changes = [
        (
            "session.prefix",
            SessionRecord::Prefix {
                system: text("Sys\n\"x\""),
                context: text("汉字"),
            },
        ),
        (
            "session.preset_changed",
            SessionRecord::PresetChanged {
                preset: text("auto"),
                by: by("c1"),
            },
        ),
        (
            "session.credentials_changed",
            SessionRecord::CredentialsChanged {
                credentials: text("broker"),
            },
        ),
        (
            "session.ignored",
            SessionRecord::Ignored {
                by: by("c2"),
                reason: text("no turn runs"),
            },
        ),
        (
            "session.model_changed",
            SessionRecord::ModelChanged {
                model: text("m/large"),
                context_window: Some(200_000),
            },
        ),
        ("session.resumed", SessionRecord::Resumed { instance: text("i1") }),
        ("session.closed", SessionRecord::Closed { by: by("c3") }),
    ];
    let opened = [
        ("session.opened", opened()),
        ("session.opened.forked", forked),
        ("session.opened.measured", measured),
    ];
    opened
        .into_iter()
        .chain(changes.map(|(name, record)| (name, Record::Session(record))))
        .collect()
}

fn turn_records() -> Vec<(&'static str, Record)> {
    let turn = TurnId(1);
    let failure = Failure {
        kind: FailureKind::ModelAccess,
        message: "no key".to_owned(),
        hint: Some("add one".to_owned()),
    };
    let failed = TurnRecord::Ended {
        turn,
        outcome: TurnOutcome::Failed(failure),
        usage: Usage::default(),
    };
    let discarded = TurnRecord::Discarded {
        turn,
        item: ItemId(2),
        reason: "retry".to_owned(),
    };
    let waiting = TurnRecord::Waiting {
        turn,
        what: "credentials".to_owned(),
    };
    let again = TurnRecord::AskedAgain {
        turn,
        reason: "it went away".to_owned(),
    };
    vec![
        ("turn.waiting", Record::Turn(waiting)),
        ("turn.went_on", Record::Turn(TurnRecord::WentOn { turn })),
        ("turn.asked_again", Record::Turn(again)),
        ("turn.submitted", submitted(1, "fix it\n\u{2028}\u{0}👩‍💻")),
        ("turn.submitted.limited", limited()),
        ("turn.started", started(1)),
        ("turn.partial", partial(1, 2, 3, "text")),
        ("turn.discarded", Record::Turn(discarded)),
        ("turn.assistant", assistant(1, 2, "I look", 2)),
        ("turn.assistant.priced", priced()),
        (
            "turn.cancel_requested",
            Record::Turn(TurnRecord::CancelRequested { turn, by: by("c4") }),
        ),
        ("turn.ended", ended(1)),
        ("turn.ended.failed", Record::Turn(failed)),
    ]
}

fn limited() -> Record {
    let by = by("submit-1");
    Record::Turn(TurnRecord::Submitted {
        turn: TurnId(1),
        text: "go".to_owned(),
        max_steps: 5,
        by,
    })
}

/// Checks what strict vendors check: each call has exactly one result, which follows its message before any other
/// message, in the order of the calls; each result has a call; no message is empty.
pub(crate) fn assert_valid(transcript: &[Message]) {
    let mut wanted: Vec<CallId> = Vec::new();
    for (place, message) in transcript.iter().enumerate() {
        match message {
            Message::Tool(result) => {
                assert!(
                    !wanted.is_empty(),
                    "message {place}: a result without a call: {transcript:#?}"
                );
                assert_eq!(wanted.remove(0), result.call, "message {place}: {transcript:#?}");
            }
            Message::User(_) | Message::Assistant(_) => {
                assert!(
                    wanted.is_empty(),
                    "message {place}: calls without results {wanted:?}: {transcript:#?}"
                );
            }
        }
        if let Message::Assistant(message) = message {
            assert!(!message.is_empty(), "message {place} is empty");
            wanted = message.calls.iter().map(|call| call.id.clone()).collect();
        }
    }
    assert!(
        wanted.is_empty(),
        "calls without results at the end: {wanted:?}: {transcript:#?}"
    );
}
