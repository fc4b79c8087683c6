//! Requests as chat completions bodies.
//!
//! The bytes depend on nothing but the request: fields have a fixed order and schemas go out as they are. The messages
//! stand before everything that may differ between two requests of a session, so the bytes of a longer conversation
//! begin with those of the shorter one.

use bytes::Bytes;
use conversation::{AssistantMessage, Message, ToolCall, ToolSpec};
use serde::{Serialize, ser::SerializeMap as _, ser::Serializer};
use serde_json::{Map, Value};

use super::quirks::Quirks;
use crate::Request;

/// Fields of the body that configuration cannot replace.
pub(super) const RESERVED: &[&str] = &[
    "model",
    "messages",
    "tools",
    "stream",
    "stream_options",
    "thinking",
];

/// Writes a request.
pub(super) fn encode(request: &Request<'_>, quirks: &Quirks, extra: &Map<String, Value>) -> Bytes {
    let body = Body {
        request,
        quirks,
        extra,
    };
    // Keys are texts and numbers are finite by construction, so JSON can always be written.
    serde_json::to_vec(&body).unwrap_or_default().into()
}

struct Body<'a> {
    request: &'a Request<'a>,
    quirks: &'a Quirks,
    extra: &'a Map<String, Value>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.request;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", request.model)?;
        if !request.tools.is_empty() {
            map.serialize_entry("tools", &request.tools.iter().map(tool).collect::<Vec<_>>())?;
        }
        map.serialize_entry("messages", &messages(request, self.quirks))?;
        map.serialize_entry("stream", &true)?;
        map.serialize_entry("stream_options", &StreamOptions { include_usage: true })?;
        if let Some(limit) = request.max_tokens {
            map.serialize_entry(self.quirks.max_tokens, &limit)?;
        }
        if let Some(temperature) = request.temperature.filter(|value| *value != 0.0) {
            map.serialize_entry("temperature", &temperature)?;
        }
        for (key, value) in self.extra {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct WireTool<'a> {
    r#type: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum WireMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: &'a str,
    },
    Assistant {
        content: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: WireCallFunction<'a>,
}

#[derive(Serialize)]
struct WireCallFunction<'a> {
    name: String,
    arguments: &'a str,
}

fn tool(spec: &ToolSpec) -> WireTool<'_> {
    let function = WireFunction {
        name: &spec.name,
        description: &spec.description,
        parameters: &spec.schema,
    };
    WireTool {
        r#type: "function",
        function,
    }
}

fn messages<'a>(request: &Request<'a>, quirks: &Quirks) -> Vec<WireMessage<'a>> {
    let replays = quirks.replays_reasoning && !request.tools.is_empty();
    let system = (!request.system.is_empty()).then_some(WireMessage::System {
        content: request.system,
    });
    let conversation = request.messages.iter().filter_map(|message| match message {
        Message::User(user) => Some(WireMessage::User { content: &user.text }),
        // An answer that was stopped before its first word says nothing, and some vendors refuse it.
        Message::Assistant(answer) if answer.is_empty() => None,
        Message::Assistant(answer) => Some(assistant(answer, replays)),
        Message::Tool(result) => Some(WireMessage::Tool {
            tool_call_id: &result.call.0,
            content: &result.content,
        }),
    });
    system.into_iter().chain(conversation).collect()
}

fn assistant(answer: &AssistantMessage, replays_reasoning: bool) -> WireMessage<'_> {
    // With tool calls the field must be there even if the answer came without reasoning, as after a change of model;
    // an empty one is accepted.
    let wanted = replays_reasoning && !(answer.reasoning.is_empty() && answer.calls.is_empty());
    WireMessage::Assistant {
        content: &answer.text,
        reasoning_content: wanted.then_some(answer.reasoning.as_str()),
        tool_calls: answer.calls.iter().map(call).collect(),
    }
}

fn call(call: &ToolCall) -> WireCall<'_> {
    let function = WireCallFunction {
        name: legal_name(&call.name),
        arguments: &call.arguments,
    };
    WireCall {
        id: &call.id.0,
        r#type: "function",
        function,
    }
}

/// Gives a name that vendors accept: a model may invent one that they refuse in the history.
fn legal_name(name: &str) -> String {
    let legal = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().take(64).map(legal).collect();
    if name.is_empty() {
        "unknown".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use conversation::{CallId, CallOutcome, Finish, ItemId, ToolMessage, UserMessage};
    use serde_json::json;

    use super::*;
    use crate::openai::ReasoningProtocol;

    fn user(text: &str) -> Message {
        Message::User(UserMessage {
            text: text.to_owned(),
        })
    }

    fn calling(name: &str, reasoning: &str) -> Message {
        Message::Assistant(AssistantMessage {
            text: String::new(),
            reasoning: reasoning.to_owned(),
            calls: vec![ToolCall {
                id: CallId::new(ItemId(3), 0),
                name: name.to_owned(),
                arguments: "{\"b\":1,\"a\":2}".to_owned(),
                malformed: None,
            }],
            finish: Finish::ToolCalls,
            usage: None,
            cost: None,
        })
    }

    fn result() -> Message {
        Message::Tool(ToolMessage {
            call: CallId::new(ItemId(3), 0),
            outcome: CallOutcome::Ok,
            content: "é\n".to_owned(),
        })
    }

    fn text(messages: &[Message], tools: &[ToolSpec], reasoning: ReasoningProtocol) -> String {
        let request = Request {
            model: "m",
            system: "s",
            tools,
            messages,
            temperature: Some(0.0),
            max_tokens: None,
        };
        let quirks = Quirks::of("http://127.0.0.1", reasoning);
        String::from_utf8(encode(&request, &quirks, &Map::new()).to_vec()).unwrap()
    }

    fn ls() -> ToolSpec {
        let schema = json!({"properties": {}, "type": "object"});
        ToolSpec {
            name: "ls".to_owned(),
            description: "Lists.".to_owned(),
            schema,
        }
    }

    #[test]
    fn writes_exactly_these_bytes() {
        let messages = [user("hi"), calling("ls", "because"), result()];
        let want = concat!(
            r#"{"model":"m","tools":[{"type":"function","function":{"name":"ls","description":"Lists.","#,
            r#""parameters":{"properties":{},"type":"object"}}}],"#,
            r#""messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"},"#,
            r#"{"role":"assistant","content":"","tool_calls":[{"id":"call_3_0","type":"function","#,
            r#""function":{"name":"ls","arguments":"{\"b\":1,\"a\":2}"}}]},"#,
            r#"{"role":"tool","tool_call_id":"call_3_0","content":"é\n"}],"#,
            r#""stream":true,"stream_options":{"include_usage":true}}"#
        );
        assert_eq!(text(&messages, &[ls()], ReasoningProtocol::Auto), want);
    }

    #[test]
    fn a_longer_conversation_begins_with_the_shorter_one() {
        let messages = [user("hi"), calling("ls", "r"), result(), user("more")];
        let spelled: Vec<_> = [1, 3, 4]
            .map(|n| text(&messages[..n], &[ls()], ReasoningProtocol::Replayed))
            .into();
        for pair in spelled.windows(2) {
            let shorter = pair[0].split("],\"stream\"").next().unwrap();
            assert!(pair[1].starts_with(shorter));
        }
    }

    #[test]
    fn reasoning_goes_back_only_where_it_is_wanted() {
        let messages = [
            user("hi"),
            calling("ls", "because"),
            result(),
            calling("ls", ""),
            result(),
        ];
        let count = |text: &str| text.matches("reasoning_content").count();
        assert_eq!(count(&text(&messages, &[ls()], ReasoningProtocol::Replayed)), 2);
        assert_eq!(count(&text(&messages, &[], ReasoningProtocol::Replayed)), 0);
        assert_eq!(count(&text(&messages, &[ls()], ReasoningProtocol::None)), 0);
    }

    #[test]
    fn names_and_empty_answers_are_made_acceptable() {
        let empty = Message::Assistant(AssistantMessage::default());
        let messages = [user("hi"), empty, calling("functions.ls é", ""), result()];
        let body = text(&messages, &[], ReasoningProtocol::Auto);
        assert!(body.contains("\"functions_ls__\""), "{body}");
        assert_eq!(body.matches("assistant").count(), 1);
        assert_eq!(legal_name(""), "unknown");
        assert_eq!(legal_name(&"x".repeat(99)).len(), 64);
    }
}
