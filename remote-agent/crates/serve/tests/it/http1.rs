//! HTTP/1.1 in raw bytes: what curl and browsers say, and what nobody should.

use protocol::{ErrorCode, ErrorResponse, Hello, Preset, SessionId, limits};
use scripted_model::Scenario;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::rig::{DEADLINE, Rig};

/// An answer: its head and its body.
struct Answer {
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn status(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }
}

/// Sends a request and reads the answer until the agent closes the connection.
async fn ask(rig: &Rig, head: &str, body: &[u8]) -> Answer {
    let mut pipe = rig.pipe();
    let length = body.len();
    let text = format!("{head}\r\nHost: agent\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    pipe.write_all(text.as_bytes()).await.unwrap();
    // An answer may come, and the connection end, before the body was sent.
    drop(pipe.write_all(body).await);
    let mut answer = Vec::new();
    tokio::time::timeout(DEADLINE, pipe.read_to_end(&mut answer))
        .await
        .unwrap()
        .unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    Answer {
        head: String::from_utf8(answer[..end].to_vec()).unwrap(),
        body: answer[end + 4..].to_vec(),
    }
}

/// Asserts that a request is refused with this status and code, and that the message has these words.
async fn check(rig: &Rig, head: &str, body: &[u8], status: &str, code: ErrorCode, words: &[&str]) {
    let answer = ask(rig, head, body).await;
    assert_eq!(answer.status(), status, "{head}");
    assert!(
        answer
            .head
            .to_lowercase()
            .contains("content-type: application/json"),
        "{}",
        answer.head
    );
    assert!(
        !answer.head.to_lowercase().contains("access-control"),
        "{}",
        answer.head
    );
    let response: ErrorResponse = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(response.error.code, code, "{head}");
    for word in words {
        assert!(
            response.error.message.contains(word),
            "{:?} lacks {word}",
            response.error.message
        );
    }
}

const JSON: &str = "Content-Type: application/json";

#[tokio::test(flavor = "multi_thread")]
async fn http_1_1_is_answered_too() {
    let rig = Rig::new(Scenario::new()).await;
    let answer = ask(&rig, "GET /v1/hello HTTP/1.1", b"").await;
    assert_eq!(answer.status(), "200");
    assert_eq!(
        serde_json::from_slice::<Hello>(&answer.body).unwrap(),
        rig.manager.hello()
    );
    let open = serde_json::to_vec(&rig.open_request(Preset::ReadOnly)).unwrap();
    let head = "POST /v1/sessions HTTP/1.1\r\nContent-Type: application/json; charset=utf-8";
    assert_eq!(ask(&rig, head, &open).await.status(), "200");
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_named() {
    use ErrorCode::{BadRequest, NotFound};
    let rig = Rig::new(Scenario::new()).await;
    check(&rig, "GET /v2/x?y=1 HTTP/1.1", b"", "404", NotFound, &["/v2/x"]).await;
    check(
        &rig,
        "DELETE /v1/hello HTTP/1.1",
        b"",
        "405",
        BadRequest,
        &["/v1/hello", "DELETE"],
    )
    .await;
    check(
        &rig,
        "OPTIONS /v1/sessions HTTP/1.1",
        b"",
        "405",
        BadRequest,
        &["OPTIONS"],
    )
    .await;
    check(
        &rig,
        "POST /v1/sessions HTTP/1.1",
        b"{}",
        "415",
        BadRequest,
        &["application/json"],
    )
    .await;
    let form = "POST /v1/sessions HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded";
    check(&rig, form, b"{}", "415", BadRequest, &["form"]).await;
    let post = format!("POST /v1/sessions HTTP/1.1\r\n{JSON}");
    check(
        &rig,
        &post,
        b"{\n \"session\": }",
        "400",
        BadRequest,
        &["line 2 column 13"],
    )
    .await;
    check(&rig, &post, b"{}", "400", BadRequest, &["session", "line 1"]).await;
    check(&rig, &post, b"\xff", "400", BadRequest, &["line 1"]).await;
    check(&rig, &post, b"", "400", BadRequest, &["EOF"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_about_a_session_are_named() {
    use ErrorCode::{BadRequest, NotFound};
    let rig = Rig::new(Scenario::new()).await;
    let id = SessionId::fresh();
    let unknown = format!("POST /v1/sessions/{id}/commands HTTP/1.1\r\n{JSON}");
    let command =
        br#"{"id":"01920000-0000-7000-8000-000000000001","command":{"topic":"session","type":"close"}}"#;
    check(&rig, &unknown, command, "404", NotFound, &[&id.to_string()]).await;
    let dance = br#"{"id":"01920000-0000-7000-8000-000000000001","command":{"topic":"turn","type":"dance"}}"#;
    check(&rig, &unknown, dance, "400", BadRequest, &["dance"]).await;
    let snapshot = format!("GET /v1/sessions/{id}/snapshot HTTP/1.1");
    check(&rig, &snapshot, b"", "404", NotFound, &[&id.to_string()]).await;
    check(
        &rig,
        "GET /v1/sessions/7/snapshot HTTP/1.1",
        b"",
        "400",
        BadRequest,
        &["\"7\""],
    )
    .await;
    let events = format!("GET /v1/sessions/{id}/events?after=soon HTTP/1.1");
    check(&rig, &events, b"", "400", BadRequest, &["after"]).await;
    let last = format!("GET /v1/sessions/{id}/events HTTP/1.1\r\nLast-Event-ID: -1");
    check(&rig, &last, b"", "400", BadRequest, &["-1"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn web_pages_and_bodies_over_the_limit_are_refused() {
    use ErrorCode::{Denied, TooLarge};
    let rig = Rig::new(Scenario::new()).await;
    let post = format!("POST /v1/sessions HTTP/1.1\r\n{JSON}");
    let origin = "GET /v1/hello HTTP/1.1\r\nOrigin: http://evil.example";
    check(&rig, origin, b"", "403", Denied, &["evil.example"]).await;
    let nothing = "GET /nothing HTTP/1.1\r\nOrigin: null";
    check(&rig, nothing, b"", "403", Denied, &["null"]).await;
    let long = vec![b' '; limits::REQUEST_BODY + 1];
    check(
        &rig,
        &post,
        &long,
        "413",
        TooLarge,
        &[&limits::REQUEST_BODY.to_string()],
    )
    .await;
    assert!(
        rig.manager.list().await.unwrap().sessions.is_empty(),
        "nothing was made"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_over_its_limit_is_refused() {
    let rig = Rig::new(Scenario::new()).await;
    let mut open = rig.open_request(Preset::ReadOnly);
    open.model = Some("x".repeat(limits::NAME + 1));
    let body = serde_json::to_vec(&open).unwrap();
    let post = format!("POST /v1/sessions HTTP/1.1\r\n{JSON}");
    let limit = limits::NAME.to_string();
    check(&rig, &post, &body, "400", ErrorCode::BadRequest, &[&limit]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_stream_has_numbers_and_keep_alives_and_continues_after_the_last_event_id() {
    let options = serve::Options {
        keep_alive: std::time::Duration::from_millis(20),
        ..serve::Options::default()
    };
    let rig = Rig::with(Scenario::new(), options).await;
    let request = rig.open_request(Preset::ReadOnly);
    let session = rig.manager.open(request.clone()).await.unwrap();
    let newest = session.newest();
    let path = format!("/v1/sessions/{}/events", request.session);
    for (head, first) in [
        (format!("GET {path} HTTP/1.1"), 1),
        (
            format!("GET {path}?after=0 HTTP/1.1\r\nLast-Event-ID: {}", newest - 1),
            newest,
        ),
    ] {
        let mut pipe = rig.pipe();
        pipe.write_all(format!("{head}\r\nHost: agent\r\n\r\n").as_bytes())
            .await
            .unwrap();
        let mut text = String::new();
        let mut buffer = [0; 4096];
        // At the beginning, and after the last event.
        while text.matches(": keep-alive\n\n").count() < 3 {
            let read = tokio::time::timeout(DEADLINE, pipe.read(&mut buffer))
                .await
                .unwrap()
                .unwrap();
            text += std::str::from_utf8(&buffer[..read]).unwrap();
        }
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        assert!(text.contains("content-type: text/event-stream"), "{text}");
        let ids: Vec<u64> = text
            .lines()
            .filter_map(|line| line.strip_prefix("id: "))
            .map(|id| id.parse().unwrap())
            .collect();
        assert_eq!(ids, (first..=newest).collect::<Vec<_>>());
        assert!(text.contains(&format!(
            "id: {newest}\nevent: event\ndata: {{\"frame\":\"event\",\"n\":{newest},"
        )));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_oversized_http_2_frame_ends_its_connection_with_the_reason_and_no_other() {
    let rig = Rig::new(Scenario::new()).await;
    let mut pipe = rig.pipe();
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]); // SETTINGS
    bytes.extend([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]); // DATA of 16 MiB
    pipe.write_all(&bytes).await.unwrap();
    let mut answer = Vec::new();
    tokio::time::timeout(DEADLINE, pipe.read_to_end(&mut answer))
        .await
        .unwrap()
        .unwrap();
    // GOAWAY (type 7) with FRAME_SIZE_ERROR (6), RFC 9113 sections 6.8 and 7.
    let mut rest = answer.as_slice();
    let mut reason = None;
    while let [a, b, c, kind, _, _, _, _, _, after @ ..] = rest {
        let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
        let (payload, next) = after.split_at(length);
        if *kind == 7 {
            reason = Some(payload[4..8].to_vec());
        }
        rest = next;
    }
    assert_eq!(reason, Some(vec![0, 0, 0, 6]));
    assert_eq!(ask(&rig, "GET /v1/hello HTTP/1.1", b"").await.status(), "200");
}

#[tokio::test(flavor = "multi_thread")]
async fn noise_ends_its_connection_and_no_other() {
    let rig = Rig::new(Scenario::new()).await;
    for noise in [
        &b"\0\0\0\0\0\0"[..],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff",
        b"hello\r\n\r\n",
        b"",
    ] {
        let mut pipe = rig.pipe();
        pipe.write_all(noise).await.unwrap();
        pipe.shutdown().await.unwrap();
        let mut answer = Vec::new();
        tokio::time::timeout(DEADLINE, pipe.read_to_end(&mut answer))
            .await
            .unwrap()
            .unwrap();
    }
    assert_eq!(ask(&rig, "GET /v1/hello HTTP/1.1", b"").await.status(), "200");
}
