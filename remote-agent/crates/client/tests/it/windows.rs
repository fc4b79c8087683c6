//! Streams that nobody reads hold up nobody else.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use client::Error;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use protocol::limits::http2;

use crate::fake::{self, Body, Fake, json, options, session, until};

const PIECE: usize = 32 * 1024;

/// An event stream that never ends, and counts what was taken from it.
fn flood(sent: &Arc<AtomicU64>) -> Response<Body> {
    let sent = Arc::clone(sent);
    let comment = Bytes::from(format!(": {}\n\n", "x".repeat(PIECE - 4)));
    let pieces = futures_util::stream::repeat_with(move || {
        sent.fetch_add(PIECE as u64, Ordering::SeqCst);
        Ok(Frame::data(comment.clone()))
    });
    let mut response = fake::stream("");
    *response.body_mut() = BodyExt::boxed(StreamBody::new(pieces));
    response
}

#[tokio::test]
async fn with_every_event_stream_held_still_a_request_completes() {
    let sent = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&sent);
    let fake = Fake::new(move |asked: fake::Asked| {
        let counter = Arc::clone(&counter);
        async move {
            if asked.line.contains("/events") {
                flood(&counter)
            } else {
                json(StatusCode::OK, &crate::calls::hello(1, 1))
            }
        }
    });
    let agent = fake.agent(options());
    let mut held = Vec::new();
    for _ in 0..http2::EVENT_STREAMS {
        held.push(agent.session(session()).events(0).await.unwrap());
    }
    // Every window is full now: the agent has nowhere to put another byte of these streams.
    let full = u64::from(http2::EVENT_STREAMS) * u64::from(http2::STREAM_WINDOW);
    until("filling every window", || sent.load(Ordering::SeqCst) >= full).await;
    agent.hello().await.unwrap();
    let refused = agent.session(session()).events(0).await.unwrap_err();
    assert!(matches!(refused, Error::TooManyStreams), "{refused:?}");
    drop(held.pop());
    agent.session(session()).events(0).await.unwrap();
    assert_eq!(fake.connects(), 1);
}
