//! Answers without faults.

use std::time::Duration;

use conversation::{
    AssistantMessage, CallId, CallOutcome, Finish, ItemId, Message, ToolCall, ToolMessage, Usage,
};
use provider::{Call, ReasoningProtocol, StreamItem};
use scripted_model::{
    CallSpelling, Fault, Framing, LineEnd, ReasoningRule, Reply, Scenario, ScriptedModel, Spelling,
};
use serde_json::json;

use crate::harness::{ask, options, start, user};

#[tokio::test]
async fn text_calls_usage_and_finish_arrive() {
    let reply = Reply::new()
        .think("hm")
        .say("häh 汉")
        .call("ls", &json!({"path": "."}));
    let (model, provider) = start(Scenario::new().reply(reply)).await;
    let answer = ask(&*provider, &[user("hi")]).await;
    assert_eq!(
        (answer.text().as_str(), answer.finish()),
        ("häh 汉", Some(Finish::ToolCalls))
    );
    let want = Call {
        index: 0,
        name: "ls".to_owned(),
        arguments: "{\"path\":\".\"}".to_owned(),
        malformed: None,
    };
    assert_eq!(answer.calls(), [want]);
    let metered = model.meter().requests[0];
    let usage = answer.items.iter().find_map(|item| {
        if let StreamItem::Usage(usage) = item {
            Some(*usage)
        } else {
            None
        }
    });
    let Usage { input, cached, .. } = usage.unwrap();
    assert_eq!((input, cached), (metered.input, metered.hit));
    let request = &model.requests()[0];
    assert_eq!(
        (request.system().as_str(), request.tool_names()),
        ("be brief", vec!["ls"])
    );
    assert_eq!(request.header("accept"), Some("text/event-stream"));
    assert!(model.refusals().is_empty());
    model.stop().await;
}

#[tokio::test]
async fn text_arrives_while_the_model_still_writes() {
    use futures_util::StreamExt as _;
    let (model, provider) =
        start(Scenario::new().reply(Reply::new().say("early ").gate("g").say("late"))).await;
    let messages = [user("hi")];
    let request = provider::Request {
        model: "m",
        system: "",
        tools: &[],
        messages: &messages,
        temperature: Some(0.5),
        max_tokens: Some(9),
    };
    let mut stream = provider.stream(&request, &tokio_util::sync::CancellationToken::new());
    assert_eq!(
        stream.next().await.unwrap().unwrap(),
        StreamItem::Text("early ".to_owned())
    );
    model.gate("g").open();
    assert_eq!(
        stream.next().await.unwrap().unwrap(),
        StreamItem::Text("late".to_owned())
    );
    let body = &model.requests()[0].body;
    assert_eq!(
        (&body["temperature"], &body["max_tokens"]),
        (&json!(0.5), &json!(9))
    );
    assert!(body.get("tools").is_none());
    model.stop().await;
}

#[tokio::test]
async fn spellings_do_not_matter_over_http() {
    let reply = Reply::new()
        .say("häh 汉")
        .call("ls", &json!({"path": "ä"}))
        .call("ls", &json!({}));
    let spellings = [
        Spelling::default().writes(1).lines(LineEnd::CrLf),
        Spelling::default()
            .writes(1)
            .lines(LineEnd::Cr)
            .framed(Framing::Comments)
            .framed(Framing::NoSpace),
        Spelling::default()
            .writes(7)
            .calls(CallSpelling::Nulls)
            .framed(Framing::NoDone),
        Spelling::default()
            .calls(CallSpelling::NoIndex)
            .framed(Framing::NoFinalBlankLine),
    ];
    let mut scenario = Scenario::new();
    for spelling in &spellings {
        scenario = scenario.reply(reply.clone().spelled(spelling.clone()));
    }
    let (model, provider) = start(scenario).await;
    for spelling in &spellings {
        let answer = ask(&*provider, &[user("hi")]).await;
        let calls: Vec<_> = answer.calls().into_iter().map(|call| call.arguments).collect();
        assert_eq!(
            (answer.text().as_str(), answer.retries()),
            ("häh 汉", 0),
            "{spelling:?}"
        );
        assert_eq!(calls, ["{\"path\":\"ä\"}", "{}"], "{spelling:?}");
    }
    model.stop().await;
}

/// Makes the messages of a round with one call.
fn round(item: u64, reasoning: &str, call: &Call, result: &str) -> [Message; 2] {
    let id = CallId::new(ItemId(item), call.index);
    let tool_call = ToolCall {
        id: id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
        malformed: call.malformed.clone(),
    };
    let answer = AssistantMessage {
        reasoning: reasoning.to_owned(),
        calls: vec![tool_call],
        ..AssistantMessage::default()
    };
    let result = ToolMessage {
        call: id,
        outcome: CallOutcome::Ok,
        content: result.to_owned(),
    };
    [Message::Assistant(answer), Message::Tool(result)]
}

#[tokio::test]
async fn a_strict_vendor_accepts_the_history_and_its_cache_hits() {
    let long = "line\n".repeat(500);
    let mut scenario = Scenario::new().reasoning(ReasoningRule::Required);
    for arguments in [
        Some("{\"path\": \"a\"}"),
        Some(""),
        Some("[]"),
        Some("{\"pa"),
        None,
    ] {
        scenario = scenario.reply(Reply::new().think("hm").call_raw("ls", arguments));
    }
    let model = ScriptedModel::start(scenario.say("done")).await.unwrap();
    let mut options = options(&model.base_url());
    options.reasoning = ReasoningProtocol::Replayed;
    let provider = provider::build("openai", options).unwrap();
    let mut messages = vec![user("hi")];
    let mut malformed = 0;
    for item in 1..=5 {
        let answer = ask(&*provider, &messages).await;
        let call = answer.calls().pop().unwrap();
        malformed += usize::from(call.malformed.is_some());
        messages.extend(round(item, "hm", &call, &long));
    }
    assert_eq!(ask(&*provider, &messages).await.text(), "done");
    assert_eq!((malformed, model.refusals()), (2, Vec::<String>::new()));
    let meter = model.meter();
    for pair in meter.requests.windows(2) {
        assert!(
            pair[1].hit + 64 >= pair[0].input,
            "the prefix was not kept: {pair:?}"
        );
    }
    model.stop().await;
}

#[tokio::test]
async fn a_slow_steady_stream_is_never_cut() {
    // The whole answer takes several times the idle limit.
    let mut reply = Reply::new();
    for _ in 0..15 {
        reply = reply.say("x").pause_ms(200);
    }
    let model = ScriptedModel::start(Scenario::new().reply(reply)).await.unwrap();
    let mut options = options(&model.base_url());
    options.idle_timeout = Duration::from_millis(2500);
    let provider = provider::build("openai", options).unwrap();
    let answer = ask(&*provider, &[user("hi")]).await;
    assert_eq!((answer.text(), answer.retries()), ("x".repeat(15), 0));
    model.stop().await;
}

#[tokio::test]
async fn an_answer_that_ignores_the_stream_request_is_read() {
    let body = json!({"choices": [{"message": {"role": "assistant", "content": "whole"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1}});
    let fault = Fault::WrongType {
        content_type: "application/json".to_owned(),
        body: body.to_string(),
    };
    let (model, provider) = start(Scenario::new().fault(0, fault)).await;
    let answer = ask(&*provider, &[user("hi")]).await;
    assert_eq!(
        (answer.text().as_str(), answer.finish()),
        ("whole", Some(Finish::Stop))
    );
    model.stop().await;
}
