//! Checks every dependency against `.deny.toml`: banned crates, licences, where the source comes from.
//!
//! The file is written in the format of cargo-deny, of which this understands the part that the file uses, so
//! `cargo deny --config .deny.toml check` works too. That tool takes minutes to build and is not needed for this.

mod config;
mod licence;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;

use self::config::{Config, Licences, Sources};
use self::licence::Expression;
use crate::metadata::{Metadata, Package};

/// Prints what is wrong with the dependencies; `false` when anything is.
pub(crate) fn run(root: &Path) -> anyhow::Result<bool> {
    let config = Config::load(root)?;
    let metadata = Metadata::load(root)?;
    let found = violations(&config, &metadata)?;
    for violation in &found {
        println!("deny: {violation}");
    }
    if found.is_empty() {
        println!("deny: {} packages, nothing to object to", metadata.packages.len());
    }
    Ok(found.is_empty())
}

/// Lists what the packages of `metadata` do that `config` does not allow.
fn violations(config: &Config, metadata: &Metadata) -> anyhow::Result<Vec<String>> {
    let allowed = config.licenses.parsed()?;
    let mut found = banned(config, metadata);
    for package in metadata
        .packages
        .iter()
        .filter(|package| package.source.is_some())
    {
        found.extend(licence_violation(&config.licenses, &allowed, package));
        found.extend(source_violation(&config.sources, package));
    }
    Ok(found)
}

/// Finds banned crates, and crates used by somebody who is not among their wrappers.
fn banned(config: &Config, metadata: &Metadata) -> Vec<String> {
    let users = users(metadata);
    let mut found = Vec::new();
    for ban in &config.bans.deny {
        let Some(users) = users.get(ban.name.as_str()) else {
            continue;
        };
        let reason = ban.reason.as_deref().unwrap_or("it is banned");
        for user in users
            .iter()
            .filter(|user| !ban.wrappers.iter().any(|wrapper| wrapper == *user))
        {
            found.push(format!("{user} depends on {}: {reason}", ban.name));
        }
    }
    found
}

/// Maps the name of each package to the names of the packages that depend on it directly.
fn users(metadata: &Metadata) -> BTreeMap<&str, BTreeSet<&str>> {
    let packages = metadata.by_id();
    let mut users: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for node in &metadata.resolve.nodes {
        let Some(user) = packages.get(node.id.as_str()) else {
            continue;
        };
        for used in node
            .deps
            .iter()
            .filter_map(|edge| packages.get(edge.pkg.as_str()))
        {
            users.entry(&used.name).or_default().insert(&user.name);
        }
    }
    users
}

fn licence_violation(licences: &Licences, allowed: &BTreeSet<String>, package: &Package) -> Option<String> {
    let name = format!("{} {}", package.name, package.version);
    let Some(text) = &package.license else {
        return Some(format!("{name} states no licence"));
    };
    let expression = match Expression::parse(text) {
        Ok(expression) => expression,
        Err(error) => return Some(format!("{name} has the licence `{text}`: {error}")),
    };
    let extra = licences
        .exceptions
        .iter()
        .filter(|exception| exception.name == package.name);
    let extra: BTreeSet<_> = extra.flat_map(|exception| &exception.allow).collect();
    let is_allowed =
        |licence: &str| allowed.contains(licence) || extra.iter().any(|allowed| *allowed == licence);
    (!expression.holds(&is_allowed)).then(|| format!("{name} has the licence `{text}`, which is not allowed"))
}

fn source_violation(sources: &Sources, package: &Package) -> Option<String> {
    let source = package.source.as_deref()?;
    let known = match source.split_once('+') {
        Some(("registry", url)) => sources.allow_registry.iter().any(|allowed| allowed == url),
        Some(("git", url)) => sources
            .allow_git
            .iter()
            .any(|allowed| url.starts_with(allowed.as_str())),
        _ => false,
    };
    (!known).then(|| format!("{} {} comes from {source}", package.name, package.version))
}

impl Licences {
    /// Returns the allowed licences, each of which must be a single name.
    fn parsed(&self) -> anyhow::Result<BTreeSet<String>> {
        let parse = |text: &String| {
            Expression::parse(text)?
                .into_name()
                .context("is not a single licence")
        };
        self.allow
            .iter()
            .map(|text| parse(text).with_context(|| format!("the allowed licence `{text}`")))
            .collect()
    }
}

#[cfg(test)]
mod tests;
