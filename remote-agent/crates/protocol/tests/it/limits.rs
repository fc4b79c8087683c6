//! Sizes are enforced while decoding.

use protocol::{CommandRequest, ErrorBody, Frame, Hello, OpenSession, limits};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::samples;

/// Asserts that a text of `max` bytes at `pointer` decodes and one more byte does not.
fn check<T: DeserializeOwned>(mut value: Value, pointer: &str, max: usize) {
    let fits = "x".repeat(max);
    *value.pointer_mut(pointer).unwrap() = Value::String(fits.clone());
    if let Err(error) = serde_json::from_value::<T>(value.clone()) {
        panic!("{pointer} of {max} bytes: {error}");
    }
    *value.pointer_mut(pointer).unwrap() = Value::String(fits + "x");
    let Err(error) = serde_json::from_value::<T>(value) else {
        panic!("{pointer} of {} bytes was accepted", max + 1);
    };
    assert!(error.to_string().contains(&format!("limit of {max}")), "{error}");
}

fn sample(kind: &str, variant: &str) -> Value {
    let found = samples::all()
        .into_iter()
        .find(|(k, v, _)| *k == kind && v == variant);
    let Some((_, _, value)) = found else {
        panic!("no sample {kind}-{variant}");
    };
    value
}

#[test]
fn texts_over_their_limit_are_refused() {
    let submit = sample("command_request", "turn.submit");
    check::<CommandRequest>(submit, "/command/text", limits::SUBMIT_TEXT);
    let open = sample("open_session", "new");
    check::<OpenSession>(open.clone(), "/workspace", limits::PATH);
    check::<OpenSession>(open, "/model", limits::NAME);
    let hello = sample("hello", "hello");
    check::<Hello>(hello.clone(), "/identity/socket", limits::PATH);
    check::<Hello>(hello, "/build/version", limits::NAME);
    let error = sample("error", "busy");
    check::<ErrorBody>(error["error"].clone(), "/message", limits::LINE);
    check::<ErrorBody>(error["error"].clone(), "/hint", limits::LINE);
    let delta = sample("frame", "delta.output");
    check::<Frame>(delta.clone(), "/text", limits::TEXT);
    check::<Frame>(delta, "/target/call", limits::NAME);
    let finished = sample("frame", "event.tool.finished_ok");
    check::<Frame>(finished, "/event/output", limits::TEXT);
    let calls = sample("frame", "event.turn.assistant_with_calls");
    check::<Frame>(calls.clone(), "/event/calls/0/arguments", limits::TEXT);
    check::<Frame>(calls, "/event/reasoning", limits::TEXT);
    let opened = sample("frame", "event.prompt.opened");
    check::<Frame>(opened.clone(), "/event/prompt/subject", limits::TEXT);
    check::<Frame>(opened, "/event/prompt/scope", limits::LINE);
    let ended = json!({"frame": "event", "n": 1, "at": 0, "event": {"topic": "turn", "type": "ended", "turn": 1,
        "outcome": {"outcome": "paused", "reason": ""}, "usage": {"input": 0, "cached": 0, "output": 0}}});
    check::<Frame>(ended, "/event/outcome/reason", limits::LINE);
}

#[test]
fn lists_over_their_limit_are_refused() {
    let mut hello = sample("hello", "hello");
    let mut with = |len: usize| {
        hello["capabilities"] = Value::Array(vec![Value::String(String::new()); len]);
        serde_json::from_value::<Hello>(hello.clone())
    };
    assert_eq!(with(limits::LIST).unwrap().capabilities.len(), limits::LIST);
    let error = with(limits::LIST + 1).unwrap_err().to_string();
    assert!(error.contains(&limits::LIST.to_string()), "{error}");
}

#[test]
fn limits_count_bytes_and_not_characters() {
    let mut open = sample("open_session", "new");
    open["model"] = Value::String("汉".repeat(limits::NAME / 3 + 1));
    assert!(serde_json::from_value::<OpenSession>(open).is_err());
}

#[test]
fn questions_and_replies_are_bounded() {
    let opened = sample("frame", "event.prompt.opened_question");
    let at = "/event/prompt/kind/questions/0";
    check::<Frame>(opened.clone(), &format!("{at}/header"), limits::NAME);
    check::<Frame>(opened.clone(), &format!("{at}/text"), limits::LINE);
    check::<Frame>(opened.clone(), &format!("{at}/options/0/label"), limits::NAME);
    check::<Frame>(
        opened.clone(),
        &format!("{at}/options/0/description"),
        limits::LINE,
    );
    let reply = sample("command_request", "prompt.reply");
    check::<CommandRequest>(reply.clone(), "/command/replies/0/text", limits::REPLY);
    check::<CommandRequest>(reply.clone(), "/command/replies/1/chosen/0", limits::NAME);
    let lists = [
        ("/command/replies", limits::QUESTIONS),
        ("/command/replies/1/chosen", limits::OPTIONS),
    ];
    for (pointer, most) in lists {
        let with = |len: usize| {
            let mut value = reply.clone();
            let list = value.pointer_mut(pointer).unwrap();
            let entry = list[0].clone();
            *list = Value::Array(vec![entry; len]);
            serde_json::from_value::<CommandRequest>(value)
        };
        with(most).unwrap();
        assert!(
            with(most + 1)
                .unwrap_err()
                .to_string()
                .contains(&most.to_string())
        );
    }
}
