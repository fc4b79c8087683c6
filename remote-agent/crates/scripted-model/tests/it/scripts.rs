//! Scripts without faults.

use http::Method;
use scripted_model::{Reply, Scenario, ScriptedModel, Spelling, UsageSpelling, wire_bytes};
use serde_json::{Value, json};

use crate::client::{End, ask, asking, chat, events, said, send};

#[tokio::test]
async fn serves_replies_in_order_and_records_requests() {
    let model = ScriptedModel::start(Scenario::new().say("one two").say("three"))
        .await
        .unwrap();
    let first = ask(&model, "a").await;
    assert_eq!(
        (said(&first.text).as_str(), first.end),
        ("one two", End::Complete)
    );
    assert!(first.text.ends_with("data: [DONE]\n\n"));
    assert_eq!(said(&ask(&model, "b").await.text), "three");
    let requests = model.requests();
    assert_eq!(
        (
            requests.len(),
            requests[1].last_text().as_str(),
            requests[0].system().as_str()
        ),
        (2, "b", "be brief")
    );
    let authorization = requests[0].authorization.as_deref().unwrap();
    assert_eq!(authorization.len(), 64);
    assert!(!format!("{requests:?}").contains("sk-test"));
    let third = ask(&model, "c").await;
    assert_eq!(third.status, 400);
    assert!(
        third.text.contains("no reply left for request 2"),
        "{}",
        third.text
    );
    assert_eq!(model.refusals().len(), 1);
    model.stop().await;
}

#[tokio::test]
async fn answers_without_a_stream() {
    let reply = Reply::new()
        .think("hm")
        .say("hello")
        .call("ls", &json!({"path": "."}));
    let model = ScriptedModel::start(Scenario::new().reply(reply)).await.unwrap();
    let mut body = asking("x");
    body["stream"] = json!(false);
    let read = chat(&model, &body).await.unwrap().read().await;
    let answer: Value = serde_json::from_str(&read.text).unwrap();
    let message = &answer["choices"][0]["message"];
    assert_eq!(
        (&message["content"], &message["reasoning_content"]),
        (&json!("hello"), &json!("hm"))
    );
    assert_eq!(
        message["tool_calls"][0]["function"]["arguments"],
        "{\"path\":\".\"}"
    );
    assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
    model.stop().await;
}

#[tokio::test]
async fn lists_its_model_and_knows_no_other_route() {
    let model = ScriptedModel::start(Scenario::new()).await.unwrap();
    let read = send(&model, Method::GET, "/v1/models", String::new())
        .await
        .unwrap()
        .read()
        .await;
    let list: Value = serde_json::from_str(&read.text).unwrap();
    assert_eq!(list["data"][0]["id"], "scripted");
    let read = send(&model, Method::GET, "/v1/other", String::new())
        .await
        .unwrap()
        .read()
        .await;
    assert_eq!(read.status, 404);
    model.stop().await;
}

#[tokio::test]
async fn a_gate_holds_the_answer() {
    let model =
        ScriptedModel::start(Scenario::new().reply(Reply::new().say("before ").gate("g").say("after")))
            .await
            .unwrap();
    let mut open = chat(&model, &asking("x")).await.unwrap();
    let gate = model.gate("g");
    gate.reached(1).await;
    let mut text = String::new();
    while !text.contains("before") {
        text.push_str(std::str::from_utf8(&open.next().await.unwrap().unwrap()).unwrap());
    }
    assert!(!text.contains("after"));
    gate.open();
    text.push_str(&open.read().await.text);
    assert_eq!(said(&text), "before after");
    model.stop().await;
}

#[tokio::test]
async fn strictness_refuses_and_remembers() {
    let model = ScriptedModel::start(Scenario::new().say("x")).await.unwrap();
    let mut body = asking("x");
    body["messages"][1] = json!({"role": "tool", "tool_call_id": "a", "content": "b"});
    let read = chat(&model, &body).await.unwrap().read().await;
    assert_eq!(read.status, 400);
    assert_eq!(model.refusals().len(), 1);
    assert_eq!(model.replies_left(), 1);
    model.stop().await;
}

#[tokio::test]
async fn reports_what_a_prefix_cache_saves() {
    let model = ScriptedModel::start(Scenario::new().say("x").repeated())
        .await
        .unwrap();
    let long = "word ".repeat(1000);
    let first = ask(&model, &long).await;
    let second = ask(&model, &long).await;
    let cached = |stream: &str| {
        let usage = events(stream).pop().unwrap()["usage"].clone();
        assert_eq!(
            usage["prompt_tokens_details"]["cached_tokens"],
            usage["prompt_cache_hit_tokens"]
        );
        usage["prompt_cache_hit_tokens"].as_u64().unwrap()
    };
    assert_eq!(cached(&first.text), 0);
    let hit = cached(&second.text);
    assert!(hit >= 1200 && hit % 64 == 0, "{hit}");
    assert_eq!(model.meter().hit(), hit);
    model.stop().await;
}

#[tokio::test]
async fn wire_bytes_are_what_is_served() {
    let reply = Reply::new().say("häh 汉").call("ls", &json!({"path": "."}));
    let spelling = Spelling::default().usage(UsageSpelling::Off);
    let model = ScriptedModel::start(Scenario::new().reply(reply.clone()).spelled(spelling.clone()))
        .await
        .unwrap();
    let read = ask(&model, "x").await;
    assert_eq!(read.text.as_bytes(), wire_bytes(&reply, &spelling));
    model.stop().await;
}

#[tokio::test]
async fn writes_of_one_byte_arrive_as_such() {
    let model = ScriptedModel::start(Scenario::new().say("x").spelled(Spelling::default().writes(1)))
        .await
        .unwrap();
    let mut open = chat(&model, &asking("x")).await.unwrap();
    let mut text = Vec::new();
    while let Some(piece) = open.next().await {
        let piece = piece.unwrap();
        assert_eq!(piece.len(), 1);
        text.extend_from_slice(&piece);
    }
    assert_eq!(said(&String::from_utf8(text).unwrap()), "x");
    model.stop().await;
}

#[test]
fn a_scenario_is_json() {
    let scenario = Scenario::from_json(
        r#"{"replies": [{"parts": [{"say": "hi"}, {"call": {"name": "ls", "arguments": "{}"}}, {"gate": "g"}],
            "when": {"contains": "x"}, "spelling": {"line_end": "cr", "framing": ["no_space"], "calls": "nulls"}}],
            "faults": {"0": {"kind": "status", "status": 503}, "2": {"kind": "drop", "after": 7}}, "repeat": true}"#,
    )
    .unwrap();
    let again = Scenario::from_json(&serde_json::to_string(&scenario).unwrap()).unwrap();
    assert_eq!(scenario, again);
    assert_eq!(scenario.faults.len(), 2);
    assert!(Scenario::from_json("{\"replys\": []}").is_err());
}
