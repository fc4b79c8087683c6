//! One turn with the scripted model and real tools.

use protocol::{
    Answer, CallOutcome, Command, Event, Frame, Item, Outcome, Phase, Preset, PromptCommand, PromptEvent,
    ToolState, TurnCommand, TurnEvent,
};
use scripted_model::{Fault, Reply, Scenario};
use serde_json::json;

use crate::rig::{Rig, command, is_end, submit, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_written_and_everything_is_on_record() {
    let scenario = Scenario::new()
        .call("write_file", &json!({"path": "a.txt", "content": "hello\n"}))
        .call("read_file", &json!({"path": "a.txt"}))
        .say("Done.");
    let rig = Rig::new(scenario).await;
    let (_, session) = rig.open(Preset::WorkspaceWrite).await;
    let mut events = session.subscribe(0);
    let receipt = submit(&session, "write it").await;
    let frames = until(&mut events, is_end).await;

    assert_eq!(
        std::fs::read_to_string(rig.dir.path().join("work/a.txt")).unwrap(),
        "hello\n"
    );
    let numbers: Vec<u64> = frames
        .iter()
        .filter_map(|frame| match frame {
            Frame::Event(event) => Some(event.n),
            _ => None,
        })
        .collect();
    assert_eq!(
        numbers,
        (1..=numbers.len() as u64).collect::<Vec<_>>(),
        "numbers without holes"
    );
    let snapshot = session.snapshot().await.unwrap();
    assert_eq!(snapshot.phase, Phase::Idle);
    assert!(matches!(
        snapshot.items.back(),
        Some(Item::TurnEnd {
            outcome: Outcome::Completed,
            ..
        })
    ));
    let done = snapshot.items.iter().filter(|item| {
        matches!(
            item,
            Item::Tool {
                state: ToolState::Done {
                    outcome: CallOutcome::Ok
                },
                ..
            }
        )
    });
    assert_eq!(done.count(), 2);
    assert!(receipt.at < snapshot.at);
    let last = rig.model.requests().pop().unwrap();
    assert_eq!(last.system(), "system text");
    assert_eq!(last.tool_results().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_needs_approval_waits_and_runs_once_it_is_allowed() {
    for (answer, outcome) in [
        (Answer::AllowOnce, CallOutcome::Ok),
        (Answer::Deny, CallOutcome::Denied),
    ] {
        let scenario = Scenario::new()
            .call("write_file", &json!({"path": "a.txt", "content": "x"}))
            .say("Done.");
        let rig = Rig::new(scenario).await;
        let (_, session) = rig.open(Preset::ReadOnly).await;
        let mut events = session.subscribe(0);
        submit(&session, "write it").await;
        until(&mut events, |event| {
            matches!(event, Event::Prompt(PromptEvent::Opened { .. }))
        })
        .await;

        let snapshot = session.snapshot().await.unwrap();
        assert!(matches!(snapshot.phase, Phase::Waiting { .. }));
        assert!(!rig.dir.path().join("work/a.txt").exists());
        let prompt = snapshot.prompts[0].clone();
        assert_eq!(prompt.tool, "write_file");
        assert!(prompt.subject.ends_with("work/a.txt"), "{}", prompt.subject);
        let reply = PromptCommand::Answer {
            prompt: prompt.id,
            answer,
        };
        session.command(command(Command::Prompt(reply))).await.unwrap();
        until(&mut events, is_end).await;
        assert_eq!(
            rig.dir.path().join("work/a.txt").exists(),
            answer == Answer::AllowOnce
        );
        let snapshot = session.snapshot().await.unwrap();
        let state = snapshot.items.iter().find_map(|item| match item {
            Item::Tool { state, .. } => Some(*state),
            _ => None,
        });
        assert_eq!(state, Some(ToolState::Done { outcome }));
        assert!(snapshot.prompts.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_while_the_model_speaks_keeps_what_it_said() {
    let scenario = Scenario::new().reply(
        Reply::new()
            .say("Let me think about")
            .gate("held")
            .say(" nothing."),
    );
    let rig = Rig::new(scenario).await;
    let (_, session) = rig.open(Preset::WorkspaceWrite).await;
    let mut events = session.subscribe(0);
    let turn = submit(&session, "go").await.turn.unwrap();
    let mut text = String::new();
    while text != "Let me think about" {
        if let Some(Frame::Delta(delta)) = events.next().await {
            text.push_str(&delta.text);
        }
    }
    session
        .command(command(Command::Turn(TurnCommand::Cancel { turn })))
        .await
        .unwrap();
    until(&mut events, is_end).await;
    let snapshot = session.snapshot().await.unwrap();
    let said = snapshot
        .items
        .iter()
        .any(|item| matches!(item, Item::Assistant { text, .. } if text == "Let me think about"));
    assert!(said, "{:?}", snapshot.items);
    assert!(matches!(
        snapshot.items.back(),
        Some(Item::TurnEnd {
            outcome: Outcome::Cancelled,
            ..
        })
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retried_answer_leaves_no_trace_but_its_record() {
    let scenario = Scenario::new()
        .say("The whole answer in several words.")
        .fault(0, Fault::Drop { after: 300 });
    let rig = Rig::new(scenario).await;
    let (_, session) = rig.open(Preset::WorkspaceWrite).await;
    let mut events = session.subscribe(0);
    submit(&session, "go").await;
    until(&mut events, is_end).await;
    let snapshot = session.snapshot().await.unwrap();
    let texts: Vec<&str> = snapshot
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Assistant { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["The whole answer in several words."]);
    assert_eq!(rig.model.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_of_the_model_is_answered_not_run() {
    let scenario = Scenario::new()
        .reply(
            Reply::new()
                .call_raw("no_such_tool", Some("{}"))
                .call_raw("write_file", Some("[1]"))
                .call_raw("bash", Some("{\"command\":")),
        )
        .say("Sorry.");
    let rig = Rig::new(scenario).await;
    let (_, session) = rig.open(Preset::WorkspaceWrite).await;
    let mut events = session.subscribe(0);
    submit(&session, "go").await;
    let frames = until(&mut events, is_end).await;
    let results = rig.model.requests()[1].tool_results();
    assert_eq!(results.len(), 3);
    assert!(
        results[0].starts_with("error: unknown tool \"no_such_tool\""),
        "{}",
        results[0]
    );
    assert!(
        results[1].contains("argument validation failed"),
        "{}",
        results[1]
    );
    assert!(
        results[2].contains("argument validation failed"),
        "{}",
        results[2]
    );
    let started = |frame: &&Frame| matches!(frame, Frame::Event(event) if matches!(event.event, Event::Tool(protocol::ToolEvent::Started { .. })));
    assert_eq!(frames.iter().filter(started).count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_cannot_be_reached_ends_the_turn_in_words() {
    let scenario = Scenario::new().fault(
        0,
        Fault::Status {
            status: 401,
            retry_after: None,
            body: None,
        },
    );
    let rig = Rig::new(scenario).await;
    let (_, session) = rig.open(Preset::WorkspaceWrite).await;
    let mut events = session.subscribe(0);
    submit(&session, "go").await;
    let frames = until(&mut events, is_end).await;
    let Some(Frame::Event(end)) = frames.last() else {
        panic!("no end")
    };
    let Event::Turn(TurnEvent::Ended {
        outcome: Outcome::Failed { kind, message, .. },
        ..
    }) = &end.event
    else {
        panic!("{end:?}")
    };
    assert_eq!(kind, "model_access");
    assert!(message.contains("401"), "{message}");
}

/// A scenario whose model asks one question and then says something.
fn asking() -> Scenario {
    let question = json!({"questions": [{
        "header": "Storage",
        "question": "Where should the data live?",
        "options": [{"label": "SQLite", "description": "one file"}, {"label": "Postgres"}],
    }]});
    Scenario::new().call("ask", &question).say("Done.")
}

fn opens_prompt(event: &Event) -> bool {
    matches!(event, Event::Prompt(PromptEvent::Opened { .. }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_the_model_waits_for_a_person_under_every_preset() {
    let wanted = |text: &str| text.to_owned();
    let cases = [
        (
            Preset::ReadOnly,
            PromptCommand::Reply {
                prompt: protocol::PromptId(1),
                replies: vec![protocol::Reply::option("SQLite")],
            },
            wanted("answer: SQLite"),
        ),
        (
            Preset::DangerFullAccess,
            PromptCommand::Answer {
                prompt: protocol::PromptId(1),
                answer: Answer::Deny,
            },
            wanted("did not choose"),
        ),
        (
            Preset::WorkspaceWrite,
            PromptCommand::Answer {
                prompt: protocol::PromptId(1),
                answer: Answer::Nobody,
            },
            wanted("[model assumption] No person can answer now"),
        ),
    ];
    for (preset, answer, want) in cases {
        let rig = Rig::new(asking()).await;
        let (_, session) = rig.open(preset).await;
        let mut events = session.subscribe(0);
        submit(&session, "store it").await;
        until(&mut events, opens_prompt).await;
        let snapshot = session.snapshot().await.unwrap();
        assert!(matches!(snapshot.phase, Phase::Waiting { .. }));
        let prompt = &snapshot.prompts[0];
        let questions = prompt.kind.questions();
        assert_eq!((prompt.tool.as_str(), questions.len()), ("ask", 1));
        assert_eq!(questions[0].options[0].label, "SQLite");
        assert!(questions[0].free_text && !questions[0].multi_select);
        let pending = snapshot.items.iter().any(|item| {
            matches!(
                item,
                Item::Tool {
                    state: ToolState::Pending,
                    ..
                }
            )
        });
        assert!(pending, "a call that waits for a person has not started");

        session.command(command(Command::Prompt(answer))).await.unwrap();
        until(&mut events, is_end).await;
        let results = rig.model.requests().pop().unwrap().tool_results();
        assert!(format!("{results:?}").contains(&want), "{results:?}");
        let snapshot = session.snapshot().await.unwrap();
        assert!(snapshot.prompts.is_empty());
        let fine = ToolState::Done {
            outcome: CallOutcome::Ok,
        };
        let done = |item: &Item| matches!(item, Item::Tool { state, .. } if *state == fine);
        assert!(snapshot.items.iter().any(done));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_ends_while_a_person_thinks_withdraws_the_question() {
    let mut rig = Rig::new(asking()).await;
    let (id, session) = rig.open(Preset::WorkspaceWrite).await;
    let mut events = session.subscribe(0);
    submit(&session, "store it").await;
    until(&mut events, opens_prompt).await;
    rig.restart().await;
    let snapshot = rig.manager.get(id).await.unwrap().snapshot().await.unwrap();
    assert!(snapshot.prompts.is_empty());
    assert_eq!(snapshot.phase, Phase::Idle);
    let cancelled = ToolState::Done {
        outcome: CallOutcome::Cancelled,
    };
    let never_started = |item: &Item| matches!(item, Item::Tool { state, .. } if *state == cancelled);
    assert!(snapshot.items.iter().any(never_started), "{:?}", snapshot.items);
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_that_nobody_could_answer_are_sent_back_at_once() {
    let wrong = json!({"questions": [{"header": "h", "question": "q?", "options": [{"label": "only one"}]}]});
    let rig = Rig::new(Scenario::new().call("ask", &wrong).say("Done.")).await;
    let (_, session) = rig.open(Preset::WorkspaceWrite).await;
    let mut events = session.subscribe(0);
    submit(&session, "go").await;
    let frames = until(&mut events, is_end).await;
    let asked = |frame: &Frame| matches!(frame, Frame::Event(event) if opens_prompt(&event.event));
    assert!(!frames.iter().any(asked));
    let results = rig.model.requests().pop().unwrap().tool_results();
    let results = format!("{results:?}");
    assert!(results.contains("expected at least 2 items, got 1"), "{results}");
}

/// Everything that a daemon says has to be readable for its clients: an event over a limit ends the session's stream,
/// and does so again each time it is opened.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_model_says_at_any_length_is_within_the_limits_of_the_wire() {
    let long = "x".repeat(protocol::limits::LINE + 1);
    let scenario = Scenario::new()
        .call(&long, &json!({}))
        .call("bash", &json!({"command": format!("touch {long}")}))
        .say("Done.");
    let rig = Rig::new(scenario).await;
    let (_, session) = rig.open(Preset::ReadOnly).await;
    let mut events = session.subscribe(0);
    submit(&session, "go on").await;
    let opens_prompt = |event: &Event| matches!(event, Event::Prompt(PromptEvent::Opened { .. }));
    let mut frames = until(&mut events, opens_prompt).await;
    let snapshot = session.snapshot().await.unwrap();
    let prompt = &snapshot.prompts[0];
    assert!(prompt.subject.ends_with(&long), "a person sees the whole command");
    let answer = PromptCommand::Answer {
        prompt: prompt.id,
        answer: Answer::AllowSession,
    };
    session.command(command(Command::Prompt(answer))).await.unwrap();
    frames.extend(until(&mut events, is_end).await);
    for frame in &frames {
        let text = serde_json::to_string(frame).unwrap();
        if let Err(error) = serde_json::from_str::<Frame>(&text) {
            panic!("{error}: {}", &text[..200.min(text.len())]);
        }
    }
    let text = serde_json::to_string(&snapshot).unwrap();
    serde_json::from_str::<protocol::Snapshot>(&text).unwrap();
}
