//! Events of a tool call.

use serde::{Deserialize, Serialize};

use crate::{content::CallOutcome, ids::TurnId, limits};

/// What happened to a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolEvent {
    /// The tool is about to run.
    Started {
        /// The turn.
        turn: TurnId,
        /// The call.
        #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
        call: String,
    },
    /// The call has its result; every call gets exactly one.
    Finished {
        /// The turn.
        turn: TurnId,
        /// The call.
        #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
        call: String,
        /// How it ended.
        outcome: CallOutcome,
        /// The result as the model is shown it.
        #[serde(deserialize_with = "limits::text::<{limits::TEXT}, _>")]
        output: String,
    },
    /// An event of a newer version.
    #[serde(other)]
    Unknown,
}
