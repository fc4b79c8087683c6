//! What a running turn reports.

use conversation::{AssistantMessage, CallId, ItemId, ToolMessage, TurnOutcome, Usage};

/// One report of a running turn, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEvent {
    /// A piece of an answer's visible text.
    Text {
        /// The message being streamed.
        item: ItemId,
        /// The piece.
        text: String,
    },
    /// A piece of an answer's reasoning.
    Reasoning {
        /// The message being streamed.
        item: ItemId,
        /// The piece.
        text: String,
    },
    /// The message that was being streamed is thrown away; its request is tried again.
    Discarded {
        /// The message.
        item: ItemId,
        /// Why, in words.
        reason: String,
    },
    /// Nobody with the key is there to ask; the turn goes on when somebody is.
    Waiting,
    /// Somebody with the key is there again.
    WentOn,
    /// A request is asked again, since who had the key went away in mid-answer.
    AskedAgain {
        /// Why, in words.
        reason: String,
    },
    /// An answer is complete.
    Assistant {
        /// Its number.
        item: ItemId,
        /// The answer.
        message: AssistantMessage,
    },
    /// A request is about to leave for the model. Reported so that everything before it is on disk first.
    RequestLeaving,
    /// A tool is about to run.
    CallStarted {
        /// The call.
        call: CallId,
    },
    /// A piece of the live output of a running tool.
    Output {
        /// The call.
        call: CallId,
        /// The piece.
        text: String,
    },
    /// A call has its result.
    CallFinished(ToolMessage),
    /// The turn is over; nothing follows.
    Ended {
        /// How it ended.
        outcome: TurnOutcome,
        /// Tokens of all its requests.
        usage: Usage,
    },
}
