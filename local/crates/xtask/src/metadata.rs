//! Reads `cargo metadata`: the few fields that somebody looks at. What only the repository checks use is built for tests only.

#[cfg(test)]
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Deserialize;

use crate::system;

/// What cargo knows about the workspace and everything it depends on.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    #[cfg(test)]
    pub(crate) workspace_members: BTreeSet<String>,
    pub(crate) resolve: Resolve,
    pub(crate) target_directory: PathBuf,
}

/// One package, of the workspace or from elsewhere.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    /// Where it comes from; nothing for a package of this repository.
    pub(crate) source: Option<String>,
    #[cfg(test)]
    pub(crate) manifest_path: PathBuf,
    #[cfg(test)]
    pub(crate) dependencies: Vec<Dependency>,
    #[cfg(test)]
    pub(crate) targets: Vec<Target>,
}

/// A dependency as the manifest writes it.
#[cfg(test)]
#[derive(Clone, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Nothing for an ordinary dependency, else `dev` or `build`.
    pub(crate) kind: Option<String>,
}

/// Something cargo builds out of a package.
#[cfg(test)]
#[derive(Clone, Deserialize)]
pub(crate) struct Target {
    pub(crate) kind: Vec<String>,
    pub(crate) src_path: PathBuf,
}

/// The dependency graph after versions and features were chosen.
#[derive(Deserialize)]
pub(crate) struct Resolve {
    pub(crate) nodes: Vec<Node>,
}

/// The edges that leave one package.
#[derive(Deserialize)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) deps: Vec<Edge>,
}

/// An edge of the graph to the package with the id `pkg`.
#[derive(Deserialize)]
pub(crate) struct Edge {
    pub(crate) pkg: String,
    #[cfg(test)]
    pub(crate) dep_kinds: Vec<EdgeKind>,
}

/// One of the ways in which a package uses another one.
#[cfg(test)]
#[derive(Deserialize)]
pub(crate) struct EdgeKind {
    /// Nothing for an ordinary dependency, else `dev` or `build`.
    pub(crate) kind: Option<String>,
}

impl Metadata {
    /// Asks cargo, with every feature on and the lock file as it is.
    pub(crate) fn load(root: &Path) -> anyhow::Result<Self> {
        let mut command = system::cargo(root);
        command.args(["metadata", "--format-version", "1", "--locked", "--all-features"]);
        serde_json::from_str(&system::capture(command)?).context("could not read what cargo metadata printed")
    }

    /// Returns the packages of this repository.
    #[cfg(test)]
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages
            .iter()
            .filter(|package| self.workspace_members.contains(&package.id))
    }

    /// Returns all packages by id.
    pub(crate) fn by_id(&self) -> HashMap<&str, &Package> {
        self.packages
            .iter()
            .map(|package| (package.id.as_str(), package))
            .collect()
    }
}
