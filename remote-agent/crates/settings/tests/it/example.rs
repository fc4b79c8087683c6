//! `reasonix.example.toml` says all and only what is true.

use std::{collections::BTreeMap, path::Path};

use settings::{
    Settings, keys, reference_markdown,
    schema::{Kind, Use},
};

use crate::support::Fixture;

fn example() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../reasonix.example.toml");
    std::fs::read_to_string(path).unwrap()
}

/// The example with every setting in force: a `#` that no blank follows is removed.
fn complete() -> String {
    let line = |line: &str| match line.strip_prefix('#') {
        Some(setting) if !setting.is_empty() && !setting.starts_with(' ') => setting.to_owned(),
        _ => line.to_owned(),
    };
    example().lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Finds a key in the example; any entry of a list or of a table of tables will do.
fn find<'a>(value: &'a toml::Value, path: &str) -> Option<&'a toml::Value> {
    let (part, rest) = path
        .split_once('.')
        .map_or((path, None), |(part, rest)| (part, Some(rest)));
    let inner: Vec<&toml::Value> = match (part, value) {
        ("<name>", toml::Value::Table(entries)) => entries.values().collect(),
        (_, toml::Value::Table(entries)) => match entries.get(part.trim_end_matches("[]"))? {
            toml::Value::Array(items) if part.ends_with("[]") => items.iter().collect(),
            other => vec![other],
        },
        _ => return None,
    };
    match rest {
        Some(rest) => inner.into_iter().find_map(|value| find(value, rest)),
        None => inner.into_iter().next(),
    }
}

#[test]
fn as_it_stands_it_changes_nothing() {
    let fixture = Fixture::new().user(&example());
    assert_eq!(fixture.warnings(), Vec::<String>::new());
    assert_eq!(fixture.load().settings, Fixture::new().load().settings);
}

#[test]
fn with_every_setting_in_force_it_is_valid() {
    let fixture = Fixture::new().user(&complete());
    fixture
        .sources
        .home
        .as_ref()
        .map(|home| std::fs::write(home.join("persona.md"), "x").unwrap())
        .unwrap();
    assert_eq!(fixture.warnings(), Vec::<String>::new());
}

#[test]
fn every_key_occurs_with_its_default() {
    let example: toml::Value = complete().parse::<toml::Table>().unwrap().into();
    let defaults = toml::Value::try_from(Settings::default()).unwrap();
    let mut missing = Vec::new();
    for entry in keys()
        .into_iter()
        .filter(|entry| entry.key.doc_text() != "Retired.")
    {
        let Some(value) = find(&example, &entry.path) else {
            missing.push(entry.path);
            continue;
        };
        if let Some(default) = find(&defaults, &entry.path).filter(|_| entry.used == Use::Now) {
            assert_eq!(value, default, "{}", entry.path);
        }
    }
    assert!(missing.is_empty(), "add to reasonix.example.toml: {missing:#?}");
}

#[test]
fn structs_and_key_lists_agree() {
    let keys = keys();
    let used: BTreeMap<&str, &Kind> = keys
        .iter()
        .filter(|e| e.used == Use::Now)
        .map(|e| (e.path.as_str(), &e.key.kind))
        .collect();
    let mut fields = Vec::new();
    leaves(
        &toml::Value::try_from(Settings::default()).unwrap(),
        "",
        &mut fields,
    );
    for field in fields {
        assert!(
            used.contains_key(field.as_str()) || used.keys().any(|key| key.starts_with(&format!("{field}["))),
            "{field}"
        );
    }
    for entry in &keys {
        assert!(!entry.key.doc_text().is_empty(), "{} has no meaning", entry.path);
    }
}

fn leaves(value: &toml::Value, path: &str, found: &mut Vec<String>) {
    match value {
        toml::Value::Table(entries) => {
            for (name, value) in entries {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                leaves(value, &path, found);
            }
        }
        _ => found.push(path.to_owned()),
    }
}

#[test]
fn the_reference_lists_every_key() {
    let reference = reference_markdown();
    for entry in keys() {
        assert!(reference.contains(&format!("`{}`", entry.path)), "{}", entry.path);
    }
    assert!(reference.contains(
        "| `sandbox.bash` | `off`, `enforce` | `\"enforce\"` | stricter | Whether commands are confined"
    ));
    assert!(
        reference.contains("| `remote.hosts[].port` | whole number, 1 to 65535 | – | no |"),
        "{reference}"
    );
}
