//! Presets, the fallback mode, tool families and effects.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::error::UnknownName;

/// How much a session may do without asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Preset {
    /// Reads run; everything else needs a rule or a grant.
    #[serde(rename = "read-only")]
    ReadOnly,
    /// Reads, writes in the workspace and commands run; the sandbox holds them there.
    #[default]
    #[serde(rename = "workspace-write")]
    WorkspaceWrite,
    /// Everything runs but what a deny rule names.
    #[serde(rename = "danger-full-access")]
    FullAccess,
}

impl Preset {
    /// Gives the name used in files and on command lines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::FullAccess => "danger-full-access",
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Preset {
    type Err = UnknownName;

    /// Reads a name; the older `ask`, `auto` and `yolo` never give full access.
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        match name {
            "read-only" | "ask" => Ok(Self::ReadOnly),
            "workspace-write" | "auto" | "yolo" => Ok(Self::WorkspaceWrite),
            "danger-full-access" => Ok(Self::FullAccess),
            _ => Err(UnknownName {
                kind: "permission mode",
                name: name.to_owned(),
                known: "read-only, workspace-write, danger-full-access",
            }),
        }
    }
}

/// What happens to a writing call that no rule names, before the preset has its say.
///
/// `Allow` lifts nothing that the preset forbids, so only `Deny` changes an outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The preset decides, asking where it needs to.
    #[default]
    Ask,
    /// The preset decides.
    Allow,
    /// It is refused, in every preset.
    Deny,
}

impl FromStr for Mode {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        match name {
            "ask" => Ok(Self::Ask),
            "allow" => Ok(Self::Allow),
            "deny" => Ok(Self::Deny),
            _ => Err(UnknownName {
                kind: "mode",
                name: name.to_owned(),
                known: "ask, allow, deny",
            }),
        }
    }
}

/// A group of tools that one rule name covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The shell: `Bash`.
    Bash,
    /// Tools that change files: `Edit`.
    Edit,
    /// Tools that read, list and search files: `Read`.
    Read,
    /// Any other tool; only its own name covers it.
    Other,
}

impl Family {
    /// Gives the family of a built-in tool.
    #[must_use]
    pub fn of(tool: &str) -> Self {
        match tool {
            "bash" => Self::Bash,
            "write_file" | "edit_file" | "multi_edit" | "move_file" | "notebook_edit" | "delete_range"
            | "delete_symbol" => Self::Edit,
            "read_file" | "ls" | "glob" | "grep" | "code_index" => Self::Read,
            _ => Self::Other,
        }
    }

    /// Gives the family that a rule names, `None` if the name is a tool's own.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "Bash" => Some(Self::Bash),
            "Edit" => Some(Self::Edit),
            "Read" => Some(Self::Read),
            _ => None,
        }
    }
}

/// What a call would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Only reads.
    Read,
    /// Changes something inside the workspace or another writable root.
    WriteInside,
    /// Runs a command; the sandbox decides what it reaches.
    Execute,
    /// Changes something outside every writable root.
    WriteOutside,
}
