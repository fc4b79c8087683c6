//! The reference of all settings, made from the schema.

use std::fmt::Write as _;

use crate::{
    layer::defaults,
    node::Node,
    overrides::variable_for,
    schema::{KeyEntry, Kind, Scope, Use, keys},
};

/// Writes every key with type, default, meaning and what a project file may do with it, as Markdown.
#[must_use]
pub fn reference_markdown() -> String {
    let mut text =
        String::from("| key | type | default | project file | meaning |\n| --- | --- | --- | --- | --- |\n");
    let mut later = String::new();
    let defaults = defaults();
    for entry in keys() {
        if entry.used == Use::Later {
            let separator = if later.is_empty() { "" } else { ", " };
            later.push_str(&format!("{separator}`{}`", entry.path));
            continue;
        }
        let default = default_text(&entry, &defaults);
        let (kind, scope) = (kind_text(&entry.key.kind), scope_text(entry_scope(&entry)));
        // Writing to a String cannot fail.
        let _infallible = writeln!(
            text,
            "| `{}` | {kind} | {default} | {scope} | {} |",
            entry.path,
            entry.key.doc_text()
        );
    }
    let variable = variable_for("agent.temperature");
    format!(
        "{text}\nSingle values can also be set by a variable: `agent.temperature` by `{variable}`.\n\n\
         Accepted, without effect yet: {later}.\n"
    )
}

fn default_text(entry: &KeyEntry, defaults: &Node) -> String {
    let in_list = |path: &str| path.contains(['[', '<']);
    let node = if in_list(&entry.path) {
        None
    } else {
        defaults.find(&entry.path)
    };
    match node {
        Some(node) => format!("`{}`", node.to_toml()),
        None => "–".to_owned(),
    }
}

/// Gives what a project may do with the key, which the table around it can narrow.
fn entry_scope(entry: &KeyEntry) -> Scope {
    let mut keys = &crate::schema::Settings::KEYS;
    for part in entry.path.split('.').map(|part| part.trim_end_matches("[]")) {
        match keys.find(part) {
            Some((key, _)) if key.scope == Scope::UserOnly => return Scope::UserOnly,
            Some((key, _)) => match key.kind {
                Kind::Table(inner) | Kind::Tables(inner, _) | Kind::TableMap(inner) => keys = inner,
                _ => return key.scope,
            },
            None => {}
        }
    }
    entry.key.scope
}

fn scope_text(scope: Scope) -> &'static str {
    match scope {
        Scope::Anywhere => "yes",
        Scope::UserOnly => "no",
        Scope::Stricter => "stricter",
        Scope::Adds => "adds",
        Scope::Narrows => "narrows",
        Scope::InsideProject => "inside the project",
    }
}

fn kind_text(kind: &Kind) -> String {
    match kind {
        Kind::Bool => "true or false".to_owned(),
        Kind::Integer(least, most) if *most > 1_000_000_000_000 => format!("whole number from {least}"),
        Kind::Integer(least, most) => format!("whole number, {least} to {most}"),
        Kind::Float(least, most) if *most > 1e12 => format!("number from {least}"),
        Kind::Float(least, most) => format!("number, {least} to {most}"),
        Kind::Text => "text".to_owned(),
        Kind::Secret => "secret text".to_owned(),
        Kind::Duration => "duration".to_owned(),
        Kind::Choice(words, _) => words
            .iter()
            .map(|word| format!("`{word}`"))
            .collect::<Vec<_>>()
            .join(", "),
        Kind::TextList => "list of texts".to_owned(),
        Kind::TextMap => "table of texts".to_owned(),
        Kind::Table(_) | Kind::TableMap(_) | Kind::Tables(..) | Kind::Group(_) | Kind::Anything => {
            "table".to_owned()
        }
    }
}
