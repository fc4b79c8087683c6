//! Finds, reads and merges the layers.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize as _;

use crate::{
    check::{Findings, check},
    consistency,
    error::{Error, Problem, Warning},
    expand::expand,
    layer::{Explanation, defaults, kind_of, merge, show},
    node::{self, Node, Origin, Value},
    overrides::{Flag, from_environment, from_flags},
    project::confine,
    prompt_file,
    schema::{Settings, presets},
};

/// The name of a project's file.
pub const PROJECT_FILE: &str = "reasonix.toml";

/// The name of the user's file.
pub const USER_FILE: &str = "config.toml";

/// The most bytes of a settings file.
const MAX_BYTES: u64 = 1024 * 1024;

/// Where settings come from. Everything is given: nothing is looked up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// Reasonix's home directory, which may have a `config.toml`.
    pub home: Option<PathBuf>,
    /// The project's root, which may have a `reasonix.toml`.
    pub project: Option<PathBuf>,
    /// The environment. Variables that are no settings are used for `${NAME}` only.
    pub environment: BTreeMap<String, String>,
    /// The values of the command line.
    pub flags: Vec<Flag>,
}

/// Resolved settings and how they came about.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The values.
    pub settings: Settings,
    /// The persona read from `agent.system_prompt_file`, else `agent.system_prompt`.
    pub system_prompt: Option<String>,
    /// What was ignored.
    pub warnings: Vec<Warning>,
    merged: Node,
    /// The layers, strongest first.
    layers: Vec<Node>,
}

impl Loaded {
    /// Says where the value of a key came from, such as `permissions.deny[1]`.
    #[must_use]
    pub fn origin(&self, key: &str) -> Origin {
        self.merged
            .find(key)
            .map_or(Origin::Default, |node| node.origin.clone())
    }

    /// Says what the value of a key is, where it came from and what it hides. `None` if there is no such key.
    #[must_use]
    pub fn explain(&self, key: &str) -> Option<Explanation> {
        let kind = kind_of(key)?;
        let defaults = defaults();
        let found: Vec<&Node> = self
            .layers
            .iter()
            .chain([&defaults])
            .filter_map(|layer| layer.find(key))
            .collect();
        let shown = |node: &&Node| (show(node, kind), node.origin.clone());
        let (value, origin) = match self.merged.find(key) {
            Some(node) => shown(&node),
            None => defaults
                .find(key)
                .map_or(("unset".to_owned(), Origin::Default), |node| shown(&node)),
        };
        let hidden = found
            .iter()
            .map(shown)
            .filter(|(_, place)| *place != origin)
            .collect();
        Some(Explanation {
            key: key.to_owned(),
            value,
            origin,
            hidden,
        })
    }
}

/// Loads all settings.
///
/// # Errors
/// [`Error::Unreadable`] for a file that exists and cannot be read, [`Error::Invalid`] for syntax errors and values
/// that cannot be used, all of them at once. A file that does not exist is no error.
pub fn load(sources: &Sources) -> Result<Loaded, Error> {
    let mut findings = Findings::default();
    let user_file = sources.home.as_ref().map(|home| home.join(USER_FILE));
    let project_file = sources.project.as_ref().map(|project| project.join(PROJECT_FILE));
    let user = read_layer(user_file.as_deref(), &mut findings)?;
    let mut project = read_layer(project_file.as_deref(), &mut findings)?;
    if let Some(root) = &sources.project {
        findings
            .warnings
            .extend(confine(&mut project, &user, root, &Settings::KEYS));
    }
    let environment = from_environment(&sources.environment, &mut findings.problems);
    let flags = from_flags(&sources.flags, &mut findings.problems);
    let layers = vec![flags, environment, project, user];
    let mut merged = Node::empty_table();
    for layer in layers.iter().rev() {
        merge(&mut merged, layer.clone(), &Settings::KEYS);
    }
    expand_paths(&mut merged, &sources.environment, &mut findings.problems);
    if !findings.problems.is_empty() {
        return Err(Error::Invalid(findings.problems));
    }
    let settings = resolve(&merged)?;
    let system_prompt = match &settings.agent.system_prompt_file {
        Some(name) => {
            let text = prompt_file::read(name, &merged, sources.project.as_deref());
            Some(text.map_err(|problem| Error::Invalid(vec![problem]))?)
        }
        None => settings.agent.system_prompt.clone(),
    };
    Ok(Loaded {
        settings,
        system_prompt,
        warnings: findings.warnings,
        merged,
        layers,
    })
}

/// Turns checked values into the struct, with what depends on several of them.
fn resolve(merged: &Node) -> Result<Settings, Error> {
    let mut settings = Settings::deserialize(merged.to_toml()).map_err(|error| {
        // The checks know every type, so this is a mismatch between the two halves of the schema.
        let message = format!("cannot be used: {}", error.message());
        Error::Invalid(vec![Problem {
            origin: Origin::Default,
            key: String::new(),
            message,
            hint: None,
        }])
    })?;
    let problems = consistency::problems(&settings, merged);
    if !problems.is_empty() {
        return Err(Error::Invalid(problems));
    }
    if settings.providers.is_empty() {
        settings.providers = presets();
    } else if merged
        .find("default_model")
        .is_none_or(|node| node.text() == Some(""))
        && let Some(first) = settings.providers.first()
    {
        settings.default_model.clone_from(&first.name);
    }
    Ok(settings)
}

/// Reads a file that may be missing.
fn read_layer(path: Option<&Path>, findings: &mut Findings) -> Result<Node, Error> {
    let Some(path) = path else {
        return Ok(Node::empty_table());
    };
    let unreadable = |source: io::Error| Error::Unreadable {
        path: path.to_owned(),
        source,
    };
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        // A link that leads nowhere is a file that exists and cannot be read.
        Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_err() => {
            return Ok(Node::empty_table());
        }
        Err(error) => return Err(unreadable(error)),
    };
    if !metadata.is_file() {
        return Err(unreadable(io::Error::other("it is not a file")));
    }
    if metadata.len() > MAX_BYTES {
        return Err(unreadable(io::Error::other("it is larger than 1 MiB")));
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|error| not_text(path, &error))?;
    match node::parse(&text, path) {
        Ok(mut node) => {
            check(&mut node, &Settings::KEYS, findings);
            Ok(node)
        }
        Err(problem) => {
            findings.problems.push(problem);
            Ok(Node::empty_table())
        }
    }
}

fn not_text(path: &Path, error: &std::string::FromUtf8Error) -> Error {
    let good = error
        .as_bytes()
        .get(..error.utf8_error().valid_up_to())
        .unwrap_or_default();
    let good = String::from_utf8_lossy(good);
    let line = good.matches('\n').count() + 1;
    let column = good.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let place = node::Place {
        path: std::sync::Arc::new(path.to_owned()),
        line,
        column,
    };
    Error::Invalid(vec![Problem {
        origin: Origin::File(place),
        key: String::new(),
        message: "this is not UTF-8 text".to_owned(),
        hint: Some("save the file as UTF-8".to_owned()),
    }])
}

/// Expands variables in the paths of the sandbox. A path that cannot be expanded protects nothing, so it is an error.
fn expand_paths(merged: &mut Node, environment: &BTreeMap<String, String>, problems: &mut Vec<Problem>) {
    let Some(sandbox) = merged
        .table_mut()
        .and_then(|table| table.get_mut("sandbox"))
        .and_then(Node::table_mut)
    else {
        return;
    };
    for name in ["allow_write", "forbid_read"] {
        let Some(Value::List(items)) = sandbox.get_mut(name).map(|node| &mut node.value) else {
            continue;
        };
        for (index, item) in items.iter_mut().enumerate() {
            let Some(text) = item.text() else { continue };
            match expand(text, |variable| environment.get(variable).cloned()) {
                Ok(expanded) => item.value = Value::Text(expanded),
                Err(variable) => problems.push(Problem {
                    origin: item.origin.clone(),
                    key: format!("sandbox.{name}[{index}]"),
                    message: format!("`{variable}` has no value"),
                    hint: Some("set the variable, or give a default: ${NAME:-default}".to_owned()),
                }),
            }
        }
    }
}
