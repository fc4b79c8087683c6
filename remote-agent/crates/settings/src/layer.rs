//! Putting layers on top of each other, and saying which one a value came from.

use std::collections::BTreeMap;

use crate::{
    node::{Node, Origin, Value},
    schema::{Keys, Kind, Scope, Settings},
};

/// A value with its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The key.
    pub key: String,
    /// The value as TOML; `***` for a secret, `unset` where there is none.
    pub value: String,
    /// Where it came from.
    pub origin: Origin,
    /// The values it hides, strongest first.
    pub hidden: Vec<(String, Origin)>,
}

/// Puts `over` on top of `base`. Tables merge, lists of scope `Adds` grow, everything else is replaced.
pub fn merge(base: &mut Node, over: Node, keys: &Keys) {
    let Value::Table(entries) = over.value else { return };
    let Some(target) = base.table_mut() else { return };
    for (name, node) in entries {
        let key = keys.find(&name).map(|(key, _)| key);
        let inner = key.and_then(|key| {
            if let Kind::Table(inner) = key.kind {
                Some(inner)
            } else {
                None
            }
        });
        let adds = key.is_some_and(|key| key.scope == Scope::Adds);
        match (target.get_mut(&name), inner) {
            (Some(existing), Some(inner)) => merge(existing, node, inner),
            (Some(existing), None) if adds => append(existing, node),
            _ => {
                target.insert(name, node);
            }
        }
    }
}

fn append(existing: &mut Node, more: Node) {
    if let (Value::List(list), Value::List(items)) = (&mut existing.value, more.value) {
        list.extend(items);
    }
}

/// Gives the default of every key that has one.
pub(crate) fn defaults() -> Node {
    let value = toml::Value::try_from(Settings::default()).unwrap_or(toml::Value::Table(toml::Table::new()));
    from_toml(value)
}

fn from_toml(value: toml::Value) -> Node {
    let value = match value {
        toml::Value::String(text) => Value::Text(text),
        toml::Value::Integer(number) => Value::Integer(number),
        toml::Value::Float(number) => Value::Float(number),
        toml::Value::Boolean(on) => Value::Bool(on),
        toml::Value::Datetime(time) => Value::Other(time.to_string()),
        toml::Value::Array(items) => Value::List(items.into_iter().map(from_toml).collect()),
        toml::Value::Table(entries) => {
            let entries: BTreeMap<String, Node> = entries
                .into_iter()
                .map(|(key, value)| (key, from_toml(value)))
                .collect();
            Value::Table(entries)
        }
    };
    Node {
        value,
        origin: Origin::Default,
    }
}

/// Finds the type of the value under `path`, in which tables of a list are named by number or name.
pub(crate) fn kind_of(path: &str) -> Option<Kind> {
    let mut kind = Kind::Table(&Settings::KEYS);
    let mut parts = path
        .split(['.', '['])
        .map(|part| part.trim_end_matches(']'))
        .filter(|part| !part.is_empty());
    while let Some(part) = parts.next() {
        kind = match kind {
            Kind::Table(keys) => keys.find(part)?.0.kind,
            Kind::Tables(keys, _) | Kind::TableMap(keys) => Kind::Table(keys),
            Kind::TextMap | Kind::TextList => Kind::Text,
            Kind::Anything => {
                // Whatever is inside is nobody's business here.
                parts.by_ref().for_each(drop);
                Kind::Anything
            }
            _ => return None,
        };
    }
    Some(kind)
}

/// Shows a value, without the secrets in it.
pub(crate) fn show(node: &Node, kind: Kind) -> String {
    let mut value = node.to_toml();
    hide(&mut value, kind);
    value.to_string()
}

fn hide(value: &mut toml::Value, kind: Kind) {
    match (kind, value) {
        (Kind::Secret, value) => *value = toml::Value::String("***".to_owned()),
        // Headers and the like often carry keys.
        (Kind::TextMap | Kind::Anything, toml::Value::Table(entries)) => {
            for (_, value) in entries.iter_mut() {
                *value = toml::Value::String("***".to_owned());
            }
        }
        (Kind::Anything, value) => *value = toml::Value::String("***".to_owned()),
        (Kind::Table(keys), toml::Value::Table(entries)) => {
            for (name, value) in entries.iter_mut() {
                hide(value, keys.find(name).map_or(Kind::Anything, |(key, _)| key.kind));
            }
        }
        (Kind::TableMap(keys), toml::Value::Table(entries)) => {
            entries
                .iter_mut()
                .for_each(|(_, value)| hide(value, Kind::Table(keys)));
        }
        (Kind::Tables(keys, _), toml::Value::Array(items)) => {
            items.iter_mut().for_each(|value| hide(value, Kind::Table(keys)));
        }
        _ => {}
    }
}
