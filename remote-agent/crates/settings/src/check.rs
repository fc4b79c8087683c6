//! Compares a file with the schema: unknown keys, wrong types, values out of range.
//!
//! Older names and spellings become the current ones here, so that the rest of the program knows only those.

use std::collections::BTreeMap;

use crate::{
    duration,
    error::{Problem, Warning},
    node::{Node, Origin, Value},
    schema::{Key, Keys, Kind, Use, keys},
    suggest::nearest,
};

/// What was found while checking.
#[derive(Debug, Default)]
pub struct Findings {
    /// Values that cannot be used.
    pub problems: Vec<Problem>,
    /// Values that are ignored.
    pub warnings: Vec<Warning>,
}

impl Findings {
    fn problem(&mut self, origin: &Origin, key: &str, message: String, hint: Option<String>) {
        self.problems.push(Problem {
            origin: origin.clone(),
            key: key.to_owned(),
            message,
            hint,
        });
    }
}

/// Checks a whole file and takes out what is unknown.
pub fn check(node: &mut Node, keys: &Keys, findings: &mut Findings) {
    if let Some(entries) = node.table_mut() {
        check_entries(entries, keys, Use::Now, "", findings);
    }
}

fn check_entries(
    entries: &mut BTreeMap<String, Node>,
    keys: &Keys,
    of_table: Use,
    path: &str,
    findings: &mut Findings,
) {
    rename(entries, keys);
    let names: Vec<String> = entries.keys().cloned().collect();
    for name in names {
        let full = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        let Some((key, used)) = keys.find(&name) else {
            if let Some(node) = entries.remove(&name) {
                findings.warnings.push(unknown(&node.origin, &name, &full, keys));
            }
            continue;
        };
        if let Some(node) = entries.get_mut(&name) {
            let used = if of_table == Use::Later { Use::Later } else { used };
            check_value(node, &key.kind, used, &full, findings);
        }
    }
}

/// Gives entries with an older name their current one, unless that is set too.
fn rename(entries: &mut BTreeMap<String, Node>, keys: &Keys) {
    for (key, _) in keys.all() {
        for alias in key.aliases {
            if let Some(node) = entries.remove(*alias) {
                entries.entry(key.name().to_owned()).or_insert(node);
            }
        }
    }
}

fn unknown(origin: &Origin, name: &str, path: &str, known: &Keys) -> Warning {
    let near = nearest(name, known.all().into_iter().map(|(key, _)| key.name()));
    let elsewhere = || {
        let all = keys();
        let entry = all.iter().find(|entry| entry.key.name() == name)?;
        let (table, _) = entry.path.rsplit_once('.')?;
        Some(format!("`{name}` belongs to [{}]", table.replace("[]", "")))
    };
    let hint = near
        .map(|near| format!("did you mean `{near}`?"))
        .or_else(elsewhere);
    Warning {
        origin: origin.clone(),
        key: path.to_owned(),
        message: "unknown key, ignored".to_owned(),
        hint,
    }
}

/// Checks one value and brings it into its usual form.
pub(crate) fn check_value(node: &mut Node, kind: &Kind, used: Use, path: &str, findings: &mut Findings) {
    match kind {
        Kind::Table(keys) => check_table(node, keys, used, path, findings),
        Kind::TableMap(keys) => check_table_map(node, keys, used, path, findings),
        Kind::Tables(keys, required) if used == Use::Now => {
            check_tables(node, keys, required, path, findings);
        }
        _ if used == Use::Later => {}
        Kind::TextMap => match node.table() {
            Some(entries) => {
                for (name, entry) in entries {
                    if entry.text().is_none() {
                        wrong_type(entry, "a text", &format!("{path}.{name}"), findings);
                    }
                }
            }
            None => wrong_type(node, "a table of texts", path, findings),
        },
        Kind::TextList => match &node.value {
            Value::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    if item.text().is_none() {
                        wrong_type(item, "a text", &format!("{path}[{index}]"), findings);
                    }
                }
            }
            _ => wrong_type(node, "a list of texts", path, findings),
        },
        Kind::Tables(..) | Kind::Group(_) | Kind::Anything => {}
        Kind::Bool
        | Kind::Integer(..)
        | Kind::Float(..)
        | Kind::Text
        | Kind::Secret
        | Kind::Duration
        | Kind::Choice(..) => check_scalar(node, kind, path, findings),
    }
}

fn check_table(node: &mut Node, keys: &Keys, used: Use, path: &str, findings: &mut Findings) {
    match &mut node.value {
        Value::Table(entries) => check_entries(entries, keys, used, path, findings),
        _ if used == Use::Later => {}
        _ => wrong_type(node, "a table", path, findings),
    }
}

fn check_table_map(node: &mut Node, keys: &Keys, used: Use, path: &str, findings: &mut Findings) {
    match &mut node.value {
        Value::Table(entries) => {
            for (name, entry) in entries {
                check_table(entry, keys, used, &format!("{path}.{name}"), findings);
            }
        }
        _ if used == Use::Later => {}
        _ => wrong_type(node, "a table", path, findings),
    }
}

fn check_tables(node: &mut Node, keys: &Keys, required: &[&str], path: &str, findings: &mut Findings) {
    let Value::List(items) = &mut node.value else {
        wrong_type(node, "a list of tables", path, findings);
        return;
    };
    let mut seen: BTreeMap<String, Origin> = BTreeMap::new();
    for (index, item) in items.iter_mut().enumerate() {
        let path = format!("{path}[{index}]");
        check_table(item, keys, Use::Now, &path, findings);
        let Some(entries) = item.table() else { continue };
        for names in required {
            let is_set = |name: &str| entries.get(name).is_some_and(|node| node.text() != Some(""));
            if !names.split('|').any(is_set) {
                let names = names.replace('|', "` or `");
                let hint = Some(format!("add `{names}` to this entry"));
                findings.problem(&item.origin, &path, format!("`{names}` is missing"), hint);
            }
        }
        let name = required.first().and_then(|name| entries.get(*name));
        if let Some((name, node)) = name.and_then(|node| Some((node.text()?.to_owned(), node))) {
            if let Some(first) = seen.get(&name) {
                let message = format!("`{name}` is already defined at {first}");
                findings.problem(
                    &node.origin,
                    &path,
                    message,
                    Some("give one of them another name".to_owned()),
                );
            } else {
                seen.insert(name, node.origin.clone());
            }
        }
    }
}

fn check_scalar(node: &mut Node, kind: &Kind, path: &str, findings: &mut Findings) {
    let expected = match (kind, &mut node.value) {
        (Kind::Bool, Value::Bool(_)) | (Kind::Text | Kind::Secret, Value::Text(_)) => return,
        (Kind::Integer(least, most), Value::Integer(number)) => {
            if !(*least..=*most).contains(number) {
                out_of_range(node, &least.to_string(), &most.to_string(), path, findings);
            }
            return;
        }
        (Kind::Float(least, most), Value::Integer(_) | Value::Float(_)) => {
            let number = as_float(&node.value);
            if !(*least..=*most).contains(&number) {
                out_of_range(node, &least.to_string(), &most.to_string(), path, findings);
            }
            return;
        }
        (Kind::Duration, value) => {
            if *value == Value::Integer(0) {
                *value = Value::Text("0".to_owned());
            }
            if node.text().is_some_and(|text| duration::parse(text).is_some()) {
                return;
            }
            let hint = Some("write a number with a unit, such as \"8h\", \"90s\" or \"0\"".to_owned());
            let message = format!("expected a duration, found {}", shown(node, kind));
            findings.problem(&node.origin, path, message, hint);
            return;
        }
        (Kind::Choice(words, older), Value::Text(text)) => {
            if let Some((_, current)) = older.iter().find(|(word, _)| word == text) {
                *text = (*current).to_owned();
            }
            if !words.contains(&text.as_str()) {
                wrong_word(node, words, path, findings);
            }
            return;
        }
        (Kind::Bool, _) => "true or false",
        (Kind::Integer(..), _) => "a whole number",
        (Kind::Float(..), _) => "a number",
        _ => "a text",
    };
    wrong_type(node, expected, path, findings);
}

#[expect(
    clippy::cast_precision_loss,
    reason = "limits are small, and a rounded huge number is still out of range"
)]
fn as_float(value: &Value) -> f64 {
    match value {
        Value::Integer(number) => *number as f64,
        Value::Float(number) => *number,
        _ => f64::NAN,
    }
}

fn wrong_word(node: &Node, words: &[&str], path: &str, findings: &mut Findings) {
    let text = node.text().unwrap_or_default();
    let hint = match nearest(text, words.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("use one of: {}", words.join(", ")),
    };
    let message = format!("expected one of {}, found \"{text}\"", words.join(", "));
    findings.problem(&node.origin, path, message, Some(hint));
}

fn out_of_range(node: &Node, least: &str, most: &str, path: &str, findings: &mut Findings) {
    let message = format!(
        "expected a number from {least} to {most}, found {}",
        shown(node, &Kind::Text)
    );
    let hint = format!("write a number from {least} to {most}, or remove the line");
    findings.problem(&node.origin, path, message, Some(hint));
}

fn wrong_type(node: &Node, expected: &str, path: &str, findings: &mut Findings) {
    let hint = match (&node.value, expected) {
        (Value::Text(text), "true or false" | "a number" | "a whole number") if !text.is_empty() => {
            Some("write it without quotes".to_owned())
        }
        (Value::Text(_), "a list of texts") => Some("write it in brackets: [\"…\"]".to_owned()),
        (Value::Integer(_) | Value::Float(_) | Value::Bool(_), "a text") => {
            Some("write it in quotes".to_owned())
        }
        _ => None,
    };
    let message = format!("expected {expected}, found {}", node.value.type_name());
    findings.problem(&node.origin, path, message, hint);
}

/// Shows a value in a message, unless it may be a secret.
fn shown(node: &Node, kind: &Kind) -> String {
    match (&node.value, kind) {
        (_, Kind::Secret) => "***".to_owned(),
        (Value::Table(_) | Value::List(_), _) => node.value.type_name().to_owned(),
        _ => node.to_toml().to_string(),
    }
}

/// Reads the text of a variable or flag as a value of `key`.
///
/// # Errors
/// What [`check`] would say about the same value in a file.
pub(crate) fn read_text(text: &str, key: &Key, path: &str, origin: &Origin) -> Result<Node, Problem> {
    let value = match key.kind {
        Kind::Bool => match text {
            "true" | "1" | "on" | "yes" => Value::Bool(true),
            "false" | "0" | "off" | "no" => Value::Bool(false),
            _ => Value::Text(text.to_owned()),
        },
        Kind::Integer(..) => text
            .parse()
            .map_or_else(|_| Value::Text(text.to_owned()), Value::Integer),
        Kind::Float(..) => text
            .parse()
            .map_or_else(|_| Value::Text(text.to_owned()), Value::Float),
        _ => Value::Text(text.to_owned()),
    };
    let mut node = Node {
        value,
        origin: origin.clone(),
    };
    let mut findings = Findings::default();
    check_value(&mut node, &key.kind, Use::Now, path, &mut findings);
    match findings.problems.pop() {
        Some(problem) => Err(Problem {
            // What is said about lines and quotes of a file helps nobody here.
            hint: Some("give it another value, or leave it out".to_owned()),
            ..problem
        }),
        None => Ok(node),
    }
}
