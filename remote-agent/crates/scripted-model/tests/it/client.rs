//! A small HTTP client.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use scripted_model::ScriptedModel;
use serde_json::{Value, json};
use stdx::task::Scope;
use tokio::net::TcpStream;

/// Long enough for any loaded machine; it only keeps a broken test from hanging.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// How a body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Complete,
    Broken,
}

/// A response that was read to its end.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) end: End,
}

/// A response whose body is still coming.
pub(crate) struct Open {
    pub(crate) response: hyper::Response<Incoming>,
    scope: Scope,
}

impl Open {
    /// Reads the next piece; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, hyper::Error>> {
        let frame = tokio::time::timeout(DEADLINE, self.response.frame())
            .await
            .unwrap()?;
        Some(frame.map(|frame| frame.into_data().unwrap_or_default()))
    }

    pub(crate) async fn read(mut self) -> Read {
        let mut bytes = Vec::new();
        let end = loop {
            match self.next().await {
                Some(Ok(more)) => bytes.extend_from_slice(&more),
                Some(Err(_)) => break End::Broken,
                None => break End::Complete,
            }
        };
        let text = String::from_utf8(bytes).unwrap();
        Read {
            status: self.response.status(),
            headers: self.response.headers().clone(),
            text,
            end,
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.scope.cancel();
    }
}

pub(crate) async fn send(
    model: &ScriptedModel,
    method: Method,
    path: &str,
    body: String,
) -> Result<Open, hyper::Error> {
    let stream = TcpStream::connect(model.address()).await.unwrap();
    let (mut sender, connection) = http1::handshake::<_, Full<Bytes>>(TokioIo::new(stream)).await?;
    let scope = Scope::root("client");
    let token = scope.token().clone();
    scope.spawn(async move {
        tokio::select! {
            biased;
            () = token.cancelled() => {}
            _ended = connection => {}
        }
    });
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "scripted")
        .header("authorization", "Bearer sk-test")
        .body(Full::from(body))
        .unwrap();
    let response = sender.send_request(request).await?;
    Ok(Open { response, scope })
}

pub(crate) async fn chat(model: &ScriptedModel, body: &Value) -> Result<Open, hyper::Error> {
    send(model, Method::POST, "/v1/chat/completions", body.to_string()).await
}

pub(crate) async fn ask(model: &ScriptedModel, text: &str) -> Read {
    let open = tokio::time::timeout(DEADLINE, chat(model, &asking(text)))
        .await
        .unwrap();
    open.unwrap().read().await
}

pub(crate) fn asking(text: &str) -> Value {
    json!({"model": "m", "stream": true, "stream_options": {"include_usage": true},
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": text}]})
}

/// Gives the visible text of a plainly spelled stream.
pub(crate) fn said(stream: &str) -> String {
    events(stream)
        .iter()
        .filter_map(|event| event.pointer("/choices/0/delta/content")?.as_str())
        .collect()
}

pub(crate) fn events(stream: &str) -> Vec<Value> {
    stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}
