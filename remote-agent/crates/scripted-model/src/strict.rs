//! The refusals of a strict vendor.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::record::role;

/// What the server says to `reasoning_content` in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningRule {
    /// It may be there or not.
    #[default]
    Ignored,
    /// Every assistant message with tool calls must have it.
    Required,
    /// No message may have it.
    Refused,
}

/// Checks a request as the strictest vendors do.
///
/// # Errors
/// The vendor's text for a 400.
pub(crate) fn check(body: &Value, reasoning: ReasoningRule) -> Result<(), String> {
    if body
        .get("model")
        .and_then(Value::as_str)
        .is_none_or(str::is_empty)
    {
        return Err("you must provide a model parameter".to_owned());
    }
    check_tools(body.get("tools"))?;
    let Some(messages) = body
        .get("messages")
        .and_then(Value::as_array)
        .filter(|list| !list.is_empty())
    else {
        return Err("[] is too short - 'messages'".to_owned());
    };
    check_messages(messages)?;
    for (at, message) in messages.iter().enumerate() {
        check_reasoning(at, message, reasoning)?;
    }
    Ok(())
}

fn check_tools(tools: Option<&Value>) -> Result<(), String> {
    let Some(tools) = tools else { return Ok(()) };
    let Some(tools) = tools.as_array().filter(|list| !list.is_empty()) else {
        return Err("[] is too short - 'tools'".to_owned());
    };
    let mut seen = BTreeSet::new();
    for (at, tool) in tools.iter().enumerate() {
        let name = tool
            .pointer("/function/name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        check_name(name, &format!("tools[{at}].function.name"))?;
        if !seen.insert(name) {
            return Err(format!("tools[{at}].function.name: '{name}' is there twice"));
        }
        if !tool.pointer("/function/parameters").is_some_and(Value::is_object) {
            return Err(format!("tools[{at}].function.parameters: is not a schema"));
        }
    }
    Ok(())
}

/// Walks the messages and checks that every call is answered, at once and once.
fn check_messages(messages: &[Value]) -> Result<(), String> {
    let mut waiting: BTreeSet<&str> = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        let role = role(message);
        if role == "tool" {
            let id = message
                .get("tool_call_id")
                .and_then(Value::as_str)
                .unwrap_or_default();
            if !waiting.remove(id) {
                return Err(format!(
                    "messages[{at}]: messages with role 'tool' must be a response to a preceding message with \
                     'tool_calls' ('{id}' is not waiting)"
                ));
            }
            if !message
                .get("content")
                .is_some_and(|content| content.is_string() || content.is_array())
            {
                return Err(format!("messages[{at}].content: is missing"));
            }
            continue;
        }
        if let Some(id) = waiting.first() {
            return Err(format!(
                "messages[{at}]: an assistant message with 'tool_calls' must be followed by tool messages responding \
                 to each 'tool_call_id' ('{id}' has no response)"
            ));
        }
        match role {
            "assistant" => waiting = check_assistant(at, message)?,
            "system" | "user" | "developer" => check_content(at, message)?,
            other => return Err(format!("messages[{at}].role: '{other}' is not a role")),
        }
    }
    waiting
        .first()
        .map_or(Ok(()), |id| Err(format!("the call '{id}' has no response")))
}

fn check_content(at: usize, message: &Value) -> Result<(), String> {
    match message.get("content") {
        Some(Value::String(_) | Value::Array(_)) => Ok(()),
        _ => Err(format!("messages[{at}].content: expected a string")),
    }
}

fn check_assistant(at: usize, message: &Value) -> Result<BTreeSet<&str>, String> {
    let Some(calls) = message.get("tool_calls") else {
        check_content(at, message)?;
        return Ok(BTreeSet::new());
    };
    let Some(calls) = calls.as_array().filter(|list| !list.is_empty()) else {
        return Err(format!("messages[{at}].tool_calls: [] is too short"));
    };
    let mut ids = BTreeSet::new();
    for (number, call) in calls.iter().enumerate() {
        let path = format!("messages[{at}].tool_calls[{number}]");
        let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
        if id.is_empty() || !ids.insert(id) {
            return Err(format!("{path}.id: '{id}' is empty or there twice"));
        }
        if call.get("type").and_then(Value::as_str) != Some("function") {
            return Err(format!("{path}.type: expected 'function'"));
        }
        let name = call
            .pointer("/function/name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        check_name(name, &format!("{path}.function.name"))?;
        let arguments = call
            .pointer("/function/arguments")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if !serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object()) {
            return Err(format!("{path}.function.arguments: is not a JSON object"));
        }
    }
    Ok(ids)
}

fn check_name(name: &str, path: &str) -> Result<(), String> {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(good) {
        return Err(format!(
            "{path}: '{name}' does not match '^[a-zA-Z0-9_-]{{1,64}}$'"
        ));
    }
    Ok(())
}

fn check_reasoning(at: usize, message: &Value, rule: ReasoningRule) -> Result<(), String> {
    let given = message.get("reasoning_content");
    match rule {
        ReasoningRule::Required
            if message.get("tool_calls").is_some() && !given.is_some_and(Value::is_string) =>
        {
            Err(format!(
                "messages[{at}]: the reasoning_content in the thinking mode must be passed back"
            ))
        }
        ReasoningRule::Refused if given.is_some() => {
            Err(format!("messages[{at}].reasoning_content: unknown field"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: &str, name: &str, arguments: &str) -> Value {
        json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]})
    }

    fn answer(id: &str) -> Value {
        json!({"role": "tool", "tool_call_id": id, "content": "ok"})
    }

    fn verdict(messages: &[Value], rule: ReasoningRule) -> Result<(), String> {
        check(&json!({"model": "m", "messages": messages}), rule)
    }

    #[test]
    fn refuses_what_vendors_refuse() {
        let user = json!({"role": "user", "content": "hi"});
        let refused = |messages: &[Value], part: &str| {
            let error = verdict(messages, ReasoningRule::Ignored).expect_err(part);
            assert!(error.contains(part), "{error} lacks {part}");
        };
        refused(&[], "too short");
        refused(&[user.clone(), answer("a")], "not waiting");
        refused(&[user.clone(), call("a", "ls", "{}")], "no response");
        refused(
            &[user.clone(), call("a", "ls", "{}"), user.clone()],
            "no response",
        );
        refused(
            &[user.clone(), call("a", "ls", "{}"), answer("a"), answer("a")],
            "not waiting",
        );
        refused(
            &[user.clone(), call("a", "l s", "{}"), answer("a")],
            "does not match",
        );
        refused(
            &[user.clone(), call("a", "ls", "{"), answer("a")],
            "not a JSON object",
        );
        refused(&[user.clone(), call("", "ls", "{}"), answer("")], "is empty");
        refused(&[json!({"role": "robot", "content": "x"})], "not a role");
        verdict(
            &[user.clone(), call("a", "ls", "{}"), answer("a"), user],
            ReasoningRule::Ignored,
        )
        .unwrap();
    }

    #[test]
    fn refuses_bad_tools() {
        let with = |tools: Value| {
            check(
                &json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": tools}),
                ReasoningRule::Ignored,
            )
        };
        let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
        assert!(with(json!([])).is_err());
        assert!(with(json!([tool("a b")])).is_err());
        assert!(with(json!([tool("a"), tool("a")])).is_err());
        assert!(with(json!([{"type": "function", "function": {"name": "a"}}])).is_err());
        assert!(with(json!([tool("a"), tool("b")])).is_ok());
    }

    #[test]
    fn reasoning_is_required_or_refused() {
        let bare = [call("a", "ls", "{}"), answer("a")];
        let mut with = bare.clone();
        with[0]["reasoning_content"] = json!("");
        assert!(verdict(&bare, ReasoningRule::Required).is_err());
        assert!(verdict(&with, ReasoningRule::Required).is_ok());
        assert!(verdict(&bare, ReasoningRule::Refused).is_ok());
        assert!(verdict(&with, ReasoningRule::Refused).is_err());
    }
}
