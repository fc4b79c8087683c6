//! Commands that begin with a slash and never reach the model.

/// One command as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// The name without the slash.
    pub(crate) name: String,
    /// What follows it.
    pub(crate) arguments: String,
}
