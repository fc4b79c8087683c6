//! What the user has allowed for the rest of a session. Kept in memory only.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    mode::Family,
    path,
    request::{Request, Subject},
};

/// One thing allowed for the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "scope", content = "value")]
pub enum Grant {
    /// This complete command line and no other.
    Command(String),
    /// Commands that start with these words. Operators, redirections to files and assignments are not covered.
    CommandPrefix(Vec<String>),
    /// File changes in this directory and below. Absolute and free of symbolic links.
    Directory(String),
    /// Every call of this tool.
    Tool(String),
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(text) => write!(f, "Bash={text}"),
            Self::CommandPrefix(words) => write!(f, "Bash({}:*)", words.join(" ")),
            Self::Directory(path) => write!(f, "changes in {path}"),
            Self::Tool(name) => f.write_str(name),
        }
    }
}

/// The grants of one session, with a revision by which late answers are recognised.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    list: Vec<Grant>,
    revision: u64,
}

impl Grants {
    /// Adds a grant; one that is already there changes nothing.
    pub fn add(&mut self, grant: Grant) {
        if !self.list.contains(&grant) {
            self.list.push(grant);
            self.revision += 1;
        }
    }

    /// Takes a grant back and says whether it was there.
    pub fn revoke(&mut self, grant: &Grant) -> bool {
        let before = self.list.len();
        self.list.retain(|known| known != grant);
        let found = self.list.len() < before;
        self.revision += u64::from(found);
        found
    }

    /// Notes a change elsewhere, such as of the preset, that makes earlier questions stale.
    pub fn invalidate(&mut self) {
        self.revision += 1;
    }

    /// Gives a number that grows with every change. An answer to a question of an older revision is not applied.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Gives the grants in the order they were made.
    #[must_use]
    pub fn list(&self) -> &[Grant] {
        &self.list
    }

    /// Says whether the grants cover a call whose subjects are no commands.
    pub(crate) fn cover(&self, request: &Request<'_>) -> bool {
        if self.list.contains(&Grant::Tool(request.tool.to_owned())) {
            return true;
        }
        let editing = request.family == Family::Edit && !request.subjects.is_empty();
        editing && request.subjects.iter().all(|subject| self.covers_path(subject))
    }

    fn covers_path(&self, subject: &Subject) -> bool {
        let Subject::Path { resolved, .. } = subject else {
            return false;
        };
        self.list
            .iter()
            .any(|grant| matches!(grant, Grant::Directory(folder) if path::is_inside(resolved, folder)))
    }
}
