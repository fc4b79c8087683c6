//! Checking arguments against a tool's schema, and telling a model how to repair them.
//!
//! Only the part of JSON Schema that the tools use is known. Unknown members are dropped and obvious spellings are
//! taken as meant (`"10"` for 10, `null` for an absent optional), since sending them back costs a whole request.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use stdx::bounded::prefix;

use conversation::ToolSpec;

/// The longest advice, in bytes.
const MAX_ADVICE: usize = 4 * 1024;

/// Gives the arguments as the tool expects them.
///
/// # Errors
/// The text for the model: what is wrong, where, and what would be right.
pub(crate) fn validate(spec: &ToolSpec, raw: &str) -> Result<Value, String> {
    let mut problems = Vec::new();
    // No arguments at all is how some models call a tool without required ones.
    let raw = if raw.trim().is_empty() { "{}" } else { raw };
    let value = match serde_json::from_str::<Value>(raw) {
        Ok(Value::Object(members)) => object(&spec.schema, members, "", &mut problems),
        Ok(other) => {
            problems.push(format!("- /: type; expected an object, got {}", kind(&other)));
            Value::Null
        }
        Err(error) => {
            problems.push(format!("- /: json; expected one valid JSON object ({error})"));
            Value::Null
        }
    };
    if problems.is_empty() {
        Ok(value)
    } else {
        Err(advice(spec, &problems))
    }
}

/// Gives the first 12 hex digits of the schema's hash: equal for equal schemas.
fn fingerprint(spec: &ToolSpec) -> String {
    let hash = Sha256::digest(spec.schema.to_string());
    hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

fn advice(spec: &ToolSpec, problems: &[String]) -> String {
    let name = &spec.name;
    let text = format!(
        "argument validation failed for \"{name}\" (schema fingerprint {}; remote_dispatched=false):\n{}\n\
         Nothing was executed. Call {name} again with one JSON object that matches this schema: {}",
        fingerprint(spec),
        problems.join("\n"),
        spec.schema
    );
    if text.len() <= MAX_ADVICE {
        return text;
    }
    format!("{}…", prefix(&text, MAX_ADVICE - '…'.len_utf8()))
}

fn object(schema: &Value, mut members: Map<String, Value>, at: &str, problems: &mut Vec<String>) -> Value {
    let empty = Map::new();
    let properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let required: Vec<_> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .collect();
    let is_required = |name: &str| required.iter().any(|required| required.as_str() == Some(name));
    members.retain(|name, value| properties.contains_key(name) && (!value.is_null() || is_required(name)));
    let missing: Vec<_> = required
        .iter()
        .filter_map(|name| name.as_str())
        .filter(|name| !members.contains_key(*name))
        .collect();
    if !missing.is_empty() {
        let at = if at.is_empty() { "/" } else { at };
        problems.push(format!(
            "- {at}: required; expected required properties: {}",
            missing.join(", ")
        ));
    }
    let checked = members.into_iter().map(|(name, value)| {
        let at = format!("{at}/{name}");
        let value = check(
            properties.get(&name).unwrap_or(&Value::Null),
            value,
            &at,
            problems,
        );
        (name, value)
    });
    Value::Object(checked.collect())
}

fn check(schema: &Value, value: Value, at: &str, problems: &mut Vec<String>) -> Value {
    let wanted = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    let value = meant(wanted, value);
    let fits = match wanted {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    };
    if !fits {
        problems.push(format!("- {at}: type; expected {wanted}, got {}", kind(&value)));
        return value;
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(&value)
    {
        problems.push(format!(
            "- {at}: enum; expected one of {}",
            Value::from(allowed.clone())
        ));
    }
    if let Some(number) = value.as_i64() {
        for (bound, outside) in [
            ("minimum", std::cmp::Ordering::Less),
            ("maximum", std::cmp::Ordering::Greater),
        ] {
            if let Some(limit) = schema.get(bound).and_then(Value::as_i64)
                && number.cmp(&limit) == outside
            {
                problems.push(format!("- {at}: {bound}; expected {bound} {limit}, got {number}"));
            }
        }
    }
    length(schema, &value, at, problems);
    match value {
        Value::Object(members) => object(schema, members, at, problems),
        Value::Array(items) => {
            let items_schema = schema.get("items").unwrap_or(&Value::Null);
            let items = items.into_iter().enumerate();
            items
                .map(|(index, item)| check(items_schema, item, &format!("{at}/{index}"), problems))
                .collect()
        }
        other => other,
    }
}

/// Checks how many items a list has.
fn length(schema: &Value, value: &Value, at: &str, problems: &mut Vec<String>) {
    let Some(items) = value.as_array() else { return };
    let limit = |name: &str| schema.get(name).and_then(Value::as_u64);
    let count = items.len() as u64;
    if let Some(least) = limit("minItems").filter(|least| count < *least) {
        problems.push(format!(
            "- {at}: minItems; expected at least {least} items, got {count}"
        ));
    }
    if let Some(most) = limit("maxItems").filter(|most| count > *most) {
        problems.push(format!(
            "- {at}: maxItems; expected at most {most} items, got {count}"
        ));
    }
}

/// Takes a value as the type it was meant to have, where there is no doubt.
fn meant(wanted: &str, value: Value) -> Value {
    match (wanted, &value) {
        ("integer", Value::String(text)) => text.trim().parse::<i64>().map_or(value, Value::from),
        ("integer", Value::Number(number)) => match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "the number is whole and small")]
            Some(float) if !number.is_i64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                Value::from(float as i64)
            }
            _ => value,
        },
        ("boolean", Value::String(text)) => text.trim().parse::<bool>().map_or(value, Value::from),
        _ => value,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::spec::{choice, flag, spec, text, whole};

    fn sample() -> ToolSpec {
        let parameters = [
            text("path", "p"),
            whole("limit", "l", 1, Some(9)),
            choice("mode", "m", &["a", "b"]),
            flag("deep", "d"),
        ];
        spec("sample", "", parameters)
    }

    #[test]
    fn takes_what_is_meant() {
        let check = |raw: &str, want: Value| assert_eq!(validate(&sample(), raw).unwrap(), want, "{raw}");
        check(r#"{"path":"x"}"#, json!({"path": "x"}));
        check(
            r#"{"path":"x","limit":"7","deep":"true"}"#,
            json!({"path": "x", "limit": 7, "deep": true}),
        );
        check(
            r#"{"path":"x","limit":3.0,"mode":null,"extra":1}"#,
            json!({"path": "x", "limit": 3}),
        );
    }

    #[test]
    fn says_what_is_wrong() {
        let check = |raw: &str, want: &str| {
            let advice = validate(&sample(), raw).unwrap_err();
            assert!(advice.contains(want), "{advice}");
            assert!(advice.starts_with("argument validation failed for \"sample\" (schema fingerprint "));
        };
        check("{}", "- /: required; expected required properties: path");
        check("", "- /: required; expected required properties: path");
        check("{\"path\":", "- /: json; expected one valid JSON object");
        check("[]", "- /: type; expected an object, got array");
        check(r#"{"path":null}"#, "- /path: type; expected string, got null");
        check(
            r#"{"path":1,"limit":0}"#,
            "- /limit: minimum; expected minimum 1, got 0",
        );
        check(
            r#"{"path":"x","limit":10}"#,
            "- /limit: maximum; expected maximum 9, got 10",
        );
        check(
            r#"{"path":"x","limit":1.5}"#,
            "- /limit: type; expected integer, got number",
        );
        check(
            r#"{"path":"x","mode":"c"}"#,
            r#"- /mode: enum; expected one of ["a","b"]"#,
        );
        check(
            r#"{"path":"x","deep":"maybe"}"#,
            "- /deep: type; expected boolean, got string",
        );
    }

    #[test]
    fn advice_is_bounded_and_valid() {
        let long = spec("sample", "", [text("p", &"汉".repeat(5000))]);
        let advice = validate(&long, "{}").unwrap_err();
        assert!(advice.len() <= MAX_ADVICE && advice.ends_with('…'));
    }
}
