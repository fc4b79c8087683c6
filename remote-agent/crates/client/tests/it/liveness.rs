//! Silence is noticed, on a connection and on a stream; a slow peer that says something is not dead.

use std::{io, time::Duration};

use client::{Agent, ByteStream, Error, Options};
use futures_util::FutureExt as _;
use protocol::Frame;
use stdx::task::Scope;

use crate::fake::{self, Fake, envelope, event, fed, options, session};

fn impatient() -> Options {
    Options {
        keepalive: Duration::from_millis(20),
        dead_after: Duration::from_millis(200),
        stream_silence: Duration::from_millis(200),
        attempts: 1,
        ..options()
    }
}

#[tokio::test]
async fn a_peer_that_says_nothing_is_given_up() {
    let scope = Scope::root("test");
    let connector = || {
        let (near, far) = tokio::io::duplex(64 * 1024);
        async move {
            // Held open and never read.
            Box::leak(Box::new(far));
            Ok::<_, io::Error>(Box::new(near) as Box<dyn ByteStream>)
        }
        .boxed()
    };
    let agent = Agent::new(connector, impatient(), &scope);
    let error = tokio::time::timeout(fake::PATIENCE, agent.hello())
        .await
        .unwrap()
        .unwrap_err();
    assert!(matches!(error, Error::Connection { .. }), "{error:?}");
    let error = agent.ping(Duration::from_millis(50)).await.unwrap_err();
    assert!(matches!(error, Error::Stalled { .. }), "{error:?}");
}

#[tokio::test]
async fn a_peer_that_answers_pings_is_not_given_up() {
    // The answer takes several times as long as the limit for silence.
    let fake = Fake::new(async |_| {
        let silence = 5 * impatient().dead_after;
        drop(tokio::time::timeout(silence, std::future::pending::<()>()).await);
        fake::json(http::StatusCode::OK, &crate::calls::hello(1, 1))
    });
    fake.agent(impatient()).hello().await.unwrap();
    assert_eq!(fake.connects(), 1);
}

#[tokio::test]
async fn a_stream_that_says_nothing_is_stalled_and_its_connection_goes_on() {
    let (sender, response) = fed();
    let response = std::sync::Mutex::new(Some(response));
    let fake = Fake::new(move |asked: fake::Asked| {
        let stream = asked
            .line
            .contains("/events")
            .then(|| response.lock().unwrap().take().unwrap());
        async move { stream.unwrap_or_else(|| fake::json(http::StatusCode::OK, &crate::calls::hello(1, 1))) }
    });
    let agent = fake.agent(impatient());
    let mut stream = agent.session(session()).events(0).await.unwrap();
    sender.send(event(1)).await.unwrap();
    assert_eq!(stream.next().await.unwrap(), Some(Frame::Event(envelope(1))));
    let error = stream.next().await.unwrap_err();
    assert!(matches!(error, Error::Stalled { .. }), "{error:?}");
    agent.hello().await.unwrap();
    assert_eq!(fake.connects(), 1);
}

#[tokio::test]
async fn a_keep_alive_comment_counts_as_life() {
    let (sender, response) = fed();
    let response = std::sync::Mutex::new(Some(response));
    let fake = Fake::new(move |_| {
        let response = response.lock().unwrap().take().unwrap();
        async move { response }
    });
    let mut stream = fake.agent(options()).session(session()).events(0).await.unwrap();
    let before = stream.last_heard();
    sender.send(": keep-alive\n\n".to_owned()).await.unwrap();
    sender.send(event(1)).await.unwrap();
    assert_eq!(stream.next().await.unwrap(), Some(Frame::Event(envelope(1))));
    assert!(stream.last_heard() >= before);
}

/// A request that is handed over in the very moment in which its connection ends must fail like any other: the queue
/// between them may keep it for as long as somebody holds an end.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_request_is_forgotten_when_its_connection_ends() {
    let fake = Fake::new(async |_| fake::json(http::StatusCode::OK, &crate::calls::hello(1, 1)));
    let agent = fake.agent(Options {
        attempts: 1,
        ..options()
    });
    let rounds = async {
        // Without the rule, about one run in two hangs.
        for round in 0..500 {
            let asking: Vec<_> = (0..8)
                .map(|_| {
                    let agent = agent.clone();
                    fake.scope.spawn(async move {
                        for _ in 0..4 {
                            // Most are answered, some meet the cut.
                            drop(agent.hello().await);
                        }
                    })
                })
                .collect();
            for _ in 0..round % 7 {
                tokio::task::yield_now().await;
            }
            fake.cut();
            for asked in asking {
                asked.await.unwrap();
            }
        }
    };
    tokio::time::timeout(fake::PATIENCE, rounds)
        .await
        .expect("a request waits for ever");
}
