//! Every fault, seen from the other side of the connection.

use scripted_model::{ErrorFraming, Fault, Reply, Scenario, ScriptedModel};
use serde_json::json;

use crate::client::{End, ask, asking, chat, said};

/// Starts a script of one reply whose first request meets the fault.
async fn with(fault: Fault) -> ScriptedModel {
    ScriptedModel::start(Scenario::new().say("one two three").fault(0, fault))
        .await
        .unwrap()
}

#[tokio::test]
async fn a_status_keeps_the_reply_for_the_next_attempt() {
    for status in [400, 401, 402, 403, 429, 500, 502, 503] {
        let model = with(Fault::status(status)).await;
        let read = ask(&model, "x").await;
        assert_eq!(read.status.as_u16(), status);
        assert!(read.text.contains("\"error\""));
        assert_eq!(said(&ask(&model, "x").await.text), "one two three");
        model.stop().await;
    }
    let model = with(Fault::rate_limited("7")).await;
    assert_eq!(ask(&model, "x").await.headers["retry-after"], "7");
    model.stop().await;
    let model = with(Fault::context_length()).await;
    assert!(ask(&model, "x").await.text.contains("context_length_exceeded"));
    model.stop().await;
}

#[tokio::test]
async fn drops_after_exactly_so_many_bytes() {
    for after in [0, 1, 40, 200] {
        let model = with(Fault::Drop { after }).await;
        let read = ask(&model, "x").await;
        assert_eq!((read.text.len(), read.end), (after, End::Broken));
        assert_eq!(said(&ask(&model, "x").await.text), "one two three");
        model.stop().await;
    }
}

#[tokio::test]
async fn stalls_after_exactly_so_many_bytes() {
    let model = with(Fault::Stall { after: 33 }).await;
    let mut open = chat(&model, &asking("x")).await.unwrap();
    let mut bytes = 0;
    while bytes < 33 {
        bytes += open.next().await.unwrap().unwrap().len();
    }
    assert_eq!(bytes, 33);
    // Stopping the server is what ends it.
    model.stop().await;
    assert!(open.next().await.is_none_or(|end| end.is_err()));
}

#[tokio::test]
async fn hangs_up_or_stays_silent() {
    let model = with(Fault::Hangup).await;
    assert!(chat(&model, &asking("x")).await.is_err());
    model.stop().await;
    let model = with(Fault::Silent).await;
    let body = asking("x");
    tokio::select! {
        biased;
        _answer = chat(&model, &body) => panic!("it answered"),
        () = model.wait_for_requests(1) => {}
    }
    model.stop().await;
}

#[tokio::test]
async fn sends_nothing_but_comments() {
    let model = with(Fault::CommentsOnly { every_ms: 1 }).await;
    let mut open = chat(&model, &asking("x")).await.unwrap();
    for _ in 0..5 {
        assert!(open.next().await.unwrap().unwrap().starts_with(b": keep-alive"));
    }
    model.stop().await;
}

#[tokio::test]
async fn trickles_everything() {
    let model = with(Fault::Trickle {
        bytes: 100,
        every_ms: 1,
    })
    .await;
    assert_eq!(said(&ask(&model, "x").await.text), "one two three");
    assert_eq!(model.replies_left(), 0);
    model.stop().await;
}

#[tokio::test]
async fn puts_errors_into_a_200() {
    let error = json!({"message": "quota used up", "code": 429});
    for framing in [ErrorFraming::Data, ErrorFraming::Event, ErrorFraming::Json] {
        let after_text = "partial".to_owned();
        let model = with(Fault::ErrorInside {
            error: error.clone(),
            after_text,
            framing,
        })
        .await;
        let read = ask(&model, "x").await;
        assert_eq!(read.status, 200);
        assert!(read.text.contains("quota used up"));
        assert_eq!(read.text.contains("partial"), framing != ErrorFraming::Json);
        assert_eq!(read.text.contains("event: error"), framing == ErrorFraming::Event);
        model.stop().await;
    }
}

#[tokio::test]
async fn sends_pages_and_broken_json() {
    let page = Fault::WrongType {
        content_type: "text/html".to_owned(),
        body: "<html>log in</html>".to_owned(),
    };
    let model = with(page).await;
    let read = ask(&model, "x").await;
    assert_eq!(
        (read.headers["content-type"].to_str().unwrap(), read.text.as_str()),
        ("text/html", "<html>log in</html>")
    );
    model.stop().await;
    let model = with(Fault::MalformedJson).await;
    assert!(ask(&model, "x").await.text.contains("\"bro\n"));
    model.stop().await;
}

#[tokio::test]
async fn a_truly_empty_reply_is_possible() {
    let model = ScriptedModel::start(Scenario::new().reply(Reply::new()))
        .await
        .unwrap();
    let read = ask(&model, "x").await;
    assert_eq!((said(&read.text).as_str(), read.end), ("", End::Complete));
    model.stop().await;
}
