//! What a call's arguments say to a person.

use richtext::safe_line;
use serde_json::{Map, Value};

/// The longest value of one argument that is shown, in characters.
const MAX_VALUE: usize = 80;
/// What a tool acts on is in one of these, the most telling first.
const SUBJECTS: [&str; 6] = ["command", "pattern", "path", "file_path", "url", "query"];

/// The arguments of a call. Anything may be missing: the model wrote them.
#[derive(Debug)]
pub(super) struct Arguments {
    fields: Map<String, Value>,
    /// The text, where it is no JSON object.
    raw: String,
}

/// One replacement.
pub(super) struct Edit<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
}

impl Arguments {
    pub(super) fn parse(json: &str) -> Self {
        match serde_json::from_str(json) {
            Ok(Value::Object(fields)) => Self {
                fields,
                raw: String::new(),
            },
            _ => Self {
                fields: Map::new(),
                raw: json.to_owned(),
            },
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name)?.as_str()
    }

    pub(super) fn path(&self) -> Option<&str> {
        self.text("path").or_else(|| self.text("file_path"))
    }

    /// Gives the replacements of an edit.
    pub(super) fn edits(&self) -> Vec<Edit<'_>> {
        fn edit(fields: &Map<String, Value>) -> Option<Edit<'_>> {
            let text = |name| fields.get(name).and_then(Value::as_str);
            Some(Edit {
                old: text("old_string")?,
                new: text("new_string")?,
            })
        }
        match self.fields.get("edits").and_then(Value::as_array) {
            Some(edits) => edits
                .iter()
                .filter_map(Value::as_object)
                .filter_map(edit)
                .collect(),
            None => edit(&self.fields).into_iter().collect(),
        }
    }

    /// Gives what the call acts on, in one line.
    pub(super) fn subject(&self) -> String {
        let named = SUBJECTS.iter().find_map(|name| self.text(name));
        match (named, self.text("pattern"), self.path()) {
            (_, Some(pattern), Some(path)) => format!("{} in {}", safe_line(pattern), safe_line(path)),
            (Some(subject), _, _) => safe_line(subject),
            (None, _, _) => self.questions().unwrap_or_else(|| self.compact()),
        }
    }

    /// Gives what a person is asked.
    fn questions(&self) -> Option<String> {
        let questions = self.fields.get("questions")?.as_array()?;
        let texts: Vec<_> = questions
            .iter()
            .filter_map(|question| question.get("question")?.as_str())
            .map(safe_line)
            .collect();
        (!texts.is_empty()).then(|| texts.join(" "))
    }

    /// Gives all of it in one line, long values cut.
    fn compact(&self) -> String {
        if self.fields.is_empty() {
            return safe_line(&self.raw);
        }
        let field = |(name, value): (&String, &Value)| {
            let value = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let cut: String = value.chars().take(MAX_VALUE).collect();
            let more = if cut.len() < value.len() { "…" } else { "" };
            safe_line(&format!("{name}={cut}{more}"))
        };
        self.fields.iter().map(field).collect::<Vec<_>>().join(" ")
    }
}
