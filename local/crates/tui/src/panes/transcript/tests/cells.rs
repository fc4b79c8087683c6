//! What the cells look like.

use insta::assert_snapshot;

use super::*;

fn conversation() -> Vec<Item> {
    let code = "# Done\n\nThe test **passes** now:\n\n```rust\nfn one() -> u8 { 1 }\n```\n\n- first\n- second with `code`";
    vec![
        user(
            1,
            "Fix the failing test, please.\nIt is in src/lib.rs and has been red since last week.",
        ),
        answer(
            1,
            1,
            "",
            "The test compares two numbers.\nI should look at the file.",
        ),
        tool(
            "read_file",
            r#"{"path":"src/lib.rs"}"#,
            done(CallOutcome::Ok),
            "1→fn one() -> u8 {\n2→    2\n3→}\n(1 more line)",
        ),
        tool(
            "grep",
            r#"{"pattern":"one\\(","path":"src"}"#,
            done(CallOutcome::Ok),
            "src/lib.rs:1:fn one()",
        ),
        tool("ls", "{}", done(CallOutcome::Ok), "(empty directory)"),
        tool(
            "edit_file",
            r#"{"path":"src/lib.rs","old_string":"fn one() -> u8 {\n    2\n}","new_string":"fn one() -> u8 {\n    1\n}"}"#,
            done(CallOutcome::Ok),
            "edited src/lib.rs\n@@ replacement 1 of 1 (1 occurrence) @@\n",
        ),
        tool(
            "write_file",
            r#"{"path":"new.txt","content":"a\nb\n"}"#,
            done(CallOutcome::Ok),
            "wrote 4 bytes to new.txt",
        ),
        tool(
            "bash",
            r#"{"command":"cargo test"}"#,
            done(CallOutcome::Ok),
            "\u{1b}[32mok\u{1b}[0m\n1 passed",
        ),
        tool(
            "bash",
            r#"{"command":"cargo test --workspace --all-features && echo everything is fine && exit 3\necho never"}"#,
            done(CallOutcome::Failed),
            "error: exit status 3\neverything is fine\nThe shell was reset: the next call starts fresh in the workspace.",
        ),
        answer(1, 2, code, ""),
        end(1, Outcome::Completed),
    ]
}

fn states() -> Vec<Item> {
    let arguments = |n: u8| format!(r#"{{"command":"make {n}"}}"#);
    let outcome = |n, outcome, output: &str| tool("bash", &arguments(n), done(outcome), output);
    vec![
        tool("bash", &arguments(0), ToolState::Pending, ""),
        tool("bash", &arguments(1), ToolState::Running, "building\n"),
        outcome(2, CallOutcome::Failed, "error: exit status 2\nno rule"),
        outcome(3, CallOutcome::Denied, "the user said no"),
        outcome(4, CallOutcome::Cancelled, ""),
        outcome(5, CallOutcome::Interrupted, "error: command cancelled\npartial"),
        outcome(6, CallOutcome::Unknown, ""),
        tool(
            "weather",
            r#"{"place":"Bern","days":3,"deep":{"a":[1]}}"#,
            done(CallOutcome::Ok),
            "sunny",
        ),
        tool(
            "read_file",
            r#"{"path":"gone.rs"}"#,
            done(CallOutcome::Failed),
            "error: gone.rs does not exist",
        ),
        tool("bash", "not json", ToolState::Unknown, ""),
        end(1, Outcome::Cancelled),
        end(2, Outcome::Interrupted),
        end(
            3,
            Outcome::Paused {
                reason: "25 steps were taken".to_owned(),
            },
        ),
        end(
            4,
            Outcome::Failed {
                kind: "model_access".to_owned(),
                message: "the key was refused".to_owned(),
                hint: Some("check the key of this provider".to_owned()),
            },
        ),
        end(5, Outcome::Unknown),
    ]
}

#[test]
fn a_conversation() {
    assert_snapshot!("conversation_80", Shown::of(80, 90, conversation()).screen());
    assert_snapshot!("conversation_40", Shown::of(40, 120, conversation()).screen());
    assert_snapshot!("conversation_colours", Shown::of(80, 90, conversation()).styled());
}

#[test]
fn every_state() {
    assert_snapshot!("states_80", Shown::of(80, 60, states()).screen());
    assert_snapshot!("states_40", Shown::of(40, 80, states()).screen());
}

#[test]
fn what_is_folded_unfolds() {
    let output: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    let items = vec![
        answer(1, 1, "Ready.", "one\ntwo\nthree"),
        tool("bash", r#"{"command":"seq"}"#, done(CallOutcome::Ok), &output),
    ];
    let mut shown = Shown::of(40, 60, items);
    assert_snapshot!("folded", shown.screen());
    shown.pane.update(TranscriptMsg::ToggleReasoning);
    shown.pane.update(TranscriptMsg::ToggleOutput);
    let screen = shown.screen();
    assert!(
        screen.starts_with("∙ one\n  two\n  three\n\nReady.\n"),
        "{screen}"
    );
    assert!(
        screen.contains("  line 15\n") && screen.ends_with("  line 30"),
        "{screen}"
    );
}

#[test]
fn notices_and_queued_submits() {
    let mut shown = Shown::new(60, 30);
    shown
        .pane
        .push(notice(Level::Banner, "reasonix 0.1\nbox:/srv/app"));
    shown.submit(1, "first");
    shown.turn(TurnEvent::Started { turn: TurnId(1) });
    shown
        .pane
        .push(notice(Level::Warning, "the link is slow\nvery \u{1b}[31mslow"));
    shown.pane.push(notice(Level::Error, "no"));
    shown.pane.push(notice(Level::Info, "yes"));
    shown.submit(2, "second");
    shown.pane.set_queued(&[
        QueuedSubmit {
            id: CommandId::fresh(),
            text: "third".to_owned(),
            is_sent: true,
        },
        QueuedSubmit {
            id: CommandId::fresh(),
            text: "fourth\nof two lines".to_owned(),
            is_sent: false,
        },
    ]);
    assert_snapshot!(shown.styled());
}

#[test]
fn a_receipt_and_a_question() {
    let mut shown = Shown::new(60, 20);
    shown.submit(1, "go");
    shown.turn(TurnEvent::Started { turn: TurnId(1) });
    let call = CallView {
        id: "c1".to_owned(),
        name: "bash".to_owned(),
        arguments: r#"{"command":"rm -r x"}"#.to_owned(),
    };
    shown.turn(TurnEvent::Assistant {
        turn: TurnId(1),
        item: 1,
        text: String::new(),
        reasoning: String::new(),
        calls: vec![call],
        usage: None,
        cost: None,
    });
    let prompt = OpenPrompt {
        id: PromptId(1),
        turn: TurnId(1),
        call: "c1".to_owned(),
        tool: "bash".to_owned(),
        subject: "rm -r x".to_owned(),
        reason: "it writes".to_owned(),
        scope: None,
        kind: protocol::PromptKind::Approval,
    };
    shown.event(Event::Prompt(PromptEvent::Opened { prompt }));
    assert_eq!(shown.screen(), "› go\n\n? bash rm -r x  waits for your answer");
    shown.event(Event::Prompt(PromptEvent::Withdrawn {
        prompt: PromptId(1),
        reason: String::new(),
    }));
    assert_eq!(shown.screen(), "› go\n\n○ bash rm -r x  waiting");
    shown.event(Event::Tool(ToolEvent::Started {
        turn: TurnId(1),
        call: "c1".to_owned(),
    }));
    shown.delta(
        DeltaTarget::Output {
            call: "c1".to_owned(),
        },
        "10%\r90%",
    );
    assert_eq!(shown.screen(), "› go\n\n◐ bash rm -r x  running\n  90%");
    let usage = UsageView {
        input: 1_234_567,
        cached: 1200,
        output: 5,
    };
    shown.turn(TurnEvent::Ended {
        turn: TurnId(1),
        outcome: Outcome::Completed,
        usage,
    });
    assert!(
        shown
            .screen()
            .ends_with("  tokens: 1,234,567 in (1,200 cached), 5 out")
    );
}

#[test]
fn nothing_untrusted_steers_the_terminal() {
    let evil = "a\u{1b}]0;t\u{7}b\u{9b}2Jc\u{202e}d\r\ne";
    let json = serde_json::json!({ "command": evil, "path": evil }).to_string();
    let content = serde_json::json!({ "path": evil, "content": evil }).to_string();
    let failed = Outcome::Failed {
        kind: evil.to_owned(),
        message: evil.to_owned(),
        hint: Some(evil.to_owned()),
    };
    let items = vec![
        user(1, evil),
        answer(1, 1, evil, evil),
        tool(evil, evil, ToolState::Running, evil),
        tool(
            "bash",
            &json,
            done(CallOutcome::Failed),
            &format!("error: {evil}"),
        ),
        tool("write_file", &content, done(CallOutcome::Ok), evil),
        tool("ls", &json, done(CallOutcome::Denied), evil),
        end(1, failed),
        end(
            1,
            Outcome::Paused {
                reason: evil.to_owned(),
            },
        ),
    ];
    let mut shown = Shown::of(50, 80, items);
    shown.pane.push(notice(Level::Error, evil));
    for row in [true, false] {
        if row {
            shown.pane.update(TranscriptMsg::ToggleReasoning);
        }
        let screen = shown.rows().concat() + &shown.pane.tail(50, 500).concat();
        let steers = |c: char| c.is_control() || c == '\u{202e}';
        assert!(!screen.contains(steers), "{screen:?}");
    }
}

#[test]
fn a_narrow_pane_is_no_failure() {
    for width in 1..12 {
        for height in 1..4 {
            let mut shown = Shown::of(width, height, conversation());
            shown.pane.update(TranscriptMsg::PageUp);
            assert_eq!(shown.rows().len(), usize::from(height));
        }
    }
}

#[test]
fn a_long_request_is_folded() {
    let text: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
    let mut shown = Shown::of(40, 30, vec![user(1, &text), user(2, &"汉".repeat(50_000))]);
    let lines = shown.pane.tail(40, 100_000);
    assert_eq!(
        lines[19..23],
        [
            "  line 19",
            "  … 1088740 more bytes (Ctrl+B)",
            "",
            "› 汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉汉"
        ]
    );
    assert!(lines.len() < 150);
    shown.pane.update(TranscriptMsg::ToggleOutput);
    shown.pane.update(TranscriptMsg::Top);
    for _ in 0..3 {
        shown.pane.update(TranscriptMsg::PageDown);
    }
    assert!(shown.screen().contains("line 100\n"));
}
