//! A view over reconnects, holes and a host that lost the end of its log.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use client::{Error, SessionView, Update};
use http::{Response, StatusCode};
use protocol::{
    Delta, DeltaTarget, ErrorBody, ErrorCode, ErrorResponse, Event, EventEnvelope, Frame, SessionEvent,
};

use crate::fake::{self, Body, Fake, empty, event, json, options, session, sse};

/// An agent that gives one answer after the other, whatever is asked.
fn script(answers: Vec<Response<Body>>) -> Fake {
    let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
    Fake::new(move |asked: fake::Asked| {
        let answer = answers.lock().unwrap().pop_front();
        async move { answer.unwrap_or_else(|| panic!("nothing to answer to {}", asked.line)) }
    })
}

fn lines(fake: &Fake) -> Vec<String> {
    let prefix = format!("GET /v1/sessions/{}/", session());
    fake.asked()
        .into_iter()
        .map(|asked| asked.line.replace(&prefix, ""))
        .collect()
}

fn number(update: Result<Update, Error>) -> u64 {
    match update.unwrap() {
        Update::Frame(Frame::Event(envelope)) => envelope.n,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn goes_on_after_the_last_event_when_the_stream_ends() {
    let fake = script(vec![
        json(StatusCode::OK, &empty()),
        fake::stream(&[event(1), event(2)].concat()),
        fake::stream(&[event(2), event(3)].concat()),
    ]);
    let mut view = SessionView::open(fake.agent(options()).session(session()))
        .await
        .unwrap();
    assert_eq!(number(view.next().await), 1);
    assert_eq!(number(view.next().await), 2);
    let error = view.next().await.unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    assert_eq!(number(view.next().await), 3);
    assert_eq!(lines(&fake), ["snapshot", "events?after=0", "events?after=2"]);
    let counts = view.counts();
    assert_eq!((counts.received, counts.duplicates, counts.gaps), (3, 1, 0));
}

#[tokio::test]
async fn a_hole_is_mended_by_asking_again_and_then_by_a_snapshot() {
    let mut snapshot = empty();
    snapshot.at = 9;
    let fake = script(vec![
        fake::stream(&[event(1), event(3)].concat()),
        fake::stream(&[event(2), event(4)].concat()),
        fake::stream(&event(4)),
        json(StatusCode::OK, &snapshot),
        fake::stream(&event(10)),
    ]);
    let client = fake.agent(options()).session(session());
    let mut view = SessionView::from_snapshot(client, empty());
    assert_eq!(number(view.next().await), 1);
    assert_eq!(number(view.next().await), 2);
    assert_eq!(view.next().await.unwrap(), Update::Refreshed);
    assert_eq!(view.snapshot().at, 9);
    assert_eq!(number(view.next().await), 10);
    let expected = [
        "events?after=0",
        "events?after=1",
        "events?after=2",
        "snapshot",
        "events?after=9",
    ];
    assert_eq!(lines(&fake), expected);
    assert_eq!((view.counts().gaps, view.counts().in_snapshots), (3, 7));
}

#[tokio::test]
async fn missing_text_is_mended_the_same_way() {
    let text = |offset, text: &str| {
        sse(&Frame::Delta(Delta {
            target: DeltaTarget::Text { item: 1 },
            offset,
            text: text.into(),
        }))
    };
    let fake = script(vec![
        fake::stream(&[event(1), text(2, "cd")].concat()),
        fake::stream(&text(0, "abcd")),
    ]);
    let client = fake.agent(options()).session(session());
    let mut view = SessionView::from_snapshot(client, empty());
    assert_eq!(number(view.next().await), 1);
    assert!(matches!(view.next().await.unwrap(), Update::Frame(Frame::Delta(delta)) if delta.offset == 0));
    assert_eq!(lines(&fake), ["events?after=0", "events?after=1"]);
}

#[tokio::test]
async fn a_log_that_lost_its_end_is_seen_as_it_is_now() {
    let mut known = empty();
    known.at = 12;
    let mut shorter = empty();
    shorter.at = 8;
    let fake = script(vec![
        json(
            StatusCode::CONFLICT,
            &ErrorResponse {
                error: ErrorBody::new(ErrorCode::Conflict, "the session has 8 events"),
            },
        ),
        json(StatusCode::OK, &shorter),
        fake::stream(&event(9)),
    ]);
    let client = fake.agent(options()).session(session());
    let mut view = SessionView::from_snapshot(client, known);
    assert_eq!(view.next().await.unwrap(), Update::Refreshed);
    assert_eq!(number(view.next().await), 9);
}

#[tokio::test]
async fn a_closed_session_ends_the_view() {
    let closed = EventEnvelope {
        n: 1,
        at: 0,
        event: Event::Session(SessionEvent::Closed {
            command: protocol::CommandId::fresh(),
        }),
    };
    let fake = script(vec![fake::stream(&sse(&Frame::Event(closed)))]);
    let client = fake.agent(options()).session(session());
    let mut view = SessionView::from_snapshot(client, empty());
    assert_eq!(number(view.next().await), 1);
    assert_eq!(view.next().await.unwrap(), Update::Closed);
}
