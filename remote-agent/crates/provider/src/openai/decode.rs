//! Answers of chat completions, streamed or whole.

use conversation::{Finish, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::{
    calls::{CallDelta, Calls, Cut},
    quirks::{Reason, reason},
};
use crate::{
    Cause, StreamItem,
    protocol::{Decoder, Remaining},
    sse::Event,
    vendor_error::VendorError,
};

/// The state of one answer.
#[derive(Debug, Default)]
pub(super) struct ChatDecoder {
    calls: Calls,
    usage: Option<Usage>,
    finish: Option<Finish>,
    seen: Seen,
}

/// What has come so far.
#[derive(Debug, Default)]
struct Seen {
    content: bool,
    end_mark: bool,
}

#[derive(Debug, Deserialize)]
struct Choice {
    /// The change, in a stream.
    #[serde(default)]
    delta: Option<Delta>,
    /// The whole message, otherwise.
    #[serde(default)]
    message: Option<Delta>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Delta {
    #[serde(default)]
    content: Option<Value>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    reasoning_content: Option<String>,
    /// What OpenRouter and others call it.
    #[serde(default)]
    reasoning: Option<Value>,
    #[serde(default)]
    tool_calls: Option<Vec<CallDelta>>,
}

impl ChatDecoder {
    /// Reads a chunk or a whole answer: they differ only in the name of the message.
    fn object(&mut self, mut body: Value) -> Result<Vec<StreamItem>, Cause> {
        if body.get("error").is_some_and(|error| !error.is_null())
            && let Some(error) = VendorError::find(&body)
        {
            return Err(inside(&error));
        }
        if let Some(usage) = body.get("usage").and_then(read_usage) {
            // Some gateways send the running count with every chunk: the last one counts, once.
            self.usage = Some(usage);
        }
        let choices = body.get_mut("choices").map(Value::take).unwrap_or_default();
        let choices: Option<Vec<Choice>> = serde_json::from_value(choices).map_err(|error| {
            Cause::Malformed(format!("the choices of a chunk have an unknown form ({error})"))
        })?;
        let mut items = Vec::new();
        // Only one answer was asked for.
        if let Some(choice) = choices.unwrap_or_default().into_iter().next() {
            self.choice(choice, &mut items)?;
        }
        Ok(items)
    }

    fn choice(&mut self, choice: Choice, items: &mut Vec<StreamItem>) -> Result<(), Cause> {
        if let Some(delta) = choice.delta.or(choice.message) {
            let reasoning = delta.reasoning_content.filter(|text| !text.is_empty());
            let reasoning = reasoning
                .or_else(|| delta.reasoning.as_ref().map(plain))
                .filter(|text| !text.is_empty());
            items.extend(reasoning.map(StreamItem::Reasoning));
            let texts = [delta.content.as_ref().map(plain), delta.refusal];
            items.extend(
                texts
                    .into_iter()
                    .flatten()
                    .filter(|text| !text.is_empty())
                    .map(StreamItem::Text),
            );
            self.seen.content |= !items.is_empty();
            for call in delta.tool_calls.unwrap_or_default() {
                self.calls.add(call);
            }
        }
        match choice.finish_reason.filter(|text| !text.is_empty()) {
            None => Ok(()),
            Some(text) => match reason(&text) {
                Reason::Ended(finish) => {
                    self.finish = Some(finish);
                    Ok(())
                }
                Reason::Failed => {
                    let message = format!("the model stopped ({text})");
                    Err(Cause::Inside {
                        message,
                        again: crate::error::Again::Maybe,
                    })
                }
            },
        }
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, event: &Event) -> Result<Vec<StreamItem>, Cause> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.seen.end_mark = true;
            return Ok(Vec::new());
        }
        if data.is_empty() {
            return Ok(Vec::new());
        }
        let body: Value = match serde_json::from_str(data) {
            Ok(body) => body,
            Err(_) if event.name == "error" => Value::String(data.to_owned()),
            Err(error) => return Err(Cause::Malformed(format!("a chunk is not valid JSON ({error})"))),
        };
        if event.name == "error" {
            let error =
                VendorError::find(&body).or_else(|| VendorError::find(&serde_json::json!({"error": body})));
            return Err(error.map_or(Cause::Empty, |error| inside(&error)));
        }
        self.object(body)
    }

    fn whole(&mut self, body: &[u8]) -> Result<Vec<StreamItem>, Cause> {
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| Cause::Malformed(format!("the body is not valid JSON ({error})")))?;
        if body.get("choices").is_none()
            && let Some(error) = VendorError::find(&body)
        {
            return Err(inside(&error));
        }
        if !body.get("choices").is_some_and(Value::is_array) {
            return Err(Cause::Malformed("the body is JSON without choices".to_owned()));
        }
        let items = self.object(body)?;
        self.seen.end_mark = true;
        Ok(items)
    }

    fn remaining(&self) -> Remaining {
        match (self.seen.end_mark, self.finish) {
            (true, _) => Remaining::Nothing,
            (false, Some(_)) => Remaining::Trailer,
            (false, None) => Remaining::Content,
        }
    }

    fn end(&mut self) -> Result<Vec<StreamItem>, Cause> {
        let finish = match self.finish {
            Some(finish) => finish,
            // An end mark without a reason: the vendor says that this is all.
            None if self.seen.end_mark => Finish::Stop,
            None => return Err(Cause::Cut(None)),
        };
        if !self.seen.content
            && self.calls.is_empty()
            && matches!(finish, Finish::Stop | Finish::ToolCalls | Finish::Other)
        {
            return Err(Cause::Empty);
        }
        let cut = if finish == Finish::Length {
            Cut::AtLimit
        } else {
            Cut::No
        };
        let calls = self.calls.finish(cut).map_err(Cause::Malformed)?;
        // Vendors say "stop" although they call, or "tool_calls" although they do not.
        let finish = match finish {
            Finish::Stop | Finish::Other if !calls.is_empty() => Finish::ToolCalls,
            Finish::ToolCalls if calls.is_empty() => Finish::Stop,
            other => other,
        };
        let mut items: Vec<_> = calls.into_iter().map(StreamItem::Call).collect();
        items.extend(self.usage.map(StreamItem::Usage));
        items.push(StreamItem::Finish(finish));
        Ok(items)
    }
}

fn inside(error: &VendorError) -> Cause {
    Cause::Inside {
        message: error.message.clone(),
        again: error.again(),
    }
}

/// Gives the text of a content that is a string or a list of parts.
fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part.get("text").and_then(Value::as_str))
            .collect(),
        _ => String::new(),
    }
}

/// Reads a usage object; `None` when it says nothing.
fn read_usage(usage: &Value) -> Option<Usage> {
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    let input = number("/prompt_tokens");
    let output = number("/completion_tokens");
    if input.is_none() && output.is_none() {
        return None;
    }
    let input = input.unwrap_or(0);
    // OpenAI; DeepSeek; Moonshot.
    let cached = [
        "/prompt_tokens_details/cached_tokens",
        "/prompt_cache_hit_tokens",
        "/cached_tokens",
    ];
    let cached = cached
        .iter()
        .filter_map(|path| number(path))
        .max()
        .unwrap_or(0)
        .min(input);
    Some(Usage {
        input,
        cached,
        output: output.unwrap_or(0),
    })
}

#[cfg(test)]
mod tests;
