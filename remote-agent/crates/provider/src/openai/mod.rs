//! OpenAI chat completions and the many vendors that speak them more or less.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::panic))]

mod calls;
mod decode;
mod encode;
mod quirks;

use bytes::Bytes;

use crate::{
    Cause, Error, Options, Request,
    protocol::{Decoder, Protocol},
};
use quirks::Quirks;
pub use quirks::ReasoningProtocol;
use serde_json::{Map, Value, json};

/// The wire format of one endpoint.
#[derive(Debug)]
pub(crate) struct OpenAi {
    quirks: Quirks,
    extra: Map<String, Value>,
}

impl OpenAi {
    pub(crate) fn new(options: &Options) -> Result<Self, Error> {
        let reserved = options
            .extra_body
            .iter()
            .find(|(key, value)| encode::RESERVED.contains(&key.as_str()) || value.is_null());
        if let Some((key, value)) = reserved {
            let what = if value.is_null() {
                "is null"
            } else {
                "is a field of the request itself"
            };
            return Err(Error::new(
                &options.name,
                Cause::Config(format!("extra_body.{key} {what}")),
            ));
        }
        let target = options.request_url.as_deref().unwrap_or(&options.base_url);
        let quirks = Quirks::of(target, options.reasoning);
        let mut extra = options.extra_body.clone();
        ask_for_reasoning(&mut extra, options, &quirks);
        Ok(Self { quirks, extra })
    }
}

/// Writes how much the model should reason, in the fields that its vendor knows.
fn ask_for_reasoning(body: &mut Map<String, Value>, options: &Options, quirks: &Quirks) {
    let off = options.effort.as_deref() == Some("disabled");
    let thinking = if off {
        Some("disabled")
    } else {
        options.thinking.as_deref()
    };
    if let Some(thinking) = thinking.filter(|_| quirks.replays_reasoning) {
        body.insert("thinking".to_owned(), json!({"type": thinking}));
    }
    let effort = options
        .effort
        .as_deref()
        .filter(|effort| !off && *effort != "auto");
    if let (Some(effort), false) = (effort, thinking == Some("disabled")) {
        body.entry("reasoning_effort").or_insert_with(|| effort.into());
    }
}

impl Protocol for OpenAi {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn path(&self) -> &'static str {
        "/chat/completions"
    }

    fn encode(&self, request: &Request<'_>) -> Bytes {
        encode::encode(request, &self.quirks, &self.extra)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(decode::ChatDecoder::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_is_asked_for_in_the_fields_a_vendor_knows() {
        let check = |url: &str, thinking: Option<&str>, effort: Option<&str>, want: Value| {
            let mut options = Options::new("p", url);
            options.thinking = thinking.map(str::to_owned);
            options.effort = effort.map(str::to_owned);
            let built = OpenAi::new(&options).unwrap();
            assert_eq!(Value::Object(built.extra), want, "{url} {thinking:?} {effort:?}");
        };
        let (deepseek, other) = ("https://api.deepseek.com", "https://models.example/v1");
        let high = json!({"thinking": {"type": "enabled"}, "reasoning_effort": "high"});
        check(deepseek, Some("enabled"), Some("high"), high);
        check(
            deepseek,
            Some("enabled"),
            Some("disabled"),
            json!({"thinking": {"type": "disabled"}}),
        );
        check(deepseek, None, Some("auto"), json!({}));
        check(
            other,
            Some("enabled"),
            Some("low"),
            json!({"reasoning_effort": "low"}),
        );
        check(other, None, Some("disabled"), json!({}));
        check(other, None, None, json!({}));
    }
}
