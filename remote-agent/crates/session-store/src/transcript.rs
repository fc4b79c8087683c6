//! The messages of a replayed session: what the model is shown.

use conversation::{
    AssistantMessage, CallOutcome, Finish, ItemId, Message, ToolMessage, TurnId, UserMessage,
};

use crate::{
    Replayed,
    replay::{OpenCall, Partial},
};

/// Stands at the end of an answer that was cut off, after all the text that arrived.
pub const INTERRUPTED_MARK: &str = "\n\n[interrupted: the answer was cut off here]";
/// Stands where a piece of a streamed answer is lost.
const PIECE_LOST: &str = "[…]";
/// The result of a call whose own result is lost, though its turn went on.
const RESULT_LOST: &str = "[the result of this call was lost: the session log is damaged. The call may have run. \
                           Check the present state before you repeat it.]";
/// A person's message that is lost.
const MESSAGE_LOST: &str = "[a message is missing here: the session log is damaged]";

impl Replayed {
    /// Adds what a person said; `None` when that is lost.
    pub(crate) fn add_user(&mut self, text: Option<String>) {
        let text = text.unwrap_or_else(|| MESSAGE_LOST.to_owned());
        self.transcript.push(Message::User(UserMessage { text }));
    }

    /// Adds a piece of a streamed message where it belongs; what was there before is not added twice.
    pub(crate) fn add_partial(&mut self, turn: TurnId, item: ItemId, offset: u64, text: &str) {
        self.count_item(item);
        if self
            .phase
            .partial
            .as_ref()
            .is_some_and(|partial| partial.item != item)
        {
            self.keep_partial();
        }
        let new = || Partial {
            turn,
            item,
            text: String::new(),
            end: 0,
        };
        let partial = self.phase.partial.get_or_insert_with(new);
        let known = usize::try_from(partial.end.saturating_sub(offset)).unwrap_or(usize::MAX);
        // A cut inside a character cannot come from our own pieces, so such a piece is damage.
        let Some(fresh) = text.get(known..) else { return };
        if offset > partial.end {
            partial.text.push_str(PIECE_LOST);
        }
        partial.text.push_str(fresh);
        partial.end = offset.saturating_add(text.len() as u64);
    }

    /// Forgets a streamed message.
    pub(crate) fn discard(&mut self, item: ItemId) {
        self.count_item(item);
        self.phase.partial.take_if(|partial| partial.item == item);
    }

    /// Adds a complete message, which replaces what was streamed of it.
    pub(crate) fn add_assistant(&mut self, turn: TurnId, item: ItemId, message: &AssistantMessage) {
        self.discard(item);
        self.settle_calls();
        self.keep_partial();
        if message.is_empty() {
            // Strict vendors refuse an empty message, and it tells the model nothing.
            return;
        }
        let calls = message.calls.iter().enumerate();
        self.phase.calls = calls
            .map(|(place, call)| OpenCall {
                turn,
                call: call.clone(),
                place,
                started: false,
            })
            .collect();
        self.transcript.push(Message::Assistant(message.clone()));
    }

    /// Adds the result of an open call; any other result has no call in the transcript, or has answered it already.
    pub(crate) fn add_result(&mut self, result: &ToolMessage) {
        if let Some(open) = self
            .phase
            .calls
            .iter()
            .position(|open| open.call.id == result.call)
        {
            self.phase.calls.remove(open);
            self.insert_result(result.clone());
        }
    }

    /// Answers calls that can have no result any more.
    pub(crate) fn settle_calls(&mut self) {
        for open in std::mem::take(&mut self.phase.calls) {
            let content = RESULT_LOST.to_owned();
            self.insert_result(ToolMessage {
                call: open.call.id,
                outcome: CallOutcome::Unknown,
                content,
            });
        }
    }

    /// Turns the text of an unfinished message into a message that says so.
    pub(crate) fn keep_partial(&mut self) {
        let Some(partial) = self
            .phase
            .partial
            .take()
            .filter(|partial| !partial.text.is_empty())
        else {
            return;
        };
        // Results must follow their calls directly.
        self.settle_calls();
        let text = partial.text + INTERRUPTED_MARK;
        self.transcript.push(Message::Assistant(AssistantMessage {
            text,
            finish: Finish::Other,
            ..Default::default()
        }));
    }

    /// Puts a result after its message, in the order of the message's calls.
    fn insert_result(&mut self, result: ToolMessage) {
        let mut at = self.transcript.len();
        while at > 0 && matches!(self.transcript[at - 1], Message::Tool(_)) {
            at -= 1;
        }
        if let Some(Message::Assistant(message)) = at.checked_sub(1).map(|at| &self.transcript[at]) {
            let place = |wanted: &ToolMessage| message.calls.iter().position(|call| call.id == wanted.call);
            let own = place(&result);
            let before = |message: &Message| matches!(message, Message::Tool(other) if place(other) < own);
            at += self.transcript[at..]
                .iter()
                .take_while(|message| before(message))
                .count();
        }
        self.transcript.insert(at, Message::Tool(result));
    }

    fn count_item(&mut self, item: ItemId) {
        self.counters.items = self.counters.items.max(item.0);
    }
}
