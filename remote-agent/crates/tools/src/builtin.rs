//! The tools that are always there.

mod ask;
mod bash;
mod edit_file;
mod glob;
mod grep;
mod ls;
mod read_file;
mod search;
mod write_file;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Tool, ToolError};

/// Gives every built-in tool.
#[must_use]
pub fn builtin() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ask::Ask::new()),
        Arc::new(bash::Bash::new()),
        Arc::new(edit_file::EditFile::new()),
        Arc::new(glob::Glob::new()),
        Arc::new(grep::Grep::new()),
        Arc::new(ls::Ls::new()),
        Arc::new(read_file::ReadFile::new()),
        Arc::new(write_file::WriteFile::new()),
    ]
}

/// Takes arguments that passed the schema as the tool's own type.
fn arguments<T: DeserializeOwned>(args: Value) -> Result<T, ToolError> {
    serde_json::from_value(args).map_err(|error| ToolError::Argument(error.to_string()))
}

/// Gives a text argument, empty when it is absent.
fn text_of<'a>(args: &'a Value, name: &str) -> &'a str {
    args.get(name).and_then(Value::as_str).unwrap_or_default()
}
