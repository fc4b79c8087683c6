//! What the model is told about a tool.

use serde::{Deserialize, Serialize};

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name, matching `^[a-zA-Z0-9_-]{1,64}$`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments, canonical: sorted keys, stable bytes.
    pub schema: serde_json::Value,
}

/// What a tool call may do, which decides scheduling and permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It changes nothing; such calls may overlap.
    Read,
    /// It changes files that it names.
    Write,
    /// It runs a program, which may do anything its sandbox allows.
    Execute,
}
