//! Pieces of streamed text.

use serde::{Deserialize, Serialize};

use crate::limits;

/// A piece of text for an item that is not complete yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    /// What it belongs to.
    pub target: DeltaTarget,
    /// Where it starts in the text of the target, in bytes, so that loss and repetition are seen.
    pub offset: u64,
    /// The piece.
    #[serde(deserialize_with = "limits::text::<{limits::TEXT}, _>")]
    pub text: String,
}

/// What a piece of text belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DeltaTarget {
    /// The visible text of an assistant message.
    Text {
        /// The message.
        item: u64,
    },
    /// The reasoning of an assistant message.
    Reasoning {
        /// The message.
        item: u64,
    },
    /// The live output of a running call.
    Output {
        /// The call.
        #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
        call: String,
    },
    /// A target of a newer version, to be skipped.
    #[serde(other)]
    Unknown,
}
