//! The wire's view of calls, usage and outcomes.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::limits;

/// A tool call of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallView {
    /// The call's id, unique in the session.
    #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
    pub id: String,
    /// The tool's name as the model wrote it.
    #[serde(deserialize_with = "limits::text::<{limits::LINE}, _>")]
    pub name: String,
    /// The arguments, as JSON text.
    #[serde(deserialize_with = "limits::text::<{limits::TEXT}, _>")]
    pub arguments: String,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// It ran and succeeded.
    Ok,
    /// It ran and failed, or its arguments were wrong.
    Failed,
    /// It was refused and did not run.
    Denied,
    /// It was never started.
    Cancelled,
    /// It was running when the turn was cancelled.
    Interrupted,
    /// It was started and the daemon died: it may have run.
    #[serde(other)]
    Unknown,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The model finished.
    Completed,
    /// A person stopped it.
    Cancelled,
    /// Something failed.
    Failed {
        /// Which kind, for exit codes: `model_access`, `model_unreachable`, `model_protocol`, `model_refused`, `internal`.
        #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
        kind: String,
        /// What happened and where.
        #[serde(deserialize_with = "limits::text::<{limits::TEXT}, _>")]
        message: String,
        /// What to do next.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "limits::maybe_text::<{limits::LINE}, _>"
        )]
        hint: Option<String>,
    },
    /// A limit was reached; continuing is possible.
    Paused {
        /// Which limit, in words.
        #[serde(deserialize_with = "limits::text::<{limits::LINE}, _>")]
        reason: String,
    },
    /// The daemon died in mid-turn.
    Interrupted,
    /// An outcome of a newer version.
    #[serde(other)]
    Unknown,
}

/// Tokens used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UsageView {
    /// Prompt tokens, cached ones included.
    pub input: u64,
    /// Prompt tokens from the prefix cache.
    pub cached: u64,
    /// Answer tokens.
    pub output: u64,
}

impl UsageView {
    /// Says whether nothing was used, or nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl std::ops::AddAssign for UsageView {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
    }
}

/// What the session may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Reading only; anything else needs a grant.
    ReadOnly,
    /// Writing inside the workspace, commands inside the sandbox.
    #[default]
    WorkspaceWrite,
    /// Everything that no rule denies.
    DangerFullAccess,
    /// A preset of a newer version; what it permits is not known here.
    #[serde(other)]
    Unknown,
}

impl Preset {
    /// Gives the name used in flags, files and on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DangerFullAccess => "danger-full-access",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text names no preset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown permission mode {0:?} (read-only, workspace-write or danger-full-access)")]
pub struct UnknownPreset(pub String);

impl FromStr for Preset {
    type Err = UnknownPreset;
    fn from_str(text: &str) -> Result<Self, UnknownPreset> {
        match text {
            "read-only" | "ask" => Ok(Self::ReadOnly),
            // Legacy names never widen to full access.
            "workspace-write" | "auto" | "yolo" => Ok(Self::WorkspaceWrite),
            "danger-full-access" => Ok(Self::DangerFullAccess),
            other => Err(UnknownPreset(other.to_owned())),
        }
    }
}
