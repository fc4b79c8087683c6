//! A reply as chat completion chunks (pure).

use serde_json::{Value, json};

use crate::{CallSpelling, Part, Reply, Spelling, UsageSpelling, framing};

/// The `created` time of every answer: fixed, since answers are compared.
const CREATED: u64 = 1_760_000_000;
/// Characters of tool arguments in one delta.
const ARGUMENT_PIECE: usize = 7;

/// What the answer's request decides about its chunks.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) request: usize,
    pub(crate) model: String,
    pub(crate) delay_ms: u64,
    /// Tokens of the prompt and how many of them were cached.
    pub(crate) prompt: (u64, u64),
    pub(crate) wants_usage: bool,
}

/// One thing to do while answering.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// An event with this data.
    Data(String),
    /// An event with a name and data.
    Named(&'static str, String),
    /// Bytes outside any framing.
    Raw(String),
    Pause(u64),
    Gate(String),
}

/// Gives the bytes of the streamed answer, as one body, with invented usage (100 tokens in, 64 of them cached).
///
/// Pauses and gates take no part. It serves tests that cut a stream at every place.
#[must_use]
pub fn wire_bytes(reply: &Reply, spelling: &Spelling) -> Vec<u8> {
    let facts = Facts {
        request: 0,
        model: "scripted".to_owned(),
        delay_ms: 0,
        prompt: (100, 64),
        wants_usage: true,
    };
    framing::frames(&steps(reply, spelling, &facts), spelling)
        .into_iter()
        .filter_map(|frame| match frame {
            framing::Frame::Bytes(bytes) => Some(bytes),
            _ => None,
        })
        .flatten()
        .collect()
}

/// Gives the steps of a streamed answer, the end mark included.
pub(crate) fn steps(reply: &Reply, spelling: &Spelling, facts: &Facts) -> Vec<Step> {
    let mut writer = Writer {
        facts,
        usage: spelling.usage,
        output_bytes: 0,
        steps: Vec::new(),
    };
    writer.open();
    let mut calls = Vec::new();
    for part in &reply.parts {
        if let Part::Call { name, arguments } = part {
            calls.push((name.as_str(), arguments.as_deref()));
        }
    }
    let mut calls_written = false;
    for part in &reply.parts {
        match part {
            Part::Say(text) => writer.words("content", text),
            Part::Think(text) => writer.words("reasoning_content", text),
            // All calls are written where the first one stands: vendors do not write text between calls.
            Part::Call { .. } if calls_written => {}
            Part::Call { .. } => {
                calls_written = true;
                writer.calls(&calls, spelling.calls);
            }
            Part::Gate(name) => writer.steps.push(Step::Gate(name.clone())),
            Part::PauseMs(pause) => writer.steps.push(Step::Pause(*pause)),
            Part::Raw(raw) => writer.steps.push(Step::Raw(raw.clone())),
        }
    }
    writer.close(&finish(reply));
    writer.steps
}

/// Gives the answer to a request that did not ask for a stream.
pub(crate) fn whole(reply: &Reply, facts: &Facts) -> Value {
    let mut text = String::new();
    let mut reasoning = String::new();
    let mut calls = Vec::new();
    for part in &reply.parts {
        match part {
            Part::Say(more) => text.push_str(more),
            Part::Think(more) => reasoning.push_str(more),
            Part::Call { name, arguments } => calls.push(call_whole(calls.len(), name, arguments.as_deref())),
            Part::Gate(_) | Part::PauseMs(_) | Part::Raw(_) => {}
        }
    }
    let output = text.len() + reasoning.len() + Value::from(calls.clone()).to_string().len();
    let mut message = json!({"role": "assistant", "content": text});
    if !reasoning.is_empty() {
        message["reasoning_content"] = json!(reasoning);
    }
    if !calls.is_empty() {
        message["tool_calls"] = Value::from(calls);
    }
    json!({"id": format!("chatcmpl-{}", facts.request), "object": "chat.completion", "created": CREATED,
        "model": facts.model, "usage": usage(facts, output),
        "choices": [{"index": 0, "message": message, "finish_reason": finish(reply)}]})
}

fn finish(reply: &Reply) -> String {
    let calls = reply.parts.iter().any(|part| matches!(part, Part::Call { .. }));
    reply
        .finish
        .clone()
        .unwrap_or_else(|| if calls { "tool_calls" } else { "stop" }.to_owned())
}

fn usage(facts: &Facts, output_bytes: usize) -> Value {
    let (input, cached) = facts.prompt;
    let output = output_bytes.div_ceil(4) as u64;
    json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
        "prompt_tokens_details": {"cached_tokens": cached},
        "prompt_cache_hit_tokens": cached, "prompt_cache_miss_tokens": input.saturating_sub(cached)})
}

/// Writes chunks in order.
struct Writer<'a> {
    facts: &'a Facts,
    usage: UsageSpelling,
    output_bytes: usize,
    steps: Vec<Step>,
}

impl Writer<'_> {
    fn open(&mut self) {
        if self.usage == UsageSpelling::EmptyFirstChunk {
            let empty = self.envelope(json!([]));
            self.steps.push(Step::Data(empty.to_string()));
        }
        self.delta(json!({"role": "assistant", "content": ""}));
    }

    fn words(&mut self, field: &str, text: &str) {
        for word in text.split_inclusive(char::is_whitespace) {
            if self.facts.delay_ms > 0 {
                self.steps.push(Step::Pause(self.facts.delay_ms));
            }
            self.output_bytes += word.len();
            self.delta(json!({field: word}));
        }
    }

    fn calls(&mut self, calls: &[(&str, Option<&str>)], spelling: CallSpelling) {
        self.output_bytes += calls
            .iter()
            .map(|(name, arguments)| name.len() + arguments.map_or(0, str::len))
            .sum::<usize>();
        for deltas in call_deltas(calls, spelling) {
            self.delta(json!({"tool_calls": deltas}));
        }
    }

    fn close(&mut self, finish: &str) {
        let mut chunk = self.envelope(json!([{"index": 0, "delta": {}, "finish_reason": finish}]));
        let total = usage(self.facts, self.output_bytes);
        if matches!(self.usage, UsageSpelling::OnFinish | UsageSpelling::EveryChunk) {
            chunk["usage"] = total.clone();
        }
        self.steps.push(Step::Data(chunk.to_string()));
        let closing = match self.usage {
            UsageSpelling::ClosingChunk | UsageSpelling::NullElsewhere | UsageSpelling::EmptyFirstChunk => {
                Some(self.envelope(json!([])))
            }
            UsageSpelling::ClosingChunkWithoutChoices => {
                Some(json!({"object": "chat.completion.chunk", "model": self.facts.model}))
            }
            UsageSpelling::OnFinish | UsageSpelling::EveryChunk | UsageSpelling::Off => None,
        };
        if let Some(mut chunk) = closing.filter(|_| self.facts.wants_usage) {
            chunk["usage"] = total;
            self.steps.push(Step::Data(chunk.to_string()));
        }
        self.steps.push(Step::Data("[DONE]".to_owned()));
    }

    fn delta(&mut self, delta: Value) {
        let mut chunk = self.envelope(json!([{"index": 0, "delta": null, "finish_reason": null}]));
        chunk["choices"][0]["delta"] = delta;
        if self.usage == UsageSpelling::EveryChunk {
            chunk["usage"] = usage(self.facts, self.output_bytes);
        }
        self.steps.push(Step::Data(chunk.to_string()));
    }

    fn envelope(&self, choices: Value) -> Value {
        let mut chunk = json!({"id": format!("chatcmpl-{}", self.facts.request),
            "object": "chat.completion.chunk", "created": CREATED, "model": self.facts.model});
        chunk["choices"] = choices;
        if self.usage == UsageSpelling::NullElsewhere {
            chunk["usage"] = Value::Null;
        }
        chunk
    }
}

/// Gives the `tool_calls` arrays of the chunks that carry these calls.
fn call_deltas(calls: &[(&str, Option<&str>)], spelling: CallSpelling) -> Vec<Vec<Value>> {
    if spelling == CallSpelling::OneDelta {
        let mut whole: Vec<Value> = Vec::new();
        for (number, (name, arguments)) in calls.iter().enumerate() {
            let mut call = call_whole(number, name, *arguments);
            call["index"] = json!(number);
            whole.push(call);
        }
        return vec![whole];
    }
    let queues: Vec<Vec<Value>> = calls
        .iter()
        .enumerate()
        .map(|(number, (name, arguments))| one_call(number, name, *arguments, spelling))
        .collect();
    if spelling != CallSpelling::Interleaved {
        return queues.into_iter().flatten().map(|delta| vec![delta]).collect();
    }
    let rounds = queues.iter().map(Vec::len).max().unwrap_or(0);
    (0..rounds)
        .flat_map(|round| queues.iter().filter_map(move |queue| queue.get(round).cloned()))
        .map(|delta| vec![delta])
        .collect()
}

/// Gives the deltas of one call.
fn one_call(number: usize, name: &str, arguments: Option<&str>, spelling: CallSpelling) -> Vec<Value> {
    let index = match spelling {
        CallSpelling::NoIndex | CallSpelling::NoIndexFirstIdOnly => None,
        CallSpelling::SameIndex => Some(0),
        CallSpelling::SparseIndex => Some(1 + 3 * number),
        _ => Some(number),
    };
    let numbered = |mut delta: Value| {
        if let Some(index) = index {
            delta["index"] = json!(index);
        }
        delta
    };
    let id = call_id(number);
    let mut first = json!({"id": id, "type": "function", "function": {"name": name}});
    if arguments.is_some() {
        first["function"]["arguments"] = json!("");
    }
    let mut deltas = vec![numbered(first)];
    for piece in pieces(arguments.unwrap_or_default()) {
        deltas.push(numbered(match spelling {
            CallSpelling::EmptyIds => json!({"id": "", "function": {"arguments": piece}}),
            CallSpelling::Nulls => {
                json!({"id": null, "type": null, "function": {"name": null, "arguments": piece}})
            }
            CallSpelling::Repeated => {
                json!({"id": id, "type": "function", "function": {"name": name, "arguments": piece}})
            }
            CallSpelling::NoIndex => json!({"id": id, "function": {"arguments": piece}}),
            _ => json!({"function": {"arguments": piece}}),
        }));
    }
    deltas
}

fn call_whole(number: usize, name: &str, arguments: Option<&str>) -> Value {
    let mut call = json!({"id": call_id(number), "type": "function", "function": {"name": name}});
    if let Some(arguments) = arguments {
        call["function"]["arguments"] = json!(arguments);
    }
    call
}

/// Names a call. The names repeat in every answer, as those of some vendors do.
fn call_id(number: usize) -> String {
    format!("call_{number}")
}

fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters
        .chunks(ARGUMENT_PIECE)
        .map(|piece| piece.iter().collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(reply: &Reply, spelling: &Spelling) -> Vec<Value> {
        let facts = Facts {
            request: 3,
            model: "m".to_owned(),
            delay_ms: 0,
            prompt: (10, 4),
            wants_usage: true,
        };
        let events = steps(reply, spelling, &facts);
        events
            .iter()
            .filter_map(|step| match step {
                Step::Data(text) if text != "[DONE]" => Some(serde_json::from_str(text).unwrap()),
                _ => None,
            })
            .collect()
    }

    fn joined(chunks: &[Value], number: usize) -> String {
        let mut text = String::new();
        for delta in chunks
            .iter()
            .filter_map(|chunk| chunk.pointer("/choices/0/delta/tool_calls")?.as_array())
        {
            for call in delta.iter().filter(|call| call["index"] == json!(number)) {
                text.push_str(call["function"]["arguments"].as_str().unwrap_or_default());
            }
        }
        text
    }

    #[test]
    fn says_word_by_word_and_closes_with_usage() {
        let chunks = data(&Reply::new().say("one two"), &Spelling::default());
        let words: Vec<_> = chunks
            .iter()
            .filter_map(|chunk| chunk.pointer("/choices/0/delta/content")?.as_str())
            .collect();
        assert_eq!(words, ["", "one ", "two"]);
        assert_eq!(chunks[chunks.len() - 2]["choices"][0]["finish_reason"], "stop");
        let usage = &chunks[chunks.len() - 1]["usage"];
        assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], 4);
        assert_eq!(usage["completion_tokens"], 2);
    }

    #[test]
    fn arguments_come_in_pieces_and_may_alternate() {
        let long = json!({"path": "some/long/path.txt"});
        let reply = Reply::new().call("a", &long).call("b", &long);
        for spelling in [
            CallSpelling::Standard,
            CallSpelling::Interleaved,
            CallSpelling::OneDelta,
        ] {
            let chunks = data(&reply, &Spelling::default().calls(spelling));
            assert_eq!(joined(&chunks, 0), long.to_string(), "{spelling:?}");
            assert_eq!(joined(&chunks, 1), long.to_string(), "{spelling:?}");
        }
    }

    #[test]
    fn missing_arguments_are_missing() {
        let chunks = data(&Reply::new().call_raw("a", None), &Spelling::default());
        assert_eq!(
            chunks[1]["choices"][0]["delta"]["tool_calls"][0]["function"],
            json!({"name": "a"})
        );
    }
}
