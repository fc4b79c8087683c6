//! What a newer version adds is skipped, not refused.

use protocol::{
    Answer, CallOutcome, Delta, DeltaTarget, ErrorCode, Event, EventEnvelope, Frame, OpenPrompt, Outcome,
    PromptEvent, PromptKind, SessionEvent, Snapshot, ToolEvent, TurnEvent,
};
use serde_json::{Value, json};

use crate::samples;

fn event(event: &Value) -> Event {
    let frame = json!({"frame": "event", "n": 1, "at": 0, "event": event});
    match serde_json::from_value(frame).unwrap() {
        Frame::Event(envelope) => envelope.event,
        other => panic!("{other:?}"),
    }
}

#[test]
fn frames_topics_and_types_of_a_newer_version_are_unknown() {
    let frame: Frame = serde_json::from_value(json!({"frame": "hologram", "x": [1, {"y": null}]})).unwrap();
    assert_eq!(frame, Frame::Unknown);
    assert_eq!(
        event(&json!({"topic": "weather", "type": "rain"})),
        Event::Unknown
    );
    let cases = [
        ("session", Event::Session(SessionEvent::Unknown)),
        ("turn", Event::Turn(TurnEvent::Unknown)),
        ("tool", Event::Tool(ToolEvent::Unknown)),
        ("prompt", Event::Prompt(PromptEvent::Unknown)),
    ];
    for (topic, expected) in cases {
        let got =
            event(&json!({"topic": topic, "type": "newer", "turn": "not a number", "more": {"a": [1]}}));
        assert_eq!(got, expected);
    }
}

#[test]
fn unknown_words_inside_known_types_are_kept_apart() {
    let delta: Delta =
        serde_json::from_value(json!({"target": {"kind": "smell", "of": 1}, "offset": 0, "text": "x"}))
            .unwrap();
    assert_eq!(delta.target, DeltaTarget::Unknown);
    let outcome: Outcome = serde_json::from_value(json!({"outcome": "melted", "why": 1})).unwrap();
    assert_eq!(outcome, Outcome::Unknown);
    let call: CallOutcome = serde_json::from_value(json!("evaporated")).unwrap();
    assert_eq!(call, CallOutcome::Unknown);
    let code: ErrorCode = serde_json::from_value(json!("tea_pot")).unwrap();
    assert_eq!(code, ErrorCode::Unknown);
}

#[test]
fn unknown_fields_are_skipped_everywhere() {
    for (kind, variant, value) in samples::all() {
        if kind != "frame" {
            continue;
        }
        let plain: Frame = serde_json::from_value(value.clone()).unwrap();
        let wider = add_fields(value);
        let frame: Frame =
            serde_json::from_value(wider).unwrap_or_else(|error| panic!("{kind}-{variant}: {error}"));
        assert_eq!(frame, plain, "{kind}-{variant}");
    }
}

/// Adds a field of a newer version to every object inside.
fn add_fields(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut wider: serde_json::Map<_, _> = object
                .into_iter()
                .map(|(key, inner)| (key, add_fields(inner)))
                .collect();
            wider.insert("of_a_newer_version".into(), json!({"deep": [null, 1.5]}));
            Value::Object(wider)
        }
        Value::Array(list) => Value::Array(list.into_iter().map(add_fields).collect()),
        other => other,
    }
}

#[test]
fn an_unknown_event_counts_and_changes_nothing_else() {
    let mut snapshot = samples::snapshot();
    let before = snapshot.clone();
    let n = snapshot.at + 1;
    for event in [
        Event::Unknown,
        Event::Turn(TurnEvent::Unknown),
        Event::Tool(ToolEvent::Unknown),
        Event::Prompt(PromptEvent::Unknown),
        Event::Session(SessionEvent::Unknown),
    ] {
        let mut snapshot = snapshot.clone();
        assert!(snapshot.apply(&EventEnvelope { n, at: 0, event }).is_ok());
        assert_eq!(
            snapshot,
            Snapshot {
                at: n,
                ..before.clone()
            }
        );
    }
    let delta = Delta {
        target: DeltaTarget::Unknown,
        offset: 99,
        text: "x".into(),
    };
    assert!(snapshot.apply_delta(&delta).is_ok());
    assert_eq!(snapshot, before);
}

#[test]
fn a_prompt_of_another_version_is_a_prompt() {
    // An older agent says no kind, a newer one may say another.
    for (kind, expected) in [
        (None, PromptKind::Approval),
        (Some(json!({"kind": "riddle", "lines": [1]})), PromptKind::Unknown),
    ] {
        let mut prompt = json!({"id": 1, "turn": 1, "call": "c", "tool": "t", "subject": "s", "reason": "r"});
        if let Some(kind) = kind {
            prompt["kind"] = kind;
        }
        let prompt: OpenPrompt = serde_json::from_value(prompt).unwrap();
        assert_eq!(prompt.kind, expected);
    }
    // What an older client makes of the newest answers is closed by its catch-all.
    let answer: Answer = serde_json::from_value(json!("shrugged")).unwrap();
    assert_eq!((answer, answer.name()), (Answer::Unknown, "deny"));
}
