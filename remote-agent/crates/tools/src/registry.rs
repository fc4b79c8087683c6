//! The tools of a session, in an order that never changes.

use std::{collections::BTreeMap, sync::Arc};

use conversation::ToolSpec;
use serde_json::Value;

use crate::{Tool, builtin, validate};

/// A call that cannot be run, in words for the model (after `error: `).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// There is no such tool.
    #[error("unknown tool \"{name}\"; the tools are: {known}")]
    UnknownTool {
        /// The name the model used, shortened.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The arguments do not fit; the text says why and is at most 4 KiB.
    #[error("{0}")]
    Arguments(String),
}

/// A set of tools, sorted by name.
#[derive(Clone, Default)]
pub struct Registry {
    tools: BTreeMap<String, Arc<dyn Tool>>,
}

impl Registry {
    /// Makes a registry of the built-in tools.
    #[must_use]
    pub fn with_builtin() -> Self {
        Self::new(builtin())
    }

    /// Makes a registry. Of two tools with one name, the later one stays.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        Self {
            tools: tools
                .into_iter()
                .map(|tool| (tool.spec().name.clone(), tool))
                .collect(),
        }
    }

    /// Keeps only the tools that `wanted` names.
    #[must_use]
    pub fn only(mut self, wanted: impl Fn(&str) -> bool) -> Self {
        self.tools.retain(|name, _| wanted(name));
        self
    }

    /// Lists the tools by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.values()
    }

    /// Lists what the model is told, by name. Equal registries give equal bytes, whatever the order of registration.
    #[must_use]
    pub fn schemas(&self) -> Vec<ToolSpec> {
        self.iter().map(|tool| tool.spec().clone()).collect()
    }

    /// Finds a tool.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// Finds the tool of a call and checks the call's arguments, given as JSON text.
    ///
    /// # Errors
    /// [`Rejection`] for an unknown tool or arguments that do not fit its schema.
    pub fn check(&self, name: &str, arguments: &str) -> Result<(Arc<dyn Tool>, Value), Rejection> {
        let Some(tool) = self.find(name) else {
            let known = self.tools.keys().cloned().collect::<Vec<_>>().join(", ");
            return Err(Rejection::UnknownTool {
                name: stdx::bounded::one_line(name, 100),
                known,
            });
        };
        let arguments = validate::validate(tool.spec(), arguments).map_err(Rejection::Arguments)?;
        Ok((Arc::clone(tool), arguments))
    }
}
