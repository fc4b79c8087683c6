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
use serde_json::{Map, Value};

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
        Ok(Self {
            quirks: Quirks::of(target, options.reasoning),
            extra: options.extra_body.clone(),
        })
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
