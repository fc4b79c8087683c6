//! The requests that came in.

use bytes::Bytes;
use serde_json::Value;

/// A chat request as it arrived.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// Its number, from 0.
    pub index: usize,
    /// The headers in order of arrival, without `Authorization`.
    pub headers: Vec<(String, String)>,
    /// The SHA-256 of the `Authorization` header's value in hexadecimal; `None` when there was none. The value itself
    /// is not kept, so that no record or failure message can show a key.
    pub authorization: Option<String>,
    /// The body's bytes.
    pub bytes: Bytes,
    /// The body as JSON; `Null` when it is none.
    pub body: Value,
}

impl RecordedRequest {
    /// Gives a header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Gives the messages, the system message included.
    #[must_use]
    pub fn messages(&self) -> &[Value] {
        self.body
            .get("messages")
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// Gives the text of the system message; empty when there is none.
    #[must_use]
    pub fn system(&self) -> String {
        self.messages()
            .iter()
            .find(|message| role(message) == "system")
            .map(text)
            .unwrap_or_default()
    }

    /// Gives the text of the last message.
    #[must_use]
    pub fn last_text(&self) -> String {
        self.messages().last().map(text).unwrap_or_default()
    }

    /// Gives the text of the results of tools, in order.
    #[must_use]
    pub fn tool_results(&self) -> Vec<String> {
        self.messages()
            .iter()
            .filter(|message| role(message) == "tool")
            .map(text)
            .collect()
    }

    /// Gives the names of the tools offered, in order.
    #[must_use]
    pub fn tool_names(&self) -> Vec<&str> {
        let tools = self
            .body
            .get("tools")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        tools
            .iter()
            .filter_map(|tool| tool.pointer("/function/name").and_then(Value::as_str))
            .collect()
    }
}

/// Gives a message's role; empty when it has none.
pub(crate) fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

/// Gives a message's text, whether its content is a string or a list of parts.
pub(crate) fn text(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text").and_then(Value::as_str))
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}
