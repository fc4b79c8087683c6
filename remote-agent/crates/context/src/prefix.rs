//! The shape of a request's prefix, to say why a vendor's cache missed.

use conversation::ToolSpec;

use crate::hash::short;

/// Hashes of what must stay the same during a session, 16 hexadecimal digits each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrefixShape {
    /// Of the system message.
    pub system_hash: String,
    /// Of the tools, sorted by name: the order of registration does not matter.
    pub tools_hash: String,
    /// Of both.
    pub prefix_hash: String,
}

/// What changed between two requests of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefixChange {
    /// The system message.
    System,
    /// The tools.
    Tools,
}

impl PrefixShape {
    /// Takes the shape of a prefix.
    #[must_use]
    pub fn of(system: &str, tools: &[ToolSpec]) -> Self {
        let mut spelled: Vec<String> = tools
            .iter()
            .map(|tool| format!("{}\n{}\n{}", tool.name, tool.description, tool.schema))
            .collect();
        spelled.sort_unstable();
        let parts: Vec<&str> = spelled.iter().map(String::as_str).collect();
        let system_hash = short(&[system]);
        let tools_hash = short(&parts);
        let prefix_hash = short(&[&system_hash, &tools_hash]);
        Self {
            system_hash,
            tools_hash,
            prefix_hash,
        }
    }

    /// Says what changed since an earlier request; nothing when the prefix is the same.
    #[must_use]
    pub fn changes_since(&self, earlier: &Self) -> Vec<PrefixChange> {
        let mut changes = Vec::new();
        if self.system_hash != earlier.system_hash {
            changes.push(PrefixChange::System);
        }
        if self.tools_hash != earlier.tools_hash {
            changes.push(PrefixChange::Tools);
        }
        changes
    }
}

impl PrefixChange {
    /// Gives the word for events and logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Tools => "tools",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            schema,
        }
    }

    #[test]
    fn order_does_not_matter_and_content_does() {
        let (a, b) = (tool("a", "x"), tool("b", "y"));
        let shape = PrefixShape::of("s", &[a.clone(), b.clone()]);
        assert_eq!(shape, PrefixShape::of("s", &[b.clone(), a.clone()]));
        assert_eq!(shape.prefix_hash.len(), 16);
        let other = PrefixShape::of("t", &[a, tool("b", "z")]);
        assert_eq!(
            other.changes_since(&shape),
            [PrefixChange::System, PrefixChange::Tools]
        );
        assert_eq!(shape.changes_since(&shape), []);
        assert_ne!(other.prefix_hash, shape.prefix_hash);
    }
}
