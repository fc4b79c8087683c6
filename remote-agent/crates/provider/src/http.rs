//! Sending one attempt and reading its answer's bytes.

use std::{net::IpAddr, sync::OnceLock, time::Duration};

use bytes::Bytes;
use reqwest::{
    Certificate, Client, ClientBuilder, NoProxy, Proxy, Response, StatusCode, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
    redirect,
};
use serde_json::Value;
use stdx::{Secret, bounded};

use crate::{Cause, Error, Options, error::Again, protocol::Protocol, retry};

/// Bytes of an error's body that are read.
const ERROR_BODY: usize = 64 * 1024;
/// Bytes of a vendor's text that are shown.
const ERROR_TEXT: usize = 600;

/// An endpoint that can be asked.
#[derive(Debug)]
pub(crate) struct Http {
    options: Options,
    protocol: &'static str,
    url: Url,
    headers: HeaderMap,
    client: OnceLock<Result<Client, String>>,
}

impl Http {
    /// Checks the options; the client itself is made with the first request.
    pub(crate) fn new(options: Options, protocol: &dyn Protocol) -> Result<Self, Error> {
        let checked = url(&options, protocol.path()).and_then(|url| Ok((headers(&options)?, url)));
        match checked {
            Ok((headers, url)) => Ok(Self {
                options,
                protocol: protocol.name(),
                url,
                headers,
                client: OnceLock::new(),
            }),
            Err(cause) => Err(Error::new(&options.name, cause)),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.options.name
    }

    pub(crate) fn idle_timeout(&self) -> Duration {
        self.options.idle_timeout
    }

    /// Sends the body and waits for the head of the answer. Any status but success is an error with the vendor's text.
    pub(crate) async fn post(&self, body: Bytes) -> Result<Response, Cause> {
        if let (None, Some(env), false) = (&self.options.key, &self.options.key_env, is_loopback(&self.url)) {
            return Err(Cause::MissingKey { env: env.clone() });
        }
        let request = self
            .client()?
            .post(self.url.clone())
            .headers(self.headers.clone())
            .body(body);
        let limit = self.idle_timeout();
        let response = tokio::time::timeout(limit, request.send())
            .await
            .map_err(|_elapsed| Cause::Stalled { limit })?
            .map_err(|error| self.connect_error(error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let retry_after = wanted_wait(response.headers());
        let body = read_some(response, limit).await;
        Err(self.status_error(status, retry_after, &body))
    }

    /// Removes the key from a vendor's text: some vendors repeat it in their complaints.
    pub(crate) fn redact(&self, text: &str) -> String {
        let secrets = self
            .options
            .headers
            .iter()
            .map(|(_, value)| value)
            .chain(&self.options.key);
        let clean = secrets.fold(text.to_owned(), |text, secret| hide(&text, secret));
        bounded::one_line(&clean, ERROR_TEXT)
    }

    fn client(&self) -> Result<&Client, Cause> {
        let made = self.client.get_or_init(|| make_client(&self.options, &self.url));
        made.as_ref().map_err(|error| Cause::Config(error.clone()))
    }

    fn connect_error(&self, error: reqwest::Error) -> Cause {
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port_or_known_default().unwrap_or_default();
        Cause::Connect {
            host: format!("{host}:{port}"),
            source: error.without_url(),
        }
    }

    fn status_error(&self, status: StatusCode, retry_after: Option<Duration>, body: &[u8]) -> Cause {
        let vendor = serde_json::from_slice::<Value>(body)
            .ok()
            .and_then(|body| VendorError::find(&body));
        let text = match &vendor {
            Some(vendor) => vendor.message.clone(),
            None if body.is_empty() => status.canonical_reason().unwrap_or("no text").to_owned(),
            None => String::from_utf8_lossy(body).into_owned(),
        };
        let message = self.redact(&text);
        let exhausted = vendor.is_some_and(|vendor| vendor.says_quota());
        let code = status.as_u16();
        match code {
            401 | 403 => Cause::Unauthorized {
                status: code,
                message,
            },
            402 => Cause::Quota {
                status: code,
                message,
            },
            429 if exhausted => Cause::Quota {
                status: code,
                message,
            },
            429 | 500.. => Cause::Unavailable {
                status: code,
                message,
                retry_after,
            },
            _ => Cause::Refused {
                protocol: self.protocol,
                status: code,
                message,
            },
        }
    }
}

/// An error object of a vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VendorError {
    pub(crate) message: String,
    /// The fields `code`, `type` and `status`, as far as they are there.
    codes: Vec<String>,
}

/// Codes and types that mean: the same request will not do better.
const FINAL_CODES: &[&str] = &[
    "400",
    "401",
    "402",
    "403",
    "404",
    "413",
    "422",
    "invalid_request_error",
    "authentication_error",
    "permission_error",
    "not_found_error",
    "insufficient_quota",
    "insufficient_balance",
    "billing_hard_limit_reached",
    "invalid_api_key",
    "model_not_found",
    "context_length_exceeded",
    "content_filter",
    "content_policy_violation",
];

impl VendorError {
    /// Finds the error in a body or event: `{"error": {…}}`, `{"error": "…"}`, or the object itself when it has a
    /// message and nothing of an answer.
    pub(crate) fn find(body: &Value) -> Option<Self> {
        let error = match body.get("error") {
            Some(Value::Null) | None => body.get("choices").is_none().then_some(body)?,
            Some(error) => error,
        };
        let codes = ["code", "type", "status"]
            .iter()
            .filter_map(|key| match error.get(key)? {
                Value::String(text) => Some(text.to_ascii_lowercase()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            });
        let message = match error {
            Value::String(text) => text.clone(),
            other => match other.get("message").or_else(|| other.get("detail")) {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None if body.get("error").is_some_and(|error| !error.is_null()) => other.to_string(),
                None => return None,
            },
        };
        Some(Self {
            message,
            codes: codes.collect(),
        })
    }

    /// Says whether another attempt may help. What nobody classified may: the budget is small.
    pub(crate) fn again(&self) -> Again {
        if self.codes.iter().any(|code| FINAL_CODES.contains(&code.as_str())) {
            Again::No
        } else {
            Again::Maybe
        }
    }

    fn says_quota(&self) -> bool {
        const QUOTA: &[&str] = &[
            "insufficient_quota",
            "insufficient_balance",
            "billing_hard_limit_reached",
        ];
        self.codes.iter().any(|code| QUOTA.contains(&code.as_str()))
    }
}

fn hide(text: &str, secret: &Secret) -> String {
    // Replacing a very short value would hit ordinary words and hide nothing.
    if secret.expose().len() < 4 {
        text.to_owned()
    } else {
        text.replace(secret.expose(), "***")
    }
}

fn url(options: &Options, path: &str) -> Result<Url, Cause> {
    let text = match &options.request_url {
        Some(exact) => exact.clone(),
        None => format!("{}{path}", options.base_url.trim_end_matches('/')),
    };
    let url =
        Url::parse(&text).map_err(|error| Cause::Config(format!("\"{text}\" is not a URL ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(Cause::Config(format!("\"{text}\" is not an http(s) URL")));
    }
    Ok(url)
}

fn headers(options: &Options) -> Result<HeaderMap, Cause> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    let secret = |what: &str, text: &str| {
        let mut value = HeaderValue::from_str(text)
            .map_err(|_| Cause::Config(format!("{what} holds characters that no header may hold")))?;
        value.set_sensitive(true);
        Ok::<_, Cause>(value)
    };
    if let Some(key) = options.key.as_ref().filter(|key| !key.is_empty()) {
        headers.insert(
            AUTHORIZATION,
            secret("the key", &format!("Bearer {}", key.expose().trim()))?,
        );
    }
    for (name, value) in &options.headers {
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| Cause::Config(format!("\"{name}\" is not a header name")))?;
        headers.insert(header, secret(&format!("header \"{name}\""), value.expose())?);
    }
    Ok(headers)
}

fn is_loopback(url: &Url) -> bool {
    let host = url
        .host_str()
        .unwrap_or_default()
        .trim_start_matches('[')
        .trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Makes the client. On a host without CA files the bundled roots stand in for the system's.
fn make_client(options: &Options, url: &Url) -> Result<Client, String> {
    // Another part of the program may have installed the provider; either is good.
    drop(rustls::crypto::ring::default_provider().install_default());
    let said = |error: reqwest::Error| format!("could not make an HTTP client ({})", error.without_url());
    if url.scheme() == "http" {
        // Nothing to verify, so the roots need not be read.
        return client_builder(options)?.tls_certs_only([]).build().map_err(said);
    }
    match client_builder(options)?.build() {
        Ok(client) => Ok(client),
        Err(error) => {
            tracing::debug!(%error, "no system roots, using the bundled ones");
            let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS
                .iter()
                .filter_map(|der| Certificate::from_der(der).ok());
            client_builder(options)?
                .tls_certs_only(roots)
                .build()
                .map_err(said)
        }
    }
}

fn client_builder(options: &Options) -> Result<ClientBuilder, String> {
    let mut builder = Client::builder()
        .user_agent(concat!("reasonix/", env!("CARGO_PKG_VERSION")))
        // A redirect would turn the POST into a GET, and may carry the key elsewhere.
        .redirect(redirect::Policy::none())
        // The one budget of attempts is ours.
        .retry(reqwest::retry::never())
        .no_proxy()
        .connect_timeout(options.connect_timeout)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .http2_keep_alive_interval(Duration::from_secs(30))
        .http2_keep_alive_timeout(Duration::from_secs(20));
    if let Some(proxy) = &options.proxy {
        let local = NoProxy::from_string("localhost,127.0.0.0/8,::1");
        let proxy = Proxy::all(proxy.expose()).map_err(|_| "the proxy is not a URL".to_owned())?;
        builder = builder.proxy(proxy.no_proxy(local));
    }
    Ok(builder)
}

fn wanted_wait(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let millis = text("retry-after-ms")
        .and_then(|value| value.trim().parse().ok())
        .map(Duration::from_millis);
    millis.or_else(|| retry::retry_after(text(RETRY_AFTER.as_str())?, stdx::clock::unix_millis()))
}

/// Reads the beginning of an error's body; a body that breaks off or hangs still gives what came.
async fn read_some(mut response: Response, limit: Duration) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < ERROR_BODY
        && let Ok(Ok(Some(bytes))) = tokio::time::timeout(limit, response.chunk()).await
    {
        body.extend_from_slice(&bytes);
    }
    body.truncate(ERROR_BODY);
    body
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn http(options: Options) -> Result<Http, Error> {
        let protocol = crate::openai::OpenAi::new(&options)?;
        Http::new(options, &protocol)
    }

    #[test]
    fn finds_errors_in_every_shape() {
        let check = |body: Value, want: Option<(&str, Again)>| {
            let found = VendorError::find(&body).map(|error| (error.message.clone(), error.again()));
            assert_eq!(
                found.as_ref().map(|(message, again)| (message.as_str(), *again)),
                want,
                "{body}"
            );
        };
        check(
            json!({"error": {"message": "m", "code": 429}}),
            Some(("m", Again::Maybe)),
        );
        check(
            json!({"error": {"message": "m", "type": "Insufficient_Quota"}}),
            Some(("m", Again::No)),
        );
        check(json!({"error": "text"}), Some(("text", Again::Maybe)));
        check(json!({"message": "m", "status": 400}), Some(("m", Again::No)));
        check(
            json!({"error": {"what": 1}}),
            Some(("{\"what\":1}", Again::Maybe)),
        );
        check(json!({"error": null, "choices": []}), None);
        check(json!({"choices": []}), None);
        check(json!({}), None);
        check(json!([]), None);
    }

    #[test]
    fn knows_loopback() {
        let check = |text: &str, want| assert_eq!(is_loopback(&Url::parse(text).unwrap()), want, "{text}");
        check("http://localhost:1/v1", true);
        check("http://127.8.9.1/v1", true);
        check("http://[::1]:80/v1", true);
        check("http://localhost.example/v1", false);
        check("https://10.0.0.1/v1", false);
    }

    #[test]
    fn joins_urls_and_refuses_others() {
        let at = |base: &str| http(Options::new("x", base)).map(|http| http.url.to_string());
        assert_eq!(
            at("https://a.example/v1/").unwrap(),
            "https://a.example/v1/chat/completions"
        );
        assert!(at("ftp://a.example").is_err());
        assert!(at("a.example").is_err());
        let mut options = Options::new("x", "ignored");
        options.request_url = Some("https://a.example/exact?x=1".to_owned());
        assert_eq!(http(options).unwrap().url.as_str(), "https://a.example/exact?x=1");
    }

    #[test]
    fn nothing_prints_the_key() {
        let mut options = Options::new("x", "https://a.example");
        options.key = Some(Secret::new("sk-secret-1"));
        options.headers = vec![("x-api-key".to_owned(), Secret::new("sk-secret-2"))];
        let http = http(options).unwrap();
        assert!(!format!("{http:?}").contains("sk-secret"));
        let cause = http.status_error(
            StatusCode::UNAUTHORIZED,
            None,
            b"{\"error\":{\"message\":\"bad sk-secret-1\"}}",
        );
        assert_eq!(cause.to_string(), "authentication failed (HTTP 401): bad ***");
    }
}
