//! Turns a request into what is sent back.

use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    ErrorFraming, Fault, RecordedRequest, Reply, Spelling,
    chunks::{self, Facts, Step},
    framing::{self, Frame},
    meter::PrefixCache,
    scenario::Scenario,
    script::Script,
    strict,
};

/// What is sent back to one request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A response with a known body.
    Whole {
        status: u16,
        content_type: String,
        retry_after: Option<String>,
        body: String,
    },
    /// An event stream.
    Stream(Vec<Frame>),
    /// The connection closes without a response.
    Hangup,
    /// Nothing.
    Silence,
}

/// Everything that changes while the script runs.
#[derive(Debug)]
pub(crate) struct Desk {
    scenario: Scenario,
    pub(crate) script: Script,
    pub(crate) cache: PrefixCache,
    pub(crate) requests: Vec<RecordedRequest>,
    pub(crate) refusals: Vec<String>,
}

impl Desk {
    pub(crate) fn new(mut scenario: Scenario) -> Self {
        let script = Script::new(std::mem::take(&mut scenario.replies), scenario.repeat);
        Self {
            scenario,
            script,
            cache: PrefixCache::default(),
            requests: Vec::new(),
            refusals: Vec::new(),
        }
    }

    pub(crate) fn model(&self) -> &str {
        &self.scenario.model
    }

    /// Records a chat request and decides its answer.
    pub(crate) fn chat(&mut self, headers: &http::HeaderMap, bytes: Bytes) -> Answer {
        let index = self.requests.len();
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        self.requests.push(record(index, headers, bytes, body.clone()));
        if self.scenario.strict
            && let Err(refusal) = strict::check(&body, self.scenario.reasoning)
        {
            self.refusals.push(refusal.clone());
            return error(400, &refusal, "invalid_request_error");
        }
        let fault = self.scenario.faults.get(&index).cloned();
        match fault
            .as_ref()
            .and_then(|fault| instead(fault, &self.spelling(None)))
        {
            Some(answer) => answer,
            None => self.reply(index, &body, fault.as_ref()),
        }
    }

    fn reply(&mut self, index: usize, body: &Value, fault: Option<&Fault>) -> Answer {
        let kept = fault.is_some_and(Fault::replaces_reply);
        let reply = if kept {
            self.script.peek(body)
        } else {
            self.script.take(body)
        };
        let Some(reply) = reply else {
            let refusal = format!("the script has no reply left for request {index}");
            self.refusals.push(refusal.clone());
            return error(400, &refusal, "script_exhausted");
        };
        let measured = self.cache.measure(index, body);
        let facts = Facts {
            request: index,
            model: self.scenario.model.clone(),
            delay_ms: self.scenario.delay_ms,
            prompt: (measured.input, measured.hit),
            wants_usage: body
                .pointer("/stream_options/include_usage")
                .and_then(Value::as_bool)
                .unwrap_or(false),
        };
        if body.get("stream").and_then(Value::as_bool) != Some(true) {
            return json_answer(200, chunks::whole(&reply, &facts).to_string());
        }
        let spelling = self.spelling(Some(&reply));
        let frames = framing::frames(&chunks::steps(&reply, &spelling, &facts), &spelling);
        Answer::Stream(match fault {
            Some(fault) => framing::strike(frames, fault),
            None => frames,
        })
    }

    fn spelling(&self, reply: Option<&Reply>) -> Spelling {
        reply
            .and_then(|reply| reply.spelling.clone())
            .unwrap_or_else(|| self.scenario.spelling.clone())
    }
}

/// Gives the answer of a fault that needs no reply; `None` for one that strikes a reply.
fn instead(fault: &Fault, spelling: &Spelling) -> Option<Answer> {
    Some(match fault {
        Fault::Status {
            status,
            retry_after,
            body,
        } => {
            let standard = || {
                let text = format!("scripted failure {status}");
                json!({"error": {"message": text, "type": "scripted", "code": status}}).to_string()
            };
            let body = body.clone().unwrap_or_else(standard);
            let content_type = "application/json".to_owned();
            Answer::Whole {
                status: *status,
                content_type,
                retry_after: retry_after.clone(),
                body,
            }
        }
        Fault::Hangup => Answer::Hangup,
        Fault::Silent => Answer::Silence,
        Fault::WrongType { content_type, body } => Answer::Whole {
            status: 200,
            content_type: content_type.clone(),
            retry_after: None,
            body: body.clone(),
        },
        Fault::ErrorInside {
            error,
            framing: ErrorFraming::Json,
            ..
        } => json_answer(200, json!({"error": error}).to_string()),
        Fault::ErrorInside {
            error,
            after_text,
            framing,
        } => {
            let mut steps = Vec::new();
            if !after_text.is_empty() {
                let delta = json!({"choices": [{"index": 0, "delta": {"content": after_text}}]});
                steps.push(Step::Data(delta.to_string()));
            }
            let error = json!({"error": error}).to_string();
            steps.push(match framing {
                ErrorFraming::Event => Step::Named("error", error),
                ErrorFraming::Data | ErrorFraming::Json => Step::Data(error),
            });
            steps.push(Step::Data("[DONE]".to_owned()));
            Answer::Stream(framing::frames(&steps, spelling))
        }
        Fault::CommentsOnly { .. } => Answer::Stream(framing::strike(Vec::new(), fault)),
        Fault::Drop { .. } | Fault::Stall { .. } | Fault::Trickle { .. } | Fault::MalformedJson => {
            return None;
        }
    })
}

/// Gives the standard error response.
pub(crate) fn error(status: u16, message: &str, code: &str) -> Answer {
    json_answer(
        status,
        json!({"error": {"message": message, "type": code, "code": code}}).to_string(),
    )
}

/// Gives a JSON response.
pub(crate) fn json_answer(status: u16, body: String) -> Answer {
    Answer::Whole {
        status,
        content_type: "application/json".to_owned(),
        retry_after: None,
        body,
    }
}

fn record(index: usize, headers: &http::HeaderMap, bytes: Bytes, body: Value) -> RecordedRequest {
    let mut kept = Vec::new();
    let mut authorization = None;
    for (name, value) in headers {
        if *name == http::header::AUTHORIZATION {
            let digest = Sha256::digest(value.as_bytes());
            authorization = Some(digest.iter().map(|byte| format!("{byte:02x}")).collect());
        } else {
            kept.push((
                name.to_string(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            ));
        }
    }
    RecordedRequest {
        index,
        headers: kept,
        authorization,
        bytes,
        body,
    }
}
