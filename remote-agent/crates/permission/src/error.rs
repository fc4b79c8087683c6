//! What can be wrong with rules and names.

/// A permission rule that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("permission rule `{rule}` {problem}")]
pub struct InvalidRule {
    /// The rule as written.
    pub rule: String,
    /// What is wrong, such as `names no tool`.
    pub problem: &'static str,
}

impl InvalidRule {
    /// Says how a rule is written.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        "write Tool, Tool(pattern) or Tool=literal, for example Bash(git status:*) or Edit(docs/**)"
    }
}

/// A name of a preset or mode that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} `{name}` (known: {known})")]
pub struct UnknownName {
    /// What was to be named, such as `permission mode`.
    pub kind: &'static str,
    /// The name given.
    pub name: String,
    /// The names that exist, joined by commas.
    pub known: &'static str,
}
