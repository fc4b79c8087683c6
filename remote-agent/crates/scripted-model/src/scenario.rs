//! What the model says, in order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, Fault, ReasoningRule, Spelling};

/// A script for the model: replies, faults and how strict the server is.
///
/// Each request takes one reply (see [`When`] for which). A request that meets a fault which replaces the answer
/// takes none, so that the next attempt gets the reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// The model's name in answers and in `GET /v1/models`.
    pub model: String,
    /// The replies.
    pub replies: Vec<Reply>,
    /// Faults by request number, from 0.
    pub faults: BTreeMap<usize, Fault>,
    /// How replies are spelled unless they say otherwise.
    pub spelling: Spelling,
    /// Milliseconds before each chunk of text; 0 sends as fast as the reader reads.
    pub delay_ms: u64,
    /// Starts again with the first reply after the last.
    pub repeat: bool,
    /// Answers 400 to requests that a strict vendor refuses.
    pub strict: bool,
    /// What strictness says about `reasoning_content` in the history.
    pub reasoning: ReasoningRule,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            model: "scripted".to_owned(),
            replies: Vec::new(),
            faults: BTreeMap::new(),
            spelling: Spelling::default(),
            delay_ms: 0,
            repeat: false,
            strict: true,
            reasoning: ReasoningRule::default(),
        }
    }
}

impl Scenario {
    /// Makes an empty, strict scenario.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a scenario from JSON.
    ///
    /// # Errors
    /// [`Error::Scenario`] with line and column in its source.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(Error::Scenario)
    }

    /// Adds a reply.
    #[must_use]
    pub fn reply(mut self, reply: Reply) -> Self {
        self.replies.push(reply);
        self
    }

    /// Adds a reply that only says `text`.
    #[must_use]
    pub fn say(self, text: impl Into<String>) -> Self {
        self.reply(Reply::new().say(text))
    }

    /// Adds a reply that only calls one tool.
    #[must_use]
    pub fn call(self, name: impl Into<String>, arguments: &Value) -> Self {
        self.reply(Reply::new().call(name, arguments))
    }

    /// Lets the request with this number, from 0, meet a fault.
    #[must_use]
    pub fn fault(mut self, request: usize, fault: Fault) -> Self {
        self.faults.insert(request, fault);
        self
    }

    /// Spells every reply this way unless the reply says otherwise.
    #[must_use]
    pub fn spelled(mut self, spelling: Spelling) -> Self {
        self.spelling = spelling;
        self
    }

    /// Waits before each chunk of text.
    #[must_use]
    pub fn delay_ms(mut self, delay_ms: u64) -> Self {
        self.delay_ms = delay_ms;
        self
    }

    /// Starts again with the first reply after the last.
    #[must_use]
    pub fn repeated(mut self) -> Self {
        self.repeat = true;
        self
    }

    /// Accepts requests that a strict vendor would refuse.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.strict = false;
        self
    }

    /// States what the server says to `reasoning_content` in the history.
    #[must_use]
    pub fn reasoning(mut self, rule: ReasoningRule) -> Self {
        self.reasoning = rule;
        self
    }
}

/// One answer of the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reply {
    /// Which requests may take this reply; `None` takes its turn in the script's order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// What is said, in order.
    pub parts: Vec<Part>,
    /// The `finish_reason`; `None` means `tool_calls` when there are calls, else `stop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// How this reply is spelled; `None` as the scenario says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spelling: Option<Spelling>,
}

/// Which requests a reply is for.
///
/// A request takes the first unused reply whose condition holds; when there is none, the first unused reply without a
/// condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// The last message (of a user or a tool) contains this text.
    Contains(String),
    /// Any message, the system message included, contains this text.
    AnyContains(String),
}

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Visible text, streamed word by word.
    Say(String),
    /// Reasoning (`reasoning_content`), streamed word by word.
    Think(String),
    /// A tool call.
    Call {
        /// The tool's name.
        name: String,
        /// The arguments as raw text, valid or not; `None` leaves the field out.
        #[serde(default)]
        arguments: Option<String>,
    },
    /// Waits until the gate of this name is opened.
    Gate(String),
    /// Waits this many milliseconds.
    PauseMs(u64),
    /// Bytes that are sent as they are, outside any framing.
    Raw(String),
}

impl Reply {
    /// Makes an empty reply; sent like that it is a truly empty answer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a part.
    #[must_use]
    pub fn part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// Says `text`.
    #[must_use]
    pub fn say(self, text: impl Into<String>) -> Self {
        self.part(Part::Say(text.into()))
    }

    /// Reasons in `text`.
    #[must_use]
    pub fn think(self, text: impl Into<String>) -> Self {
        self.part(Part::Think(text.into()))
    }

    /// Calls a tool.
    #[must_use]
    pub fn call(self, name: impl Into<String>, arguments: &Value) -> Self {
        self.call_raw(name, Some(&arguments.to_string()))
    }

    /// Calls a tool with arguments spelled exactly so; `None` leaves the field out.
    #[must_use]
    pub fn call_raw(self, name: impl Into<String>, arguments: Option<&str>) -> Self {
        self.part(Part::Call {
            name: name.into(),
            arguments: arguments.map(str::to_owned),
        })
    }

    /// Waits here until the gate of this name is opened.
    #[must_use]
    pub fn gate(self, name: impl Into<String>) -> Self {
        self.part(Part::Gate(name.into()))
    }

    /// Waits here.
    #[must_use]
    pub fn pause_ms(self, pause_ms: u64) -> Self {
        self.part(Part::PauseMs(pause_ms))
    }

    /// Ends with this `finish_reason`.
    #[must_use]
    pub fn finish(mut self, reason: impl Into<String>) -> Self {
        self.finish = Some(reason.into());
        self
    }

    /// Serves only requests whose last message contains `text`.
    #[must_use]
    pub fn when(mut self, text: impl Into<String>) -> Self {
        self.when = Some(When::Contains(text.into()));
        self
    }

    /// Serves only requests in which any message contains `text`.
    #[must_use]
    pub fn when_any(mut self, text: impl Into<String>) -> Self {
        self.when = Some(When::AnyContains(text.into()));
        self
    }

    /// Spells this reply so, whatever the scenario says.
    #[must_use]
    pub fn spelled(mut self, spelling: Spelling) -> Self {
        self.spelling = Some(spelling);
        self
    }
}
