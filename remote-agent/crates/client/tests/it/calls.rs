//! Requests and answers, and what makes them fail.

use std::{io, sync::Arc};

use client::{Agent, ByteStream, Error};
use futures_util::FutureExt as _;
use http::StatusCode;
use protocol::{
    Build, Command, CommandId, CommandRequest, ErrorBody, ErrorCode, ErrorResponse, Hello, Identity,
    InstanceId, OpenSession, Receipt, SessionCommand, SessionList, VersionRange,
};
use stdx::task::Scope;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::fake::{self, Fake, json, options, reply, session};

pub(crate) fn hello(min: u32, max: u32) -> Hello {
    let text = String::new;
    Hello {
        protocol: VersionRange { min, max },
        build: Build {
            version: text(),
            target: text(),
        },
        identity: Identity {
            instance: InstanceId::fresh(),
            pid: 1,
            start_time: 0,
            boot_id: text(),
            machine: text(),
            uid: 0,
            socket: text(),
            program: text(),
        },
        capabilities: vec![],
        draining: false,
        key_agent_socket: None,
    }
}

fn close(id: CommandId) -> CommandRequest {
    CommandRequest {
        id,
        command: Command::Session(SessionCommand::Close),
    }
}

#[tokio::test]
async fn each_request_has_its_route() {
    let fake = Fake::new(async |asked: fake::Asked| match asked.line.as_str() {
        "GET /v1/hello" => json(StatusCode::OK, &hello(1, 3)),
        "GET /v1/sessions" => json(StatusCode::OK, &SessionList { sessions: vec![] }),
        _ => json(StatusCode::OK, &serde_json::json!({"wrong": true})),
    });
    let agent = fake.agent(options());
    assert_eq!(agent.hello().await.unwrap().protocol.max, 3);
    agent.ping(fake::PATIENCE).await.unwrap();
    assert!(agent.sessions().await.unwrap().sessions.is_empty());
    let open = OpenSession {
        session: session(),
        workspace: None,
        model: None,
        preset: None,
        credentials: None,
    };
    // What these answer is nonsense here; where they went is of interest.
    assert!(agent.open_session(&open).await.is_err());
    assert!(agent.session(session()).snapshot().await.is_err());
    assert!(agent.session(session()).history(7, 100).await.is_err());
    assert!(
        agent
            .session(session())
            .command(&close(CommandId::fresh()))
            .await
            .is_err()
    );
    assert!(
        agent
            .shutdown(protocol::ShutdownRequest { force: true })
            .await
            .is_err()
    );
    let lines: Vec<_> = fake.asked().into_iter().map(|asked| asked.line).collect();
    let of_session = |rest: &str| format!("/v1/sessions/{}/{rest}", session());
    let expected = [
        "GET /v1/hello".to_owned(),
        "GET /v1/hello".to_owned(),
        "GET /v1/sessions".to_owned(),
        "POST /v1/sessions".to_owned(),
        format!("GET {}", of_session("snapshot")),
        format!("GET {}", of_session("history?after=7&limit=100")),
        format!("POST {}", of_session("commands")),
        "POST /v1/shutdown".to_owned(),
    ];
    assert_eq!(lines, expected);
    assert_eq!(fake.connects(), 1);
    assert!(agent.last_heard().is_some());
}

#[tokio::test]
async fn versions_without_overlap_are_an_error_that_names_both() {
    let fake = Fake::new(async |_| json(StatusCode::OK, &hello(7, 9)));
    let error = fake.agent(options()).hello().await.unwrap_err();
    assert!(matches!(
        error,
        Error::NoCommonVersion {
            theirs: VersionRange { min: 7, max: 9 },
            ..
        }
    ));
    assert!(!error.is_retryable());
    let text = error.to_string();
    assert!(text.contains("7 to 9") && text.contains("1 to 1"), "{text}");
}

#[tokio::test]
async fn the_words_of_the_agent_come_through() {
    let fake = Fake::new(async |_| {
        let error = ErrorBody::new(ErrorCode::Workspace, "/srv/x does not exist").hint("create it");
        json(StatusCode::UNPROCESSABLE_ENTITY, &ErrorResponse { error })
    });
    let error = fake.agent(options()).sessions().await.unwrap_err();
    assert_eq!(error.to_string(), "/srv/x does not exist");
    assert_eq!(error.hint(), Some("create it"));
    assert_eq!(fake.asked().len(), 1, "an answer is not asked for again");
}

#[tokio::test]
async fn nonsense_is_named() {
    let cases = [
        (
            StatusCode::BAD_GATEWAY,
            "<html>proxy error",
            &["502", "<html>proxy error"][..],
        ),
        (
            StatusCode::OK,
            "not json",
            &["the list of sessions", "not json"][..],
        ),
        (StatusCode::OK, r#"{"sessions": 7}"#, &["sessions", "line 1"][..]),
    ];
    for (status, body, words) in cases {
        let fake = Fake::new(move |_| async move { reply(status, "text/html", body) });
        let error = fake.agent(options()).sessions().await.unwrap_err();
        assert!(matches!(error, Error::Protocol { .. }), "{error:?}");
        for word in words {
            assert!(error.to_string().contains(word), "{error} lacks {word}");
        }
    }
}

#[tokio::test]
async fn a_receipt_for_another_command_is_nonsense() {
    let fake = Fake::new(async |_| {
        let receipt = Receipt {
            id: CommandId::fresh(),
            at: 1,
            turn: None,
        };
        json(StatusCode::OK, &receipt)
    });
    let session = fake.agent(options()).session(session());
    let error = session.command(&close(CommandId::fresh())).await.unwrap_err();
    assert!(matches!(error, Error::Protocol { .. }), "{error:?}");
}

#[tokio::test]
async fn another_protocol_at_the_other_end_is_named_with_what_it_said() {
    let scope = Scope::root("test");
    for said in [
        "Last login: Mon\r\nbash: reasonix: not found\n",
        "no\n",
        "HTTP/1.1 400 Bad Request\r\n\r\n",
    ] {
        let peers = scope.clone();
        let connector = move || {
            let (near, mut far) = tokio::io::duplex(1024);
            peers.spawn(async move {
                far.write_all(said.as_bytes()).await.unwrap();
                far.shutdown().await.unwrap();
                // Reads what the client says, so that it sees the answer and not a broken pipe.
                let mut sink = Vec::new();
                drop(far.read_to_end(&mut sink).await);
            });
            async move { Ok(Box::new(near) as Box<dyn ByteStream>) }.boxed()
        };
        let agent = Agent::new(connector, options(), &scope);
        let error = agent.hello().await.unwrap_err();
        assert!(matches!(error, Error::Protocol { .. }), "{said:?}: {error:?}");
        let word = said.split_whitespace().next().unwrap();
        assert!(error.to_string().contains(word), "{error} lacks {word}");
    }
}

#[tokio::test]
async fn a_command_whose_answer_was_lost_is_sent_again_as_it_was() {
    let fake = Arc::new(std::sync::OnceLock::<Fake>::new());
    let cutter = Arc::clone(&fake);
    let made = Fake::new(move |asked: fake::Asked| {
        let cutter = Arc::clone(&cutter);
        async move {
            if asked.connection < 2 {
                cutter.get().unwrap().cut();
                return fake::never().await;
            }
            let request: CommandRequest = serde_json::from_str(&asked.body).unwrap();
            let receipt = Receipt {
                id: request.id,
                at: 5,
                turn: None,
            };
            json(StatusCode::OK, &receipt)
        }
    });
    assert!(fake.set(made.clone()).is_ok());
    let session = made.agent(options()).session(session());
    let receipt = session.command(&close(CommandId::fresh())).await.unwrap();
    assert_eq!(receipt.at, 5);
    let asked = made.asked();
    assert_eq!(asked.len(), 3);
    assert!(
        asked
            .iter()
            .all(|one| one.body == asked[0].body && one.line == asked[0].line)
    );
    assert_eq!(made.connects(), 3);
}

#[tokio::test]
async fn a_host_that_cannot_be_reached_is_tried_a_few_times() {
    let scope = Scope::root("test");
    let tries = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let seen = Arc::clone(&tries);
    let connector = move || {
        seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async { Err(io::Error::new(io::ErrorKind::ConnectionRefused, "refused")) }.boxed()
    };
    let agent = Agent::new(connector, options(), &scope);
    let error = agent.hello().await.unwrap_err();
    assert!(error.is_retryable());
    assert_eq!(error.to_string(), "could not connect to the agent");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "refused");
    assert_eq!(tries.load(std::sync::atomic::Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_client_whose_scope_has_ended_says_so() {
    let fake = Fake::new(async |_| json(StatusCode::OK, &hello(1, 1)));
    let agent = fake.agent(options());
    agent.hello().await.unwrap();
    fake.scope.close(fake::PATIENCE).await;
    assert!(matches!(agent.hello().await, Err(Error::Connection { .. })));
}

#[tokio::test]
async fn resuming_a_session_asks_for_its_state_at_once() {
    // Neither is answered before the other was asked.
    let both = Arc::new(tokio::sync::Barrier::new(2));
    let fake = Fake::new(move |asked: fake::Asked| {
        let both = Arc::clone(&both);
        async move {
            both.wait().await;
            if asked.line.starts_with("POST") {
                json(StatusCode::OK, &serde_json::json!({"wrong": true}))
            } else {
                json(StatusCode::OK, &fake::empty())
            }
        }
    });
    let resume = OpenSession {
        session: session(),
        workspace: None,
        model: None,
        preset: None,
        credentials: None,
    };
    let entered = tokio::time::timeout(fake::PATIENCE, fake.agent(options()).enter(&resume)).await;
    let error = entered.expect("both were asked").unwrap_err();
    assert!(matches!(error, Error::Protocol { .. }), "{error}");
}
