//! Event streams: order, holes, what is skipped, how they end.

use client::{Error, EventStream};
use http::StatusCode;
use protocol::{Delta, DeltaTarget, ErrorBody, ErrorCode, ErrorResponse, Frame};

use crate::fake::{self, Fake, empty, envelope, event, fed, json, options, session, sse};

async fn follow(text: &'static str, after: u64) -> EventStream {
    let fake = Fake::new(move |_| async move { fake::stream(text) });
    let stream = fake
        .agent(options())
        .session(session())
        .events(after)
        .await
        .unwrap();
    assert_eq!(
        fake.asked()[0].line,
        format!("GET /v1/sessions/{}/events?after={after}", session())
    );
    stream
}

fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

#[tokio::test]
async fn frames_come_in_order_and_the_rest_is_skipped() {
    let delta = Frame::Delta(Delta {
        target: DeltaTarget::Text { item: 1 },
        offset: 0,
        text: "汉".into(),
    });
    let newer = "event: hologram\ndata: {\"frame\":\"hologram\"}\n\n";
    let text = [
        ": keep-alive\n\n",
        &event(4),
        newer,
        &sse(&delta),
        ": keep-alive\n\n",
        &event(4),
        &event(5),
    ]
    .concat();
    let mut stream = follow(leak(text), 3).await;
    let expected = [
        Frame::Event(envelope(4)),
        delta,
        Frame::Event(envelope(4)),
        Frame::Event(envelope(5)),
    ];
    for frame in expected {
        assert_eq!(stream.next().await.unwrap(), Some(frame));
    }
    assert_eq!(stream.next().await.unwrap(), None);
    assert_eq!(stream.last(), 5);
}

#[tokio::test]
async fn a_hole_is_an_error_that_names_both_numbers() {
    let mut stream = follow(leak(event(1) + &event(3)), 0).await;
    assert!(stream.next().await.unwrap().is_some());
    let error = stream.next().await.unwrap_err();
    assert!(matches!(error, Error::Gap { expected: 2, got: 3 }), "{error:?}");
}

#[tokio::test]
async fn a_snapshot_moves_the_number_forward_and_never_back() {
    let mut snapshot = empty();
    snapshot.at = 9;
    let frame = sse(&Frame::Snapshot(Box::new(snapshot)));
    let mut stream = follow(leak([frame.clone(), event(10), frame].concat()), 0).await;
    assert!(matches!(stream.next().await, Ok(Some(Frame::Snapshot(_)))));
    assert_eq!(stream.next().await.unwrap(), Some(Frame::Event(envelope(10))));
    assert!(matches!(stream.next().await, Err(Error::Protocol { .. })));
}

#[tokio::test]
async fn nonsense_in_a_stream_is_named() {
    for (text, word) in [
        ("data: {\"frame\":\n\n".to_owned(), "EOF"),
        ("data: pling\n\n".to_owned(), "pling"),
        (event(1).replace("id: 1", "id: 2"), "id \"2\""),
        ("data: {\"frame\":\"event\",\"n\":-1}\n\n".to_owned(), "-1"),
    ] {
        let error = follow(leak(text), 0).await.next().await.unwrap_err();
        assert!(matches!(error, Error::Protocol { .. }), "{error:?}");
        assert!(error.to_string().contains(word), "{error} lacks {word}");
    }
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_an_error() {
    let fake = Fake::new(async |_| json(StatusCode::OK, &7));
    let error = fake
        .agent(options())
        .session(session())
        .events(0)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("application/json"), "{error}");
    let fake = Fake::new(async |_| {
        let error = ErrorBody::new(ErrorCode::NotFound, "no such session");
        json(StatusCode::NOT_FOUND, &ErrorResponse { error })
    });
    let error = fake
        .agent(options())
        .session(session())
        .events(0)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Agent(body) if body.code == ErrorCode::NotFound));
}

#[tokio::test]
async fn a_cut_is_a_connection_error_and_what_had_arrived_is_given_first() {
    let (sender, response) = fed();
    let response = std::sync::Mutex::new(Some(response));
    let fake = Fake::new(move |_| {
        let response = response.lock().unwrap().take().unwrap();
        async move { response }
    });
    let mut stream = fake.agent(options()).session(session()).events(0).await.unwrap();
    sender.send(event(1) + &event(2)).await.unwrap();
    assert_eq!(stream.next().await.unwrap(), Some(Frame::Event(envelope(1))));
    fake.cut();
    assert_eq!(stream.next().await.unwrap(), Some(Frame::Event(envelope(2))));
    let error = stream.next().await.unwrap_err();
    assert!(matches!(error, Error::Connection { .. }), "{error:?}");
}

#[tokio::test]
async fn a_reader_that_is_interrupted_loses_nothing() {
    let (sender, response) = fed();
    let response = std::sync::Mutex::new(Some(response));
    let fake = Fake::new(move |_| {
        let response = response.lock().unwrap().take().unwrap();
        async move { response }
    });
    let mut stream = fake.agent(options()).session(session()).events(0).await.unwrap();
    let text: String = (1..=20).map(event).collect();
    for (index, piece) in text.as_bytes().chunks(7).enumerate() {
        sender
            .send(String::from_utf8(piece.to_vec()).unwrap())
            .await
            .unwrap();
        if index % 3 == 0 {
            // Polled once and dropped.
            let polled = {
                let next = stream.next();
                tokio::pin!(next);
                futures_util::poll!(next)
            };
            if let std::task::Poll::Ready(frame) = polled {
                let Ok(Some(Frame::Event(envelope))) = frame else {
                    panic!("{frame:?}")
                };
                assert_eq!(envelope.n, stream.last());
            }
        }
        tokio::task::yield_now().await;
    }
    drop(sender);
    let mut last = stream.last();
    while let Some(Frame::Event(envelope)) = stream.next().await.unwrap() {
        assert_eq!(envelope.n, last + 1);
        last = envelope.n;
    }
    assert_eq!(last, 20);
}
