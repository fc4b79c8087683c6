//! Describes the part of cargo-deny's configuration format that `.deny.toml` uses; a key outside it is an error.

use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

const FILE: &str = ".deny.toml";

/// The whole file. Settings that only cargo-deny acts upon are read so that they may be there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    #[serde(rename = "graph")]
    _graph: toml::Table,
    #[serde(rename = "advisories")]
    _advisories: toml::Table,
    pub(super) bans: Bans,
    pub(super) licenses: Licences,
    pub(super) sources: Sources,
}

/// Crates that may not be used, or not by everybody.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Bans {
    #[serde(rename = "multiple-versions")]
    _multiple_versions: String,
    pub(super) deny: Vec<Ban>,
}

/// A crate that only its wrappers may use, which often are none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ban {
    #[serde(rename = "crate")]
    pub(super) name: String,
    #[serde(default)]
    pub(super) wrappers: Vec<String>,
    pub(super) reason: Option<String>,
}

/// Which licences a dependency may have.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Licences {
    #[serde(rename = "unused-allowed-license")]
    _unused_allowed_license: String,
    #[serde(rename = "private")]
    _private: toml::Table,
    pub(super) allow: Vec<String>,
    #[serde(default)]
    pub(super) exceptions: Vec<Exception>,
}

/// Licences that one crate may have and others may not.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exception {
    #[serde(rename = "crate")]
    pub(super) name: String,
    pub(super) allow: Vec<String>,
}

/// Where the source of a dependency may come from.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Sources {
    #[serde(rename = "unknown-registry")]
    _unknown_registry: String,
    #[serde(rename = "unknown-git")]
    _unknown_git: String,
    pub(super) allow_registry: Vec<String>,
    pub(super) allow_git: Vec<String>,
}

impl Config {
    /// Reads the file of the repository.
    pub(super) fn load(root: &Path) -> anyhow::Result<Self> {
        let text =
            std::fs::read_to_string(root.join(FILE)).with_context(|| format!("could not read {FILE}"))?;
        toml::from_str(&text).with_context(|| format!("{FILE} is not what is understood here"))
    }
}
