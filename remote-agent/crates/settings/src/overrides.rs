//! Variables and flags as layers above the files.

use std::collections::BTreeMap;

use crate::{
    check::read_text,
    error::Problem,
    node::{Node, Origin, Value},
    schema::{KeyEntry, Kind, Use, keys},
};

/// Short names of variables, beside the one that each key has by its path.
const SHORT: [(&str, &str); 3] = [
    ("REASONIX_MODEL", "default_model"),
    ("REASONIX_LANG", "language"),
    ("REASONIX_PERMISSION_MODE", "permissions.preset"),
];

/// A value from the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The flag as typed, such as `--model`.
    pub name: String,
    /// The key that it sets, such as `default_model`.
    pub key: String,
    /// The value as typed.
    pub value: String,
}

/// Gives the variable for a key: `agent.temperature` is `REASONIX_AGENT_TEMPERATURE`.
#[must_use]
pub fn variable_for(key: &str) -> String {
    format!("REASONIX_{}", key.replace('.', "_").to_uppercase())
}

/// Reads the variables that set a key. Lists, tables and secrets cannot be set this way; other variables are not
/// ours to judge.
pub(crate) fn from_environment(environment: &BTreeMap<String, String>, problems: &mut Vec<Problem>) -> Node {
    let mut layer = Node::empty_table();
    for entry in keys().iter().filter(|entry| is_settable(entry)) {
        let short = SHORT
            .iter()
            .find(|(_, key)| *key == entry.path)
            .map(|(name, _)| (*name).to_owned());
        let names = [Some(variable_for(&entry.path)), short];
        let Some((name, value)) = names.into_iter().flatten().find_map(|name| {
            let value = environment.get(&name).filter(|value| !value.is_empty())?;
            Some((name, value))
        }) else {
            continue;
        };
        match read_text(value, entry.key, &entry.path, &Origin::Environment(name)) {
            Ok(node) => insert(&mut layer, &entry.path, node),
            Err(problem) => problems.push(problem),
        }
    }
    layer
}

/// Reads flags. A flag for a key that does not exist is a fault of the program, reported as a problem all the same.
pub(crate) fn from_flags(flags: &[Flag], problems: &mut Vec<Problem>) -> Node {
    let mut layer = Node::empty_table();
    let all = keys();
    for flag in flags {
        let origin = Origin::Flag(flag.name.clone());
        let Some(entry) = all
            .iter()
            .find(|entry| entry.path == flag.key && is_settable(entry))
        else {
            let message = "no flag can set this key".to_owned();
            problems.push(Problem {
                origin,
                key: flag.key.clone(),
                message,
                hint: None,
            });
            continue;
        };
        match read_text(&flag.value, entry.key, &entry.path, &origin) {
            Ok(node) => insert(&mut layer, &entry.path, node),
            Err(problem) => problems.push(problem),
        }
    }
    layer
}

fn is_settable(entry: &KeyEntry) -> bool {
    let scalar = matches!(
        entry.key.kind,
        Kind::Bool | Kind::Integer(..) | Kind::Float(..) | Kind::Text | Kind::Duration | Kind::Choice(..)
    );
    scalar && entry.used == Use::Now && !entry.path.contains(['[', '<'])
}

fn insert(layer: &mut Node, path: &str, node: Node) {
    let mut target = layer;
    let (tables, name) = path.rsplit_once('.').unwrap_or(("", path));
    for table in tables.split('.').filter(|table| !table.is_empty()) {
        let Some(entries) = target.table_mut() else { return };
        target = entries.entry(table.to_owned()).or_insert_with(Node::empty_table);
    }
    if let Value::Table(entries) = &mut target.value {
        entries.insert(name.to_owned(), node);
    }
}
