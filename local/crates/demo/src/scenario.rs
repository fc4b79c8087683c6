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

/// What the test prints when the mistake is mended.
const PASSES: &str = "ok    2 + 3 = 5";
/// What is said when the person does not approve the change.
const REFUSED: &str =
    "You said no, so add.sh stays as it is. To see the rest, start the demo again and say yes.";
/// What is said to whatever else is asked.
const ENDING: &str = "I only follow a script, and it is at its end. To work with a real model on a host of yours: \
    reasonix remote add";
/// How often.
const ENDINGS: usize = 50;

/// Gives the last answer in full.
pub(crate) fn explanation() -> String {
    format!("{BEFORE}{AFTER}")
}

/// Gives the script.
pub(crate) fn scenario() -> Scenario {
    let mut scenario = Scenario::new().delay_ms(WORD);
    MODEL.clone_into(&mut scenario.model);
    let test = json!({"command": TEST});
    let scenario = scenario
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
        .reply(Reply::new().say(BEFORE).gate(GATE).say(AFTER).when(PASSES));
    (0..ENDINGS).fold(scenario, |scenario, _| {
        scenario
            .reply(Reply::new().say(REFUSED).when("blocked: "))
            .reply(Reply::new().say(ENDING))
    })
}

#[cfg(test)]
mod tests {
    use scripted_model::Part;

    use super::*;

    #[test]
    fn the_cut_is_before_the_gate_and_after_every_earlier_text() {
        assert!(CUT_AFTER < BEFORE.len());
        let replies = scenario().replies;
        let others = replies
            .iter()
            .filter(|reply| !reply.parts.contains(&Part::Gate(GATE.to_owned())));
        assert_eq!(others.clone().count(), replies.len() - 1);
        for part in others.flat_map(|reply| &reply.parts) {
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
