//! Every spelling of an answer at every cut gives the same items.

use conversation::{Finish, Usage};
use scripted_model::{CallSpelling, Framing, LineEnd, Reply, Spelling, UsageSpelling, wire_bytes};
use serde_json::json;

use super::*;
use crate::{Call, error::Again, sse::Parser};

fn parse(pieces: &[&[u8]]) -> Vec<Event> {
    let mut parser = Parser::default();
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(parser.push(piece).unwrap());
    }
    events.extend(parser.finish());
    events
}

/// Decodes events as `stream.rs` does, and joins neighbouring texts.
fn decode_events(events: &[Event]) -> Result<Vec<StreamItem>, Cause> {
    let mut decoder = ChatDecoder::default();
    let mut items = Vec::new();
    for event in events {
        if decoder.remaining() != Remaining::Nothing {
            items.extend(decoder.event(event)?);
        }
    }
    items.extend(decoder.end()?);
    Ok(joined(items))
}

fn decode(pieces: &[&[u8]]) -> Result<Vec<StreamItem>, Cause> {
    decode_events(&parse(pieces))
}

fn joined(items: Vec<StreamItem>) -> Vec<StreamItem> {
    let mut out: Vec<StreamItem> = Vec::new();
    for item in items {
        match (out.last_mut(), item) {
            (Some(StreamItem::Text(text)), StreamItem::Text(more)) => text.push_str(&more),
            (Some(StreamItem::Reasoning(text)), StreamItem::Reasoning(more)) => text.push_str(&more),
            (_, item) => out.push(item),
        }
    }
    out
}

fn reply() -> Reply {
    Reply::new()
        .think("häm")
        .say("Größe 汉 👩‍💻")
        .call("read_file", &json!({"path": "ä/b.txt", "n": 3}))
        .call("ls", &json!({}))
}

fn call(index: usize, name: &str, arguments: &str) -> StreamItem {
    StreamItem::Call(Call {
        index,
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        malformed: None,
    })
}

fn want(usage: UsageSpelling) -> Vec<StreamItem> {
    let mut items = vec![
        StreamItem::Reasoning("häm".to_owned()),
        StreamItem::Text("Größe 汉 👩‍💻".to_owned()),
        call(0, "read_file", "{\"path\":\"ä/b.txt\",\"n\":3}"),
        call(1, "ls", "{}"),
    ];
    if usage != UsageSpelling::Off {
        items.push(StreamItem::Usage(Usage {
            input: 100,
            cached: 64,
            output: 17,
        }));
    }
    items.push(StreamItem::Finish(Finish::ToolCalls));
    items
}

const LINE_ENDS: [LineEnd; 3] = [LineEnd::Lf, LineEnd::CrLf, LineEnd::Cr];
const FRAMINGS: [Framing; 7] = [
    Framing::NoSpace,
    Framing::Comments,
    Framing::ManyDataLines,
    Framing::ByteOrderMark,
    Framing::OtherFields,
    Framing::NoFinalBlankLine,
    Framing::NoDone,
];
const CALLS: [CallSpelling; 10] = [
    CallSpelling::Standard,
    CallSpelling::EmptyIds,
    CallSpelling::Nulls,
    CallSpelling::Repeated,
    CallSpelling::NoIndex,
    CallSpelling::NoIndexFirstIdOnly,
    CallSpelling::SameIndex,
    CallSpelling::SparseIndex,
    CallSpelling::OneDelta,
    CallSpelling::Interleaved,
];
const USAGES: [UsageSpelling; 7] = [
    UsageSpelling::ClosingChunk,
    UsageSpelling::ClosingChunkWithoutChoices,
    UsageSpelling::NullElsewhere,
    UsageSpelling::OnFinish,
    UsageSpelling::EmptyFirstChunk,
    UsageSpelling::EveryChunk,
    UsageSpelling::Off,
];

#[test]
fn every_framing_at_every_cut() {
    let mut spellings = Vec::new();
    for line_end in LINE_ENDS {
        spellings.push(Spelling::default().lines(line_end));
        spellings.extend(FRAMINGS.map(|framing| Spelling::default().lines(line_end).framed(framing)));
        spellings.push(
            FRAMINGS
                .into_iter()
                .fold(Spelling::default().lines(line_end), Spelling::framed),
        );
    }
    for spelling in spellings {
        let bytes = wire_bytes(&reply(), &spelling);
        let events = parse(&[&bytes]);
        assert_eq!(
            decode_events(&events).unwrap(),
            want(spelling.usage),
            "{spelling:?}"
        );
        for cut in 0..=bytes.len() {
            let (a, b) = bytes.split_at(cut);
            assert!(parse(&[a, b]) == events, "{spelling:?} cut at {cut}");
        }
        let single: Vec<_> = bytes.chunks(1).collect();
        assert!(parse(&single) == events, "{spelling:?} byte by byte");
    }
}

#[test]
fn every_call_and_usage_spelling_in_every_framing() {
    for calls in CALLS {
        for usage in USAGES {
            for framing in FRAMINGS {
                let spelling = Spelling::default().calls(calls).usage(usage).framed(framing);
                let bytes = wire_bytes(&reply(), &spelling);
                for size in [1, 17] {
                    let pieces: Vec<_> = bytes.chunks(size).collect();
                    assert_eq!(
                        decode(&pieces).unwrap(),
                        want(usage),
                        "{spelling:?} in pieces of {size}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_stream_cut_anywhere_is_cut_or_complete_and_never_half() {
    let bytes = wire_bytes(&reply(), &Spelling::default());
    let text = String::from_utf8(bytes.clone()).unwrap();
    let finished = text.find("\"finish_reason\":\"tool_calls\"").unwrap();
    for cut in 0..bytes.len() {
        match decode(&[&bytes[..cut]]) {
            Ok(items) => {
                assert!(cut > finished, "complete at {cut}");
                assert_eq!(
                    items
                        .iter()
                        .filter(|item| matches!(item, StreamItem::Call(_)))
                        .count(),
                    2
                );
            }
            Err(Cause::Cut(_) | Cause::Malformed(_)) => {}
            Err(other) => panic!("{other} at {cut}"),
        }
    }
}

#[test]
fn arguments_of_every_kind() {
    let check = |arguments: Option<&str>, good: bool| {
        let bytes = wire_bytes(&Reply::new().call_raw("ls", arguments), &Spelling::default());
        let items = decode(&[&bytes]).unwrap();
        let Some(StreamItem::Call(call)) = items.first() else {
            panic!("{items:?}")
        };
        assert_eq!(
            (call.arguments.as_str(), call.malformed.is_none()),
            ("{}", good),
            "{arguments:?}"
        );
    };
    check(Some(""), true);
    check(Some(" "), true);
    check(Some("null"), true);
    check(None, true);
    check(Some("{}"), true);
    check(Some("[]"), false);
    check(Some("\"{}\""), false);
    check(Some("{\"a\":"), false);
}

fn event(name: &str, data: &str) -> Result<Vec<StreamItem>, Cause> {
    ChatDecoder::default().event(&Event {
        name: name.to_owned(),
        data: data.to_owned(),
    })
}

#[test]
fn errors_inside_a_stream_are_errors() {
    let check = |name: &str, data: &str, text: &str, wanted: Again| match event(name, data) {
        Err(Cause::Inside { message, again }) => assert_eq!((message.as_str(), again), (text, wanted)),
        other => panic!("{data}: {other:?}"),
    };
    check(
        "",
        "{\"error\":{\"message\":\"quota used up\",\"code\":429}}",
        "quota used up",
        Again::Maybe,
    );
    check(
        "",
        "{\"error\":{\"message\":\"no\",\"type\":\"invalid_request_error\"},\"choices\":[]}",
        "no",
        Again::No,
    );
    check("error", "{\"message\":\"busy\"}", "busy", Again::Maybe);
    check("error", "plain words", "plain words", Again::Maybe);
    check("error", "{\"error\":\"words\"}", "words", Again::Maybe);
    let stopped = "{\"choices\":[{\"delta\":{},\"finish_reason\":\"insufficient_system_resource\"}]}";
    check(
        "",
        stopped,
        "the model stopped (insufficient_system_resource)",
        Again::Maybe,
    );
}

#[test]
fn nonsense_is_malformed_and_never_panics() {
    for data in [
        "{",
        "nonsense",
        "{\"choices\":7}",
        "{\"choices\":[{\"delta\":{\"tool_calls\":7}}]}",
    ] {
        assert!(matches!(event("", data), Err(Cause::Malformed(_))), "{data}");
    }
    for data in [
        "",
        "7",
        "null",
        "[]",
        "{}",
        "{\"choices\":null}",
        "{\"choices\":[{}]}",
        "{\"usage\":7}",
    ] {
        assert!(event("", data).unwrap().is_empty(), "{data}");
    }
}

#[test]
fn empty_answers_are_told_from_short_ones() {
    let end = |reply: &Reply| decode(&[&wire_bytes(reply, &Spelling::default().usage(UsageSpelling::Off))]);
    assert!(matches!(end(&Reply::new()), Err(Cause::Empty)));
    assert!(matches!(
        end(&Reply::new().finish("tool_calls")),
        Err(Cause::Empty)
    ));
    assert_eq!(
        end(&Reply::new().finish("content_filter")).unwrap(),
        [StreamItem::Finish(Finish::ContentFilter)]
    );
    assert_eq!(
        end(&Reply::new().finish("length")).unwrap(),
        [StreamItem::Finish(Finish::Length)]
    );
    let thought = end(&Reply::new().think("hm")).unwrap();
    assert_eq!(thought.last(), Some(&StreamItem::Finish(Finish::Stop)));
    let called = end(&Reply::new().call("ls", &json!({})).finish("stop")).unwrap();
    assert_eq!(called.last(), Some(&StreamItem::Finish(Finish::ToolCalls)));
    let said = end(&Reply::new().say("x").finish("something_new")).unwrap();
    assert_eq!(said.last(), Some(&StreamItem::Finish(Finish::Other)));
}

#[test]
fn reads_whole_answers_and_their_errors() {
    let mut decoder = ChatDecoder::default();
    let body = json!({"choices": [{"message": {"content": [{"type": "text", "text": "hi"}], "tool_calls": [
        {"id": "x", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "cached_tokens": 9}});
    let mut items = decoder.whole(body.to_string().as_bytes()).unwrap();
    items.extend(decoder.end().unwrap());
    let want = [
        StreamItem::Text("hi".to_owned()),
        call(0, "ls", "{}"),
        StreamItem::Usage(Usage {
            input: 5,
            cached: 5,
            output: 2,
        }),
        StreamItem::Finish(Finish::ToolCalls),
    ];
    assert_eq!(items, want);
    let whole = |text: &str| ChatDecoder::default().whole(text.as_bytes());
    assert!(matches!(
        whole("{\"error\":{\"message\":\"no\"}}"),
        Err(Cause::Inside { .. })
    ));
    assert!(matches!(whole("{\"detail\":\"no\"}"), Err(Cause::Inside { .. })));
    assert!(matches!(whole("{\"a\":1}"), Err(Cause::Malformed(_))));
    assert!(matches!(whole("{"), Err(Cause::Malformed(_))));
}
