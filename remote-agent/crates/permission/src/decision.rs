//! The answer of the policy.

use std::fmt;

use crate::{grants::Grant, mode::Preset, rule::Rule, shell::Unparsable};

/// Whether a call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a decision that nobody looks at protects nothing"]
pub enum Decision {
    /// It runs.
    Allow {
        /// What allows it.
        by: Grounds,
    },
    /// It runs if the user agrees; where nobody can be asked it does not run.
    Ask {
        /// Why it needs an answer.
        why: AskReason,
        /// What could be granted for the rest of the session.
        suggested: Grant,
    },
    /// It does not run, whatever the user or the preset say.
    Deny {
        /// What forbids it.
        why: DenyReason,
    },
}

impl Decision {
    /// Says whether the call runs without an answer.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allow { .. })
    }
}

/// What allows a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grounds {
    /// It only reads.
    Reading,
    /// The preset lets it run.
    Preset(Preset),
    /// Allow rules cover it; these are the ones that did.
    Rules(Vec<Rule>),
    /// The user granted it for this session.
    Grant,
}

/// Why a call needs an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskReason {
    /// An ask rule names it.
    Rule(Rule),
    /// The preset does not let it run by itself.
    Preset(Preset),
    /// It writes outside every writable root; the directory is named.
    Outside(String),
    /// Nobody can say what it would run.
    Unparsable(Unparsable),
}

impl fmt::Display for AskReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => write!(
                f,
                "the settings want to be asked first: permissions.ask has {rule}"
            ),
            Self::Preset(preset) => {
                write!(f, "the {preset} preset does not allow this call without approval")
            }
            Self::Outside(directory) => {
                write!(f, "this directory is outside the writable roots ({directory})")
            }
            Self::Unparsable(problem) => problem.fmt(f),
        }
    }
}

/// What forbids a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DenyReason {
    /// A deny rule names it.
    Rule(Rule),
    /// The fallback mode refuses writing calls that no rule allows.
    Mode,
}

impl fmt::Display for DenyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => write!(f, "matched permission rule: deny {rule}"),
            Self::Mode => f.write_str("permissions.mode is deny and no allow rule covers this call"),
        }
    }
}
