//! Keys, headers, URLs and the body's extra fields.

use conversation::FailureKind;
use provider::{Cause, KINDS, Options, ReasoningProtocol};
use scripted_model::{Fault, Scenario, ScriptedModel};
use serde_json::json;
use stdx::Secret;

use crate::harness::{ask, options, user};

const KEY: &str = "sk-0123456789abcdef";

#[tokio::test]
async fn the_key_goes_to_the_endpoint_and_nowhere_else() {
    let body = json!({"error": {"message": format!("wrong key {KEY} given")}}).to_string();
    let refusal = Fault::Status {
        status: 401,
        retry_after: None,
        body: Some(body),
    };
    let model = ScriptedModel::start(Scenario::new().say("x").fault(1, refusal))
        .await
        .unwrap();
    let mut options = options(&model.base_url());
    options.key_env = Some("TEST_KEY".to_owned());
    options.key = Some(Secret::new(KEY));
    options.headers = vec![("x-title".to_owned(), Secret::new("reasonix"))];
    let provider = provider::build("openai", options).unwrap();
    assert_eq!(ask(&*provider, &[user("hi")]).await.text(), "x");
    let answer = ask(&*provider, &[user("hi")]).await;
    let failure = answer.error.as_ref().unwrap().failure();
    assert!(failure.message.contains("wrong key *** given"), "{failure:?}");
    assert!(failure.hint.is_some());
    assert!(!format!("{provider:?} {answer:?} {failure:?}").contains(KEY));
    let requests = model.requests();
    assert!(requests[0].authorization.is_some());
    assert_eq!(requests[0].header("x-title"), Some("reasonix"));
    model.stop().await;
}

#[tokio::test]
async fn loopback_needs_no_key_and_others_name_the_missing_one() {
    let model = ScriptedModel::start(Scenario::new().say("x")).await.unwrap();
    let mut here = options(&model.base_url());
    here.key_env = Some("TEST_KEY".to_owned());
    let provider = provider::build("openai", here).unwrap();
    assert_eq!(ask(&*provider, &[user("hi")]).await.text(), "x");
    assert!(model.requests()[0].authorization.is_none());
    model.stop().await;

    let mut there = options("https://model.invalid/v1");
    there.key_env = Some("TEST_KEY".to_owned());
    let provider = provider::build("openai", there).unwrap();
    let error = ask(&*provider, &[user("hi")]).await.error.unwrap();
    assert_eq!(error.to_string(), "provider \"test\": missing env TEST_KEY");
    let failure = error.failure();
    assert_eq!(failure.kind, FailureKind::ModelAccess);
    let hint = failure.hint.unwrap();
    assert!(hint.contains("`reasonix remote key HOST TEST_KEY`"), "{hint}");
}

#[tokio::test]
async fn extra_fields_are_added_and_reserved_ones_refused() {
    let model = ScriptedModel::start(Scenario::new().say("x")).await.unwrap();
    let mut good = options(&model.base_url());
    good.extra_body.insert("top_k".to_owned(), json!(4));
    good.request_url = Some(format!("{}/chat/completions", model.base_url()));
    good.base_url = "not used".to_owned();
    let provider = provider::build("openai", good).unwrap();
    assert_eq!(ask(&*provider, &[user("hi")]).await.text(), "x");
    assert_eq!(model.requests()[0].body["top_k"], 4);
    model.stop().await;
    for (key, value) in [
        ("model", json!("other")),
        ("stream", json!(false)),
        ("thinking", json!({})),
        ("x", json!(null)),
    ] {
        let mut bad = options("http://127.0.0.1:1");
        bad.extra_body.insert(key.to_owned(), value);
        let error = provider::build("openai", bad).unwrap_err();
        assert!(
            matches!(error.cause, Cause::Config(_)) && error.to_string().contains(key),
            "{error}"
        );
    }
}

#[test]
fn unknown_kinds_and_bad_options_are_named() {
    let error = provider::build("telepathy", Options::new("x", "http://127.0.0.1")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "provider \"x\": unknown kind \"telepathy\" (known: openai)"
    );
    assert!(
        KINDS
            .iter()
            .all(|kind| provider::build(kind, Options::new("x", "http://127.0.0.1")).is_ok())
    );
    let mut options = Options::new("x", "http://127.0.0.1");
    options.key = Some(Secret::new("sk\n1"));
    let error = provider::build("openai", options).unwrap_err().to_string();
    assert!(
        error.contains("the key holds characters") && !error.contains("sk\n1"),
        "{error}"
    );
    assert_eq!(Options::new("x", "y").reasoning, ReasoningProtocol::Auto);
}
