//! Events of a turn.

use serde::{Deserialize, Serialize};

use crate::{
    content::{CallView, Outcome, UsageView},
    ids::{CommandId, TurnId},
    limits,
    meter::Amount,
    snapshot::Wait,
};

/// What happened to a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TurnEvent {
    /// A person asked for something; the turn waits until it is started.
    Submitted {
        /// The turn that will answer.
        turn: TurnId,
        /// The text as typed.
        #[serde(deserialize_with = "limits::text::<{limits::TEXT}, _>")]
        text: String,
        /// The command.
        command: CommandId,
    },
    /// The turn began.
    Started {
        /// The turn.
        turn: TurnId,
    },
    /// A piece of streamed text was made durable; a client that followed the deltas has it already.
    Partial {
        /// The turn.
        turn: TurnId,
        /// The message.
        item: u64,
        /// Where the piece starts in the message's text, in bytes.
        offset: u64,
        /// The piece.
        #[serde(deserialize_with = "limits::text::<{limits::TEXT}, _>")]
        text: String,
    },
    /// A streamed message was thrown away, since its request is tried again.
    Discarded {
        /// The turn.
        turn: TurnId,
        /// The message.
        item: u64,
        /// Why.
        #[serde(deserialize_with = "limits::text::<{limits::LINE}, _>")]
        reason: String,
    },
    /// The turn cannot go on by itself.
    Waiting {
        /// The turn.
        turn: TurnId,
        /// What it waits for.
        what: Wait,
    },
    /// What the turn waited for has come.
    WentOn {
        /// The turn.
        turn: TurnId,
    },
    /// A request to the model is asked again although its answer had begun: who had the key went away in mid-answer. What
    /// was streamed of the answer is taken back by `discarded` before it.
    AskedAgain {
        /// The turn.
        turn: TurnId,
        /// Why.
        #[serde(deserialize_with = "limits::text::<{limits::LINE}, _>")]
        reason: String,
    },
    /// A message of the model is complete; it supersedes what was streamed of it.
    Assistant {
        /// The turn.
        turn: TurnId,
        /// The message.
        item: u64,
        /// The visible text.
        #[serde(deserialize_with = "limits::text::<{limits::TEXT}, _>")]
        text: String,
        /// The reasoning, where the vendor shows it.
        #[serde(
            default,
            skip_serializing_if = "String::is_empty",
            deserialize_with = "limits::text::<{limits::TEXT}, _>"
        )]
        reasoning: String,
        /// The tools it wants to run.
        #[serde(
            default,
            skip_serializing_if = "Vec::is_empty",
            deserialize_with = "limits::list::<{limits::LIST}, _, _>"
        )]
        calls: Vec<CallView>,
        /// What the request used; absent when the vendor did not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<UsageView>,
        /// What the request cost; absent when that is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Amount>,
    },
    /// A person asked the turn to stop.
    CancelRequested {
        /// The turn.
        turn: TurnId,
        /// The command.
        command: CommandId,
    },
    /// The turn ended.
    Ended {
        /// The turn.
        turn: TurnId,
        /// How.
        outcome: Outcome,
        /// What its requests used in all.
        usage: UsageView,
    },
    /// An event of a newer version.
    #[serde(other)]
    Unknown,
}
