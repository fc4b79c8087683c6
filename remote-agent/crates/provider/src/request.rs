//! What the caller states: the endpoint once, and each request.

use std::time::Duration;

use conversation::{Message, ToolSpec};
use serde_json::{Map, Value};
use stdx::Secret;

use crate::{Policy, ReasoningProtocol};

/// An endpoint and how to treat it.
#[derive(Debug, Clone)]
pub struct Options {
    /// The provider's name in the configuration, for messages.
    pub name: String,
    /// The base URL; the kind's path is appended. Ignored when `request_url` is set.
    pub base_url: String,
    /// The exact URL for requests; nothing is appended.
    pub request_url: Option<String>,
    /// The name of the key's entry in Reasonix's `.env`; `None` for endpoints without a key.
    pub key_env: Option<String>,
    /// The key. Without it a request to a loopback endpoint goes out unauthorised; to any other one it fails if
    /// `key_env` names a key.
    pub key: Option<Secret>,
    /// More headers. Values may be keys, so they do not print.
    pub headers: Vec<(String, Secret)>,
    /// More top-level fields of the body. They cannot replace the fields that the kind writes.
    pub extra_body: Map<String, Value>,
    /// How the vendor treats reasoning in the history.
    pub reasoning: ReasoningProtocol,
    /// Whether the model is asked to reason, in the vendor's word (`enabled`, `disabled`, `adaptive`); sent only to
    /// vendors that replay reasoning, since others refuse the field.
    pub thinking: Option<String>,
    /// How much it reasons (`low`, `medium`, `high`, …). `auto` leaves it to the vendor, `disabled` turns reasoning off.
    pub effort: Option<String>,
    /// The URL of an HTTP proxy; it may hold a password, so it does not print. The environment's proxies are never used; loopback endpoints bypass it.
    pub proxy: Option<Secret>,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long an answer may bring nothing (keep-alive comments are nothing) before the attempt ends. There is no limit
    /// on the whole answer.
    pub idle_timeout: Duration,
    /// When and how long to wait before another attempt.
    pub retry: Policy,
}

impl Options {
    /// States an endpoint by name and base URL, with defaults for the rest.
    #[must_use]
    pub fn new(name: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            base_url: base_url.into(),
            request_url: None,
            key_env: None,
            key: None,
            headers: Vec::new(),
            extra_body: Map::new(),
            reasoning: ReasoningProtocol::Auto,
            thinking: None,
            effort: None,
            proxy: None,
            connect_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(120),
            retry: Policy::default(),
        }
    }
}

/// One request to a model.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The vendor's name of the model.
    pub model: &'a str,
    /// The system message.
    pub system: &'a str,
    /// The tools, in the order in which they are sent.
    pub tools: &'a [ToolSpec],
    /// The conversation. Every call in it has its result right after the message that made it.
    pub messages: &'a [Message],
    /// The sampling temperature; `None` and 0 leave it to the vendor.
    pub temperature: Option<f64>,
    /// The limit of the answer's tokens; `None` leaves it to the vendor.
    pub max_tokens: Option<u64>,
}
