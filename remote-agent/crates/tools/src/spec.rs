//! Building what the model is told about a tool, in the same bytes always.

use conversation::ToolSpec;
use serde_json::{Map, Value, json};

/// One parameter of a tool.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) required: bool,
    pub(crate) schema: Value,
}

/// Makes a required text parameter.
pub(crate) fn text(name: &'static str, description: &str) -> Parameter {
    Parameter {
        name,
        required: true,
        schema: json!({"type": "string", "description": description}),
    }
}

/// Makes a parameter optional.
pub(crate) fn optional(parameter: Parameter) -> Parameter {
    Parameter {
        required: false,
        ..parameter
    }
}

/// Makes an optional whole number parameter with bounds.
pub(crate) fn whole(name: &'static str, description: &str, minimum: u64, maximum: Option<u64>) -> Parameter {
    let mut schema = json!({"type": "integer", "description": description, "minimum": minimum});
    if let Some(maximum) = maximum {
        schema["maximum"] = maximum.into();
    }
    Parameter {
        name,
        required: false,
        schema,
    }
}

/// Makes an optional parameter with named values.
pub(crate) fn choice(name: &'static str, description: &str, values: &[&str]) -> Parameter {
    let schema = json!({"type": "string", "description": description, "enum": values});
    Parameter {
        name,
        required: false,
        schema,
    }
}

/// Makes an optional yes-or-no parameter.
pub(crate) fn flag(name: &'static str, description: &str) -> Parameter {
    Parameter {
        name,
        required: false,
        schema: json!({"type": "boolean", "description": description}),
    }
}

/// Puts a tool's description together.
pub(crate) fn spec(
    name: &str,
    description: &str,
    parameters: impl IntoIterator<Item = Parameter>,
) -> ToolSpec {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for parameter in parameters {
        if parameter.required {
            required.push(Value::from(parameter.name));
        }
        properties.insert(parameter.name.to_owned(), parameter.schema);
    }
    let schema = json!({"type": "object", "properties": properties, "required": required});
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: canonical(schema),
    }
}

/// Sorts all keys and the lists called `required`, so that equal schemas have equal bytes.
pub(crate) fn canonical(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map
                .into_iter()
                .map(|(key, value)| {
                    let mut value = canonical(value);
                    if let ("required", Value::Array(names)) = (key.as_str(), &mut value) {
                        names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
                    }
                    (key, value)
                })
                .collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(canonical).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_schemas_have_equal_bytes() {
        let a = spec("t", "d", [text("b", "x"), text("a", "y"), flag("c", "z")]);
        let b = spec("t", "d", [flag("c", "z"), text("a", "y"), text("b", "x")]);
        assert_eq!(a.schema.to_string(), b.schema.to_string());
        assert!(
            a.schema
                .to_string()
                .ends_with(r#""required":["a","b"],"type":"object"}"#)
        );
    }
}
