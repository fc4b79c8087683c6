//! A file's values with the place of each.

use std::{
    collections::BTreeMap,
    fmt,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use toml::de::{DeTable, DeValue};

use crate::error::Problem;

/// A place in a file. Lines and columns start at 1; columns count characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file.
    pub path: Arc<PathBuf>,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A file.
    File(Place),
    /// An environment variable of this name.
    Environment(String),
    /// A command-line flag, such as `--model`.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(place) => write!(f, "{}:{}:{}", place.path.display(), place.line, place.column),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// The place of its key, or of the value itself inside a list.
    pub origin: Origin,
}

/// A TOML value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction or exponent.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// A list.
    List(Vec<Node>),
    /// A table.
    Table(BTreeMap<String, Node>),
    /// A date, a time, or a number beyond 64 bits: no setting is one.
    Other(String),
}

impl Value {
    /// Names the type with its article.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Bool(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other(_) => "a date, a time or too large a number",
        }
    }
}

impl Node {
    pub(crate) fn empty_table() -> Self {
        Self {
            value: Value::Table(BTreeMap::new()),
            origin: Origin::Default,
        }
    }

    pub(crate) fn table(&self) -> Option<&BTreeMap<String, Self>> {
        match &self.value {
            Value::Table(entries) => Some(entries),
            _ => None,
        }
    }

    pub(crate) fn table_mut(&mut self) -> Option<&mut BTreeMap<String, Self>> {
        match &mut self.value {
            Value::Table(entries) => Some(entries),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Finds a value by a key such as `agent.temperature`, `permissions.deny[1]`, `remote.hosts[0].port` or, for
    /// tables with a `name`, `remote.hosts.lab.port`.
    pub(crate) fn find(&self, key: &str) -> Option<&Self> {
        let mut node = self;
        let mut rest = key;
        while !rest.is_empty() {
            let split = rest.find(['.', '[']).filter(|at| *at > 0);
            let (part, behind) = match rest.strip_prefix('[') {
                Some(inner) => inner.split_once(']')?,
                None => split.map_or((rest, ""), |at| rest.split_at(at)),
            };
            node = node.child(part)?;
            rest = behind.strip_prefix('.').unwrap_or(behind);
        }
        Some(node)
    }

    fn child(&self, part: &str) -> Option<&Self> {
        match &self.value {
            Value::Table(entries) => entries.get(part),
            Value::List(items) => match part.parse::<usize>() {
                Ok(index) => items.get(index),
                Err(_) => items
                    .iter()
                    .find(|item| item.child("name").and_then(Self::text) == Some(part)),
            },
            _ => None,
        }
    }

    /// Gives the value without its places. An empty text means that nothing is set, so it is left out of tables.
    pub(crate) fn to_toml(&self) -> toml::Value {
        match &self.value {
            Value::Text(text) | Value::Other(text) => toml::Value::String(text.clone()),
            Value::Integer(number) => toml::Value::Integer(*number),
            Value::Float(number) => toml::Value::Float(*number),
            Value::Bool(on) => toml::Value::Boolean(*on),
            Value::List(items) => toml::Value::Array(items.iter().map(Self::to_toml).collect()),
            Value::Table(entries) => {
                let set = entries.iter().filter(|(_, node)| node.text() != Some(""));
                toml::Value::Table(set.map(|(key, node)| (key.clone(), node.to_toml())).collect())
            }
        }
    }
}

/// Reads a file's text.
///
/// # Errors
/// The first syntax error, with its place.
pub fn parse(text: &str, path: &Path) -> Result<Node, Problem> {
    let lines = Lines::new(text, path);
    match DeTable::parse(text) {
        Ok(table) => Ok(Node {
            value: lines.table(table.get_ref()),
            origin: lines.origin(&table.span()),
        }),
        Err(error) => Err(Problem {
            origin: lines.origin(&error.span().unwrap_or_default()),
            key: String::new(),
            message: format!("this is not TOML: {}", error.message().trim().replace('\n', ", ")),
            hint: Some("correct the line; texts stand in quotes, lists in [ ]".to_owned()),
        }),
    }
}

/// Turns byte positions into places.
struct Lines<'a> {
    text: &'a str,
    path: Arc<PathBuf>,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str, path: &Path) -> Self {
        let starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        Self {
            text,
            path: Arc::new(path.to_owned()),
            starts,
        }
    }

    fn origin(&self, span: &Range<usize>) -> Origin {
        let line = self.starts.partition_point(|start| *start <= span.start).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or_default();
        let column = self
            .text
            .get(start..span.start)
            .map_or(0, |before| before.chars().count())
            + 1;
        Origin::File(Place {
            path: Arc::clone(&self.path),
            line,
            column,
        })
    }

    fn table(&self, table: &DeTable<'_>) -> Value {
        let entries = table.iter().map(|(key, value)| {
            let node = Node {
                value: self.value(value.get_ref()),
                origin: self.origin(&key.span()),
            };
            (key.get_ref().to_string(), node)
        });
        Value::Table(entries.collect())
    }

    fn value(&self, value: &DeValue<'_>) -> Value {
        match value {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Boolean(on) => Value::Bool(*on),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or_else(|_| Value::Other(number.as_str().to_owned()), Value::Integer),
            DeValue::Float(number) => number
                .as_str()
                .parse()
                .map_or_else(|_| Value::Other(number.as_str().to_owned()), Value::Float),
            DeValue::Datetime(time) => Value::Other(time.to_string()),
            DeValue::Array(items) => {
                let node = |item: &toml::Spanned<DeValue<'_>>| Node {
                    value: self.value(item.get_ref()),
                    origin: self.origin(&item.span()),
                };
                Value::List(items.iter().map(node).collect())
            }
            DeValue::Table(table) => self.table(table),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Node {
        parse(text, Path::new("f.toml")).unwrap()
    }

    #[test]
    fn every_value_has_the_place_of_its_key() {
        let node = parsed("a = 1\n[t]\n  'é' = 'x'\nl = [\n 1, 2]\n[[h]]\nname = 'lab'\nport = 2\n");
        for (key, place) in [
            ("a", "1:1"),
            ("t.é", "3:3"),
            ("t.l", "4:1"),
            ("t.l[1]", "5:5"),
            ("h[0].port", "8:1"),
            ("h.lab.port", "8:1"),
        ] {
            assert_eq!(
                node.find(key).unwrap().origin.to_string(),
                format!("f.toml:{place}"),
                "{key}"
            );
        }
        for key in ["b", "a.b", "t.l[2]", "h[", "h[0", "h..x", "[", "h.other.port"] {
            assert_eq!(node.find(key), None, "{key}");
        }
    }

    #[test]
    fn syntax_errors_have_a_place() {
        for (text, place) in [
            ("a = 1\nb = \n", "2:5"),
            ("a = 1\n a = 2", "2:2"),
            ("[x\n", "1:3"),
            ("'é' = é", "1:7"),
        ] {
            let problem = parse(text, Path::new("f.toml")).unwrap_err();
            assert_eq!(
                problem.origin.to_string(),
                format!("f.toml:{place}"),
                "{text:?}: {problem}"
            );
        }
    }
}
