//! What a project file may not do: a cloned repository steers nothing outside itself.
//!
//! What it may not set is taken out with a warning that names file, line and reason.

use std::path::{Component, Path};

use crate::{
    error::Warning,
    node::{Node, Value},
    schema::{Key, Keys, Kind, Scope},
};

/// Takes out of `project` what a project may not set. `beneath` are the user's values, which it may only tighten.
pub fn confine(project: &mut Node, beneath: &Node, root: &Path, keys: &Keys) -> Vec<Warning> {
    let mut confiner = Confiner {
        beneath,
        root,
        warnings: Vec::new(),
    };
    confiner.table(project, keys, "");
    confiner.warnings
}

struct Confiner<'a> {
    beneath: &'a Node,
    root: &'a Path,
    warnings: Vec<Warning>,
}

impl Confiner<'_> {
    fn table(&mut self, node: &mut Node, keys: &Keys, prefix: &str) {
        let Some(entries) = node.table_mut() else { return };
        for (key, _) in keys.all() {
            let Some(mut entry) = entries.remove(key.name()) else {
                continue;
            };
            let path = format!("{prefix}{}", key.name());
            if self.admits(&mut entry, key, &path) {
                if let Kind::Table(inner) = key.kind {
                    self.table(&mut entry, inner, &format!("{path}."));
                }
                entries.insert(key.name().to_owned(), entry);
            }
        }
    }

    /// Says whether the value may stay, after taking out of a list what may not.
    fn admits(&mut self, node: &mut Node, key: &Key, path: &str) -> bool {
        match key.scope {
            Scope::Anywhere | Scope::Adds => true,
            Scope::UserOnly => {
                self.warn(
                    node,
                    path,
                    "a project file cannot set this",
                    "set it in your own config.toml",
                );
                false
            }
            Scope::Stricter => self.is_stricter(node, key, path),
            Scope::Narrows => {
                self.narrow(node, path);
                true
            }
            Scope::InsideProject => self.keeps_inside(node, path),
        }
    }

    fn is_stricter(&mut self, node: &Node, key: &Key, path: &str) -> bool {
        let own = strictness(node, key);
        let user = self.beneath.find(path).map(|node| strictness(node, key));
        let least = user.unwrap_or_else(|| default_strictness(key, path));
        let admitted = own >= least;
        if !admitted {
            let hint = "set it in your own config.toml if you want it";
            self.warn(node, path, "a project file can only make this stricter", hint);
        }
        admitted
    }

    fn narrow(&mut self, node: &mut Node, path: &str) {
        let user = self.beneath.find(path).and_then(|node| match &node.value {
            Value::List(items) if !items.is_empty() => Some(items),
            _ => None,
        });
        let (Some(user), Value::List(items)) = (user, &mut node.value) else {
            return;
        };
        if items.is_empty() {
            // An empty list means everything.
            items.clone_from(user);
        }
        let (kept, dropped): (Vec<Node>, Vec<Node>) = items
            .drain(..)
            .partition(|item| user.iter().any(|known| known.value == item.value));
        *items = kept;
        for item in dropped {
            self.warn(
                &item,
                path,
                "a project file can only leave entries of your list out",
                "add it to your own list",
            );
        }
    }

    fn keeps_inside(&mut self, node: &mut Node, path: &str) -> bool {
        let root = self.root;
        if let Value::List(items) = &mut node.value {
            let (kept, dropped): (Vec<Node>, Vec<Node>) = items
                .drain(..)
                .partition(|item| item.text().is_some_and(|text| is_inside(text, root)));
            *items = kept;
            for item in dropped {
                self.warn_outside(&item, path);
            }
            return true;
        }
        let inside = node.text().is_some_and(|text| is_inside(text, root));
        if !inside {
            self.warn_outside(node, path);
        }
        inside
    }

    fn warn_outside(&mut self, node: &Node, path: &str) {
        self.warn(
            node,
            path,
            "a project file cannot name a path outside the project",
            "set it in your own config.toml",
        );
    }

    fn warn(&mut self, node: &Node, path: &str, reason: &str, hint: &str) {
        self.warnings.push(Warning {
            origin: node.origin.clone(),
            key: path.to_owned(),
            message: format!("{reason}; ignored"),
            hint: Some(hint.to_owned()),
        });
    }
}

/// Gives a number that grows with strictness.
fn strictness(node: &Node, key: &Key) -> usize {
    match (&node.value, key.kind) {
        (Value::Bool(on), _) => usize::from(!on),
        (Value::Text(text), Kind::Choice(words, _)) => {
            words.iter().position(|word| word == text).unwrap_or(0)
        }
        _ => 0,
    }
}

fn default_strictness(key: &Key, path: &str) -> usize {
    let defaults = crate::layer::defaults();
    defaults
        .find(path)
        .map_or(usize::MAX, |node| strictness(node, key))
}

/// Says whether a path, as written, stays in `root`. Variables could lead anywhere.
fn is_inside(path: &str, root: &Path) -> bool {
    if path.contains("${") || path.starts_with('~') {
        return false;
    }
    let path = Path::new(path);
    let relative = if path.is_absolute() {
        path.strip_prefix(root).ok()
    } else {
        Some(path)
    };
    let Some(relative) = relative else { return false };
    let mut depth = 0_usize;
    for component in relative.components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}
