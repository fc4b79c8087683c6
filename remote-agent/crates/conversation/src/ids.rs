//! Identifiers that are unique within one session.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of a turn in its session, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnId(pub u64);

/// The number of a streamed assistant message in its session, from 1. Each attempt at a model request is an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ItemId(pub u64);

/// The name of a tool call, unique in its session.
///
/// It is made here (`<item>.<index>`), not taken from the vendor, since vendors repeat theirs; the same text is sent
/// back to the vendor, so a call and its result always pair.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

impl CallId {
    /// Names the call at `index` (from 0) of the message `item`.
    #[must_use]
    pub fn new(item: ItemId, index: usize) -> Self {
        Self(format!("call_{}_{index}", item.0))
    }
}

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
