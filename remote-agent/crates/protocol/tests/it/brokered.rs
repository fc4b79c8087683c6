//! Samples of what crosses the wire for sessions without a key.

use protocol::{
    AnswerReceipt, BrokerEvent, BrokerRequest, Credentials, Frame, OpenSession, Phase, Snapshot, Wait,
    broker::{AnswerEnd, AnswerError, AnswerErrorKind, AnswerHead, PlainHeaders},
};
use serde_json::Value;

use crate::samples::{TURN, json, session};

pub(crate) fn all() -> Vec<(&'static str, &'static str, Value)> {
    let open = OpenSession {
        session: session(),
        workspace: Some("~/work".into()),
        model: None,
        preset: None,
        credentials: Some(Credentials::Broker),
    };
    let mut headers = PlainHeaders::default();
    headers.add("content-type", "application/json").unwrap();
    let request = BrokerRequest {
        request: 4,
        session: session(),
        provider: "main".into(),
        key_env: Some("MAIN_KEY".into()),
        url: "https://api.example.com/v1/chat/completions".into(),
        method: "POST".into(),
        headers,
        body: "{\"model\":\"汉字\"}".into(),
        attempt: 2,
        parked_at: 1_790_000_000_123,
        received: 17,
    };
    let head = AnswerHead {
        status: 429,
        headers: vec![("retry-after".into(), "2".into())],
    };
    let error = AnswerError {
        kind: AnswerErrorKind::NotAllowed,
        message: "the endpoint is not configured here".into(),
        hint: Some("add it to the configuration".into()),
    };
    let receipt = AnswerReceipt {
        received: 99,
        complete: true,
    };
    vec![
        ("open_session", "broker", json(open)),
        ("broker_request", "plain", json(request)),
        (
            "broker_event",
            "offered",
            json(BrokerEvent::Offered { request: 4 }),
        ),
        (
            "broker_event",
            "withdrawn",
            json(BrokerEvent::Withdrawn { request: 4 }),
        ),
        ("answer_head", "busy", json(head)),
        ("answer_end", "whole", json(AnswerEnd::default())),
        ("answer_end", "error", json(AnswerEnd { error: Some(error) })),
        ("answer_receipt", "complete", json(receipt)),
        (
            "frame",
            "snapshot_waiting",
            json(Frame::Snapshot(Box::new(waiting()))),
        ),
    ]
}

/// A snapshot of a session without a key, whose turn waits for one.
fn waiting() -> Snapshot {
    let mut snapshot = Snapshot::empty(session());
    snapshot.at = 9;
    snapshot.phase = Phase::Running { turn: TURN };
    snapshot.session.credentials = Credentials::Broker;
    snapshot.waiting = Some(Wait::Credentials);
    snapshot.asked_again = 2;
    snapshot
}
