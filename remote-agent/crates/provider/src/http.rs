//! Asking an endpoint with the key that is here.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{FutureExt as _, future::BoxFuture};
use stdx::Secret;
use vendor_http::{Answer, Client, Endpoint, Headers};

use crate::{
    Cause, Error, Options,
    exchange::{Arrival, Asker, Exchange},
    judge::{self, Judge},
    protocol::Protocol,
};

/// An endpoint that can be asked.
#[derive(Debug)]
pub(crate) struct Http {
    direct: Arc<Direct>,
}

/// What its attempts share.
#[derive(Debug)]
struct Direct {
    judge: Judge,
    /// The name of the key that is missing.
    missing: Option<String>,
    endpoint: Endpoint,
    headers: Headers,
    client: Client,
    idle_timeout: Duration,
}

impl Http {
    /// Checks the options; the client itself is made with the first request.
    pub(crate) fn new(options: Options, protocol: &dyn Protocol) -> Result<Self, Error> {
        let failed = |cause| Error::new(&options.name, cause);
        let endpoint = endpoint(&options, protocol.path()).map_err(failed)?;
        let headers = headers(&options).map_err(|error| failed(Cause::from(error)))?;
        let missing = match (&options.key, &options.key_env) {
            (None, Some(env)) if !endpoint.is_loopback() => Some(env.clone()),
            _ => None,
        };
        let judge = Judge::new(&options, protocol.name());
        let client = Client::new(vendor_http::Options {
            proxy: options.proxy,
            connect_timeout: options.connect_timeout,
        });
        let direct = Direct {
            judge,
            missing,
            endpoint,
            headers,
            client,
            idle_timeout: options.idle_timeout,
        };
        Ok(Self {
            direct: Arc::new(direct),
        })
    }
}

impl Asker for Http {
    fn judge(&self) -> &Judge {
        &self.direct.judge
    }

    fn idle_timeout(&self) -> Option<Duration> {
        Some(self.direct.idle_timeout)
    }

    fn begin(&self, body: Bytes, _attempt: u32) -> Box<dyn Exchange> {
        Box::new(Attempt {
            direct: Arc::clone(&self.direct),
            stage: Stage::Send(body),
        })
    }
}

/// An attempt.
struct Attempt {
    direct: Arc<Direct>,
    stage: Stage,
}

enum Stage {
    Send(Bytes),
    Read(Answer),
}

impl Exchange for Attempt {
    fn next(&mut self) -> BoxFuture<'_, Result<Arrival, Cause>> {
        async {
            match &mut self.stage {
                Stage::Send(body) => {
                    let answer = self.direct.post(body.clone()).await?;
                    let content_type = answer.header("content-type").map(str::to_owned);
                    self.stage = Stage::Read(answer);
                    Ok(Arrival::Head { content_type })
                }
                Stage::Read(answer) => Ok(answer.chunk().await?.map_or(Arrival::End, Arrival::Piece)),
            }
        }
        .boxed()
    }
}

impl Direct {
    /// Sends the body and waits for the head of the answer. Any status but success is an error with the vendor's text.
    async fn post(&self, body: Bytes) -> Result<Answer, Cause> {
        if let Some(env) = &self.missing {
            return Err(Cause::MissingKey { env: env.clone() });
        }
        let limit = self.idle_timeout;
        let answer = self
            .client
            .post(&self.endpoint, &self.headers, body, limit)
            .await?;
        let status = answer.status();
        if (200..300).contains(&status) {
            return Ok(answer);
        }
        let retry_after = judge::wanted_wait(|name| answer.header(name));
        let body = read_some(answer, limit).await;
        Err(self.judge.status(status, retry_after, &body))
    }
}

/// Gives where requests of a kind with this path go.
pub(crate) fn endpoint(options: &Options, path: &str) -> Result<Endpoint, Cause> {
    let text = match &options.request_url {
        Some(exact) => exact.clone(),
        None => format!("{}{path}", options.base_url.trim_end_matches('/')),
    };
    Ok(Endpoint::parse(&text)?)
}

fn headers(options: &Options) -> Result<Headers, vendor_http::Error> {
    let mut headers = Headers::default();
    headers.set("content-type", &Secret::new("application/json"))?;
    headers.set("accept", &Secret::new("text/event-stream"))?;
    if let Some(key) = options.key.as_ref().filter(|key| !key.is_empty()) {
        headers.bearer(key)?;
    }
    for (name, value) in &options.headers {
        headers.set(name, value)?;
    }
    Ok(headers)
}

/// Reads the beginning of an error's body; a body that breaks off or hangs still gives what came.
async fn read_some(mut answer: Answer, limit: Duration) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < judge::ERROR_BODY
        && let Ok(Ok(Some(bytes))) = tokio::time::timeout(limit, answer.chunk()).await
    {
        body.extend_from_slice(&bytes);
    }
    body.truncate(judge::ERROR_BODY);
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(options: &Options) -> Result<Http, Error> {
        let protocol = crate::openai::OpenAi::new(options)?;
        Http::new(options.clone(), &protocol)
    }

    #[test]
    fn joins_urls_and_refuses_others() {
        let url = |options: &Options| http(options).map(|http| http.direct.endpoint.as_str().to_owned());
        let at = |base: &str| url(&Options::new("x", base));
        assert_eq!(
            at("https://a.example/v1/").unwrap(),
            "https://a.example/v1/chat/completions"
        );
        assert!(at("ftp://a.example").is_err());
        assert!(at("a.example").is_err());
        let mut options = Options::new("x", "ignored");
        options.request_url = Some("https://a.example/exact?x=1".to_owned());
        assert_eq!(url(&options).unwrap(), "https://a.example/exact?x=1");
    }

    #[test]
    fn nothing_prints_the_key() {
        let mut options = Options::new("x", "https://a.example");
        options.key = Some(Secret::new("sk-secret-1"));
        options.headers = vec![("x-api-key".to_owned(), Secret::new("sk-secret-2"))];
        let http = http(&options).unwrap();
        assert!(!format!("{http:?}").contains("sk-secret"));
        let cause = http
            .judge()
            .status(401, None, b"{\"error\":{\"message\":\"bad sk-secret-1\"}}");
        assert_eq!(cause.to_string(), "authentication failed (HTTP 401): bad ***");
    }
}
