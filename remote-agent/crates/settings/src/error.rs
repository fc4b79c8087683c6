//! What can be wrong with settings, and what is only worth a remark.

use std::{fmt, io, path::PathBuf};

use crate::node::Origin;

/// Why settings could not be loaded or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file exists and could not be read.
    #[error("could not read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Values that cannot be used. There is at least one.
    #[error("{}", lines(.0))]
    Invalid(Vec<Problem>),
    /// A file could not be written.
    #[error("could not write {}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A host of this name is there already; the file is as it was.
    #[error("{}: there is already a host named \"{name}\"", path.display())]
    HostExists {
        /// The file that was to be changed.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// A change that was asked for makes no sense; the file is as it was.
    #[error("{}: {reason}", path.display())]
    Refused {
        /// The file that was to be changed.
        path: PathBuf,
        /// What speaks against it.
        reason: String,
    },
}

impl Error {
    /// Gives what to do about it, one hint for each problem that has one.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Invalid(problems) => problems
                .iter()
                .filter_map(|problem| problem.hint.clone())
                .collect(),
            Self::Unreadable { .. } => {
                vec!["make the file readable for this user, or move it away".to_owned()]
            }
            Self::HostExists { name, .. } => vec![format!(
                "choose another name, or see what is there with `reasonix remote show {name}` and take it out with \
                 `reasonix remote remove {name}`"
            )],
            Self::Unwritable { .. } | Self::Refused { .. } => Vec::new(),
        }
    }
}

fn lines(problems: &[Problem]) -> String {
    problems
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

/// A value that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it was set.
    pub origin: Origin,
    /// The key, such as `remote.hosts[0].port`; empty for a syntax error.
    pub key: String,
    /// What is wrong with it.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_at(f, &self.origin, &self.key, &self.message)
    }
}

/// A value that is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Where it was set.
    pub origin: Origin,
    /// The key.
    pub key: String,
    /// Why it is ignored.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_at(f, &self.origin, &self.key, &self.message)
    }
}

fn write_at(f: &mut fmt::Formatter<'_>, origin: &Origin, key: &str, message: &str) -> fmt::Result {
    write!(f, "{origin}: ")?;
    if !key.is_empty() {
        write!(f, "{key}: ")?;
    }
    f.write_str(message)
}
