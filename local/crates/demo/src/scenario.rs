//! What the model says and does.

use scripted_model::{Reply, Scenario};
use serde_json::json;

use crate::repository::{RIGHT, SCRIPT, TEST, WRONG};

/// The model's name.
pub(crate) const MODEL: &str = "scripted";
/// What the person asks.
pub(crate) const REQUEST: &str = "The test in this folder fails. Find out why and fix it.";
/// The gate in the middle of the last answer: the model stops there until the connection is cut, so that the cut is
/// in mid-sentence however busy the machine is.
pub(crate) const GATE: &str = "the connection is cut";
/// Bytes of the last answer that must have arrived before the cut. More than any earlier text, less than is before
/// the gate.
pub(crate) const CUT_AFTER: usize = 240;

/// Milliseconds before each word.
const WORD: u64 = 20;

const BEFORE: &str = "The test passes now. It was a single character: add.sh subtracted its second number instead of \
    adding it, so 2 and 3 gave -1. I read the script, replaced the minus by a plus and ran the test again; both sums \
    are right. While you read this sentence, the SSH connection ";
const AFTER: &str = "was cut, and nobody had to do anything about it. The agent runs on the host, beside the code, and \
    writes every event to its log there before it sends it. So it simply went on, and when the connection came back, \
    your side asked for everything after the last event it had seen. Nothing is lost, and nothing is shown twice.";

/// Gives the last answer in full.
pub(crate) fn explanation() -> String {
    format!("{BEFORE}{AFTER}")
}

/// Gives the script.
pub(crate) fn scenario() -> Scenario {
    let mut scenario = Scenario::new().delay_ms(WORD);
    MODEL.clone_into(&mut scenario.model);
    let test = json!({"command": TEST});
    scenario
        .reply(Reply::new().say("I run the test first.").call("bash", &test))
        .reply(
            Reply::new()
                .say("2 + 3 is not -1: the mistake must be in add.sh.")
                .call("read_file", &json!({"path": SCRIPT})),
        )
        .reply(Reply::new().say("It subtracts.").call(
            "edit_file",
            &json!({"path": SCRIPT, "old_string": WRONG, "new_string": RIGHT}),
        ))
        .reply(Reply::new().say("And again:").call("bash", &test))
        .reply(Reply::new().say(BEFORE).gate(GATE).say(AFTER))
}

#[cfg(test)]
mod tests {
    use scripted_model::Part;

    use super::*;

    #[test]
    fn the_cut_is_before_the_gate_and_after_every_earlier_text() {
        assert!(CUT_AFTER < BEFORE.len());
        let replies = scenario().replies;
        let (_, earlier) = replies.split_last().unwrap();
        for part in earlier.iter().flat_map(|reply| &reply.parts) {
            if let Part::Say(text) = part {
                assert!(text.len() < CUT_AFTER, "{text}");
            }
        }
        assert!(
            explanation().is_ascii(),
            "byte offsets in messages are places a person can find"
        );
    }
}
