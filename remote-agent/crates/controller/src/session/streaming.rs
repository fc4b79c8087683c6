//! The answer that is being streamed: offsets for deltas, and pieces that must become durable.

use conversation::{ItemId, TurnId};
use protocol::{Delta, DeltaTarget};
use session_store::record::TurnRecord;

/// Streamed text is made durable at the latest when this many bytes wait (settled details 4).
pub(crate) const CHECKPOINT_BYTES: usize = 4 * 1024;

/// One message being streamed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Streaming {
    item: ItemId,
    text_bytes: u64,
    reasoning_bytes: u64,
    /// Visible text that is not in the log yet; it ends at `text_bytes`.
    waiting: String,
}

impl Streaming {
    /// Starts a message.
    pub(crate) fn new(item: ItemId) -> Self {
        Self {
            item,
            text_bytes: 0,
            reasoning_bytes: 0,
            waiting: String::new(),
        }
    }

    /// Gives the message's number.
    pub(crate) fn item(&self) -> ItemId {
        self.item
    }

    /// Takes a piece of visible text.
    pub(crate) fn text(&mut self, text: String) -> Delta {
        let offset = self.text_bytes;
        self.text_bytes += text.len() as u64;
        self.waiting.push_str(&text);
        Delta {
            target: DeltaTarget::Text { item: self.item.0 },
            offset,
            text,
        }
    }

    /// Takes a piece of reasoning.
    pub(crate) fn reasoning(&mut self, text: String) -> Delta {
        let offset = self.reasoning_bytes;
        self.reasoning_bytes += text.len() as u64;
        Delta {
            target: DeltaTarget::Reasoning { item: self.item.0 },
            offset,
            text,
        }
    }

    /// Says how many bytes of visible text are not in the log yet.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Gives the record of the text that is not in the log yet.
    pub(crate) fn checkpoint(&mut self, turn: TurnId) -> Option<TurnRecord> {
        if self.waiting.is_empty() {
            return None;
        }
        let text = std::mem::take(&mut self.waiting);
        let offset = self.text_bytes - text.len() as u64;
        Some(TurnRecord::Partial {
            turn,
            item: self.item,
            offset,
            text,
        })
    }
}
