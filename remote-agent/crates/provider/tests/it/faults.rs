//! The fault table: each fault ends in its stated outcome.

use std::time::Duration;

use conversation::{FailureKind, Finish};
use provider::Cause;
use scripted_model::{ErrorFraming, Fault, Framing, Reply, Scenario, ScriptedModel, Spelling, wire_bytes};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::harness::{Answer, ask, ask_until, options, start, user};

fn scenario() -> Scenario {
    Scenario::new().reply(
        Reply::new()
            .say("one two three")
            .call("ls", &json!({"path": "a"})),
    )
}

/// One fault, then the answer.
async fn once(fault: Fault) -> Answer {
    let (model, provider) = start(scenario().fault(0, fault)).await;
    let answer = ask(&*provider, &[user("hi")]).await;
    let requests = model.requests();
    assert!(
        requests.windows(2).all(|pair| pair[0].bytes == pair[1].bytes),
        "an attempt sent other bytes"
    );
    model.stop().await;
    answer
}

/// The same fault at every attempt; gives the answer and the number of attempts.
async fn always(fault: Fault) -> (Answer, usize) {
    let mut scenario = scenario();
    for request in 0..8 {
        scenario = scenario.fault(request, fault.clone());
    }
    let model = ScriptedModel::start(scenario).await.unwrap();
    let mut options = options(&model.base_url());
    if matches!(
        fault,
        Fault::Silent | Fault::Stall { .. } | Fault::CommentsOnly { .. }
    ) {
        options.idle_timeout = Duration::from_millis(100);
    }
    let provider = provider::build("openai", options).unwrap();
    let answer = ask(&*provider, &[user("hi")]).await;
    let attempts = model.requests().len();
    model.stop().await;
    (answer, attempts)
}

fn page() -> Fault {
    Fault::WrongType {
        content_type: "text/html".to_owned(),
        body: "<html>log in</html>".to_owned(),
    }
}

fn error_inside(error: &serde_json::Value, after_text: &str, framing: ErrorFraming) -> Fault {
    Fault::ErrorInside {
        error: error.clone(),
        after_text: after_text.to_owned(),
        framing,
    }
}

#[tokio::test]
async fn passing_faults_are_retried_and_void_what_came_before() {
    let busy = json!({"message": "busy", "code": 503});
    let faults = [
        Fault::status(500),
        Fault::status(502),
        Fault::status(503),
        Fault::status(429),
        Fault::rate_limited("0"),
        Fault::Hangup,
        Fault::Drop { after: 0 },
        Fault::Drop { after: 400 },
        Fault::MalformedJson,
        error_inside(&busy, "", ErrorFraming::Data),
        error_inside(&busy, "partial ", ErrorFraming::Data),
        error_inside(&busy, "partial ", ErrorFraming::Event),
        error_inside(&busy, "", ErrorFraming::Json),
    ];
    for fault in faults {
        let answer = once(fault.clone()).await;
        assert_eq!(
            (answer.text().as_str(), answer.retries()),
            ("one two three", 1),
            "{fault:?}"
        );
        assert_eq!(answer.calls().len(), 1, "{fault:?}");
        assert_eq!(answer.finish(), Some(Finish::ToolCalls), "{fault:?}");
    }
}

#[tokio::test]
async fn final_faults_are_told_at_once() {
    let refused = json!({"message": "quota used up", "type": "insufficient_quota"});
    let quota = Fault::Status {
        status: 429,
        retry_after: None,
        body: Some(json!({"error": refused.clone()}).to_string()),
    };
    let table = [
        (
            Fault::status(400),
            FailureKind::ModelRefused,
            "test · openai: status 400: scripted failure 400",
        ),
        (
            Fault::context_length(),
            FailureKind::ModelRefused,
            "maximum context length",
        ),
        (
            Fault::status(401),
            FailureKind::ModelAccess,
            "authentication failed (HTTP 401)",
        ),
        (
            Fault::status(402),
            FailureKind::ModelAccess,
            "the quota is used up (HTTP 402)",
        ),
        (Fault::status(403), FailureKind::ModelAccess, "HTTP 403"),
        (Fault::status(404), FailureKind::ModelRefused, "status 404"),
        (Fault::status(307), FailureKind::ModelRefused, "status 307"),
        (quota, FailureKind::ModelAccess, "quota used up"),
        (
            Fault::rate_limited("9999"),
            FailureKind::ModelUnreachable,
            "status 429",
        ),
        (
            page(),
            FailureKind::ModelProtocol,
            "expected an event stream, got text/html: <html>log in",
        ),
        (
            error_inside(&refused, "x", ErrorFraming::Data),
            FailureKind::ModelRefused,
            "quota used up",
        ),
    ];
    for (fault, kind, part) in table {
        let answer = once(fault.clone()).await;
        let failure = answer.error.as_ref().map(provider::Error::failure).unwrap();
        assert_eq!(
            (failure.kind, answer.retries()),
            (kind, 0),
            "{fault:?}: {failure:?}"
        );
        assert!(failure.message.contains(part), "{fault:?}: {failure:?}");
    }
}

#[tokio::test]
async fn lasting_faults_use_up_the_one_budget() {
    let quota = json!({"message": "quota used up", "code": 429});
    let table = [
        (Fault::status(500), FailureKind::ModelUnreachable, "status 500"),
        (
            Fault::Hangup,
            FailureKind::ModelUnreachable,
            "could not reach 127.0.0.1",
        ),
        (
            Fault::Drop { after: 300 },
            FailureKind::ModelUnreachable,
            "the stream ended before completion",
        ),
        (
            Fault::Silent,
            FailureKind::ModelUnreachable,
            "the stream stalled: nothing came for 0.1 s",
        ),
        (
            Fault::Stall { after: 0 },
            FailureKind::ModelUnreachable,
            "the stream stalled",
        ),
        (
            Fault::Stall { after: 300 },
            FailureKind::ModelUnreachable,
            "the stream stalled",
        ),
        (
            Fault::CommentsOnly { every_ms: 5 },
            FailureKind::ModelUnreachable,
            "the stream stalled",
        ),
        (
            Fault::MalformedJson,
            FailureKind::ModelProtocol,
            "a chunk is not valid JSON",
        ),
        (
            error_inside(&quota, "some ", ErrorFraming::Data),
            FailureKind::ModelUnreachable,
            "quota used up",
        ),
        (
            error_inside(&quota, "", ErrorFraming::Json),
            FailureKind::ModelUnreachable,
            "quota used up",
        ),
    ];
    for (fault, kind, part) in table {
        let (answer, attempts) = always(fault.clone()).await;
        let failure = answer.error.as_ref().map(provider::Error::failure).unwrap();
        assert_eq!(
            (failure.kind, attempts, answer.retries()),
            (kind, 4, 3),
            "{fault:?}: {failure:?}"
        );
        assert!(failure.message.contains(part), "{fault:?}: {failure:?}");
        assert!(answer.calls().is_empty(), "{fault:?}");
    }
}

#[tokio::test]
async fn an_answer_cut_at_any_byte_gives_its_calls_once_or_not_at_all() {
    let reply = Reply::new().say("hi").call("ls", &json!({"path": "a"}));
    let length = wire_bytes(&reply, &Spelling::default()).len();
    let mut scenario = Scenario::new().repeated();
    let cuts: Vec<usize> = (0..length).step_by(7).collect();
    for (at, after) in cuts.iter().enumerate() {
        scenario = scenario.fault(at, Fault::Drop { after: *after });
    }
    // A reply that a cut leaves complete is served again by the next request: the script repeats.
    let (model, provider) = start(scenario.reply(reply)).await;
    while model.requests().len() < cuts.len() {
        let answer = ask(&*provider, &[user("hi")]).await;
        match answer.error {
            None => assert_eq!((answer.text().as_str(), answer.calls().len()), ("hi", 1)),
            Some(error) => assert!(matches!(error.cause, Cause::Cut(_)), "{error}"),
        }
    }
    model.stop().await;
}

#[tokio::test]
async fn a_finished_answer_does_not_need_its_trailer() {
    let reply = Reply::new().say("hi");
    let text = String::from_utf8(wire_bytes(&reply, &Spelling::default())).unwrap();
    let after = text.find("\"stop\"}]}").unwrap() + "\"stop\"}]}\n\n".len();
    for fault in [Fault::Drop { after }, Fault::Stall { after }] {
        let model = ScriptedModel::start(Scenario::new().reply(reply.clone()).fault(0, fault))
            .await
            .unwrap();
        let mut options = options(&model.base_url());
        options.idle_timeout = Duration::from_secs(2);
        let provider = provider::build("openai", options).unwrap();
        let answer = ask(&*provider, &[user("hi")]).await;
        assert_eq!(
            (answer.text().as_str(), answer.finish()),
            ("hi", Some(Finish::Stop))
        );
        assert_eq!(answer.retries(), 0);
        model.stop().await;
    }
}

#[tokio::test]
async fn a_stream_that_just_ends_is_retried() {
    let cut = Spelling::default().framed(Framing::NoDone);
    let part = "data: {\"choices\":[{\"delta\":{\"content\":\"half \"}}]}\n\n";
    let half = Fault::WrongType {
        content_type: "text/event-stream".to_owned(),
        body: part.to_owned(),
    };
    let (model, provider) = start(scenario().spelled(cut).fault(0, half)).await;
    let answer = ask(&*provider, &[user("hi")]).await;
    assert_eq!((answer.text().as_str(), answer.retries()), ("one two three", 1));
    model.stop().await;
}

#[tokio::test]
async fn empty_answers_are_retried_and_then_told() {
    let (model, provider) = start(Scenario::new().reply(Reply::new()).reply(Reply::new()).say("x")).await;
    let answer = ask(&*provider, &[user("hi")]).await;
    assert_eq!((answer.text().as_str(), answer.retries()), ("x", 2));
    model.stop().await;
    let (model, provider) = start(Scenario::new().reply(Reply::new()).repeated()).await;
    let answer = ask(&*provider, &[user("hi")]).await;
    assert!(matches!(answer.error.unwrap().cause, Cause::Empty));
    assert_eq!(model.requests().len(), 4);
    model.stop().await;
}

#[tokio::test]
async fn nobody_listening_is_unreachable() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let provider = provider::build("openai", options(&format!("http://{address}/v1"))).unwrap();
    let answer = ask(&*provider, &[user("hi")]).await;
    let failure = answer.error.unwrap().failure();
    assert_eq!(
        (failure.kind, answer.items.len()),
        (FailureKind::ModelUnreachable, 3)
    );
    assert!(
        failure.message.contains(&format!("could not reach {address}")),
        "{failure:?}"
    );
    assert!(failure.message.to_lowercase().contains("refused"), "{failure:?}");
}

#[tokio::test]
async fn a_server_without_tls_is_unreachable_by_tls() {
    let (model, _) = start(Scenario::new()).await;
    let url = model.base_url().replace("http://", "https://");
    let provider = provider::build("openai", options(&url)).unwrap();
    let answer = ask(&*provider, &[user("hi")]).await;
    assert_eq!(
        answer.error.unwrap().failure().kind,
        FailureKind::ModelUnreachable
    );
    model.stop().await;
}

#[tokio::test]
async fn cancelling_ends_a_stall_and_a_wait() {
    let (model, provider) = start(scenario().fault(0, Fault::Stall { after: 10 })).await;
    let cancel = CancellationToken::new();
    let messages = [user("hi")];
    let (answer, ()) = tokio::join!(ask_until(&*provider, &messages, &cancel), async {
        model.wait_for_requests(1).await;
        cancel.cancel();
    });
    assert!(matches!(answer.error.unwrap().cause, Cause::Cancelled));
    model.stop().await;

    let (model, provider) = start(scenario().fault(0, Fault::rate_limited("200"))).await;
    let cancel = CancellationToken::new();
    let (answer, ()) = tokio::join!(ask_until(&*provider, &messages, &cancel), async {
        model.wait_for_requests(1).await;
        cancel.cancel();
    });
    assert!(matches!(answer.error.unwrap().cause, Cause::Cancelled));
    assert_eq!(model.requests().len(), 1);
    model.stop().await;
}
