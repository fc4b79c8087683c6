//! Estimates of token counts.
//!
//! No vocabulary is carried: vendors differ, and each answer brings the true count. Until then, and for what was added
//! since, the estimate is a little high rather than low: a request that does not fit costs more than one that is folded
//! early.

use conversation::{Message, ToolSpec};

/// Bytes of ASCII text in a token.
const ASCII_BYTES_PER_TOKEN: u64 = 4;
/// Tokens that a vendor adds around each message or tool.
const FRAME: u64 = 6;

/// Estimates the tokens of a text: four ASCII bytes, one other character (Chinese, accents), half an emoji.
#[must_use]
pub fn estimate_text(text: &str) -> u64 {
    let (mut ascii, mut others) = (0_u64, 0_u64);
    for character in text.chars() {
        match character.len_utf8() {
            1 => ascii += 1,
            4 => others += 2,
            _ => others += 1,
        }
    }
    ascii.div_ceil(ASCII_BYTES_PER_TOKEN) + others
}

/// Estimates the tokens of the system message and the tools.
#[must_use]
pub fn estimate_prefix(system: &str, tools: &[ToolSpec]) -> u64 {
    let tool = |tool: &ToolSpec| {
        FRAME
            + estimate_text(&tool.name)
            + estimate_text(&tool.description)
            + estimate_text(&tool.schema.to_string())
    };
    FRAME + estimate_text(system) + tools.iter().map(tool).sum::<u64>()
}

/// Estimates the tokens of messages.
#[must_use]
pub fn estimate_messages(messages: &[Message]) -> u64 {
    messages.iter().map(estimate_message).sum()
}

fn estimate_message(message: &Message) -> u64 {
    FRAME
        + match message {
            Message::User(user) => estimate_text(&user.text),
            Message::Tool(result) => estimate_text(&result.content),
            // Reasoning counts although not every vendor gets it back.
            Message::Assistant(answer) => {
                let calls = answer.calls.iter();
                let calls =
                    calls.map(|call| FRAME + estimate_text(&call.name) + estimate_text(&call.arguments));
                estimate_text(&answer.text) + estimate_text(&answer.reasoning) + calls.sum::<u64>()
            }
        }
}

/// An estimate that learns from each answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Estimator {
    last: Option<Measured>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Measured {
    estimated: u64,
    counted: u64,
}

impl Estimator {
    /// Learns that a prompt which was estimated so was counted so by the vendor. A count of 0 is no count.
    pub fn learn(&mut self, estimated: u64, counted: u64) {
        if counted > 0 && estimated > 0 {
            self.last = Some(Measured { estimated, counted });
        }
    }

    /// Corrects the estimate of a prompt: what was counted last counts as such, and what was added since is scaled by how
    /// far the last estimate was off, between half and double.
    #[must_use]
    pub fn correct(&self, estimated: u64) -> u64 {
        let Some(last) = self.last else { return estimated };
        let factor = last
            .counted
            .clamp(last.estimated.div_ceil(2), last.estimated.saturating_mul(2));
        let scale = |tokens: u64| tokens.saturating_mul(factor).div_ceil(last.estimated);
        match estimated.checked_sub(last.estimated) {
            Some(added) => last.counted.saturating_add(scale(added)),
            // The conversation was folded: nothing of it was counted as it is now.
            None => scale(estimated),
        }
    }
}

#[cfg(test)]
mod tests {
    use conversation::{AssistantMessage, CallId, ItemId, ToolCall, UserMessage};

    use super::*;

    #[test]
    fn texts_are_estimated_high_rather_than_low() {
        let check = |text: &str, want| assert_eq!(estimate_text(text), want, "{text}");
        check("", 0);
        check("abcd", 1);
        check("abcde", 2);
        check("汉字", 2);
        check("é", 1);
        check("👩", 2);
        check("ab汉", 2);
    }

    #[test]
    fn every_part_of_a_message_counts() {
        let user = Message::User(UserMessage {
            text: "abcd".to_owned(),
        });
        let call = ToolCall {
            id: CallId::new(ItemId(1), 0),
            name: "bash".to_owned(),
            arguments: "{\"a\": 1}".to_owned(),
            malformed: None,
        };
        let answer = AssistantMessage {
            text: "abcd".to_owned(),
            reasoning: "abcdefgh".to_owned(),
            calls: vec![call],
            ..AssistantMessage::default()
        };
        assert_eq!(
            estimate_messages(&[user, Message::Assistant(answer)]),
            3 * FRAME + 1 + 1 + 2 + 1 + 2
        );
    }

    #[test]
    fn learns_from_counts() {
        let mut estimator = Estimator::default();
        assert_eq!(estimator.correct(1000), 1000);
        estimator.learn(1000, 0);
        assert_eq!(estimator.correct(1000), 1000);
        estimator.learn(1000, 1200);
        assert_eq!(estimator.correct(1000), 1200);
        assert_eq!(estimator.correct(1100), 1320);
        assert_eq!(estimator.correct(500), 600);
        estimator.learn(1000, 9000);
        assert_eq!(estimator.correct(1100), 9200);
        assert!(estimator.correct(u64::MAX) > 0);
    }
}
