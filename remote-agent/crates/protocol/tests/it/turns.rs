//! What a turn tells of itself.

use protocol::{Outcome, TurnEvent, Wait};

use crate::samples::{TURN, call, command, cost, usage};

pub(crate) fn turn_events() -> impl Iterator<Item = (&'static str, TurnEvent)> {
    let submitted = TurnEvent::Submitted {
        turn: TURN,
        text: "fix \"it\"\n".into(),
        command: command(),
    };
    let partial = TurnEvent::Partial {
        turn: TURN,
        item: 5,
        offset: 10,
        text: "text".into(),
    };
    let discarded = TurnEvent::Discarded {
        turn: TURN,
        item: 5,
        reason: "the connection to the model ended early".into(),
    };
    let plain = TurnEvent::Assistant {
        turn: TURN,
        item: 5,
        text: "done".into(),
        reasoning: String::new(),
        calls: vec![],
        usage: None,
        cost: None,
    };
    let calling = TurnEvent::Assistant {
        turn: TURN,
        item: 6,
        text: String::new(),
        reasoning: "I look first".into(),
        calls: vec![call()],
        usage: Some(usage()),
        cost: None,
    };
    let priced = TurnEvent::Assistant {
        turn: TURN,
        item: 7,
        text: "done".into(),
        reasoning: String::new(),
        calls: vec![],
        usage: Some(usage()),
        cost: Some(cost()),
    };
    let cancel = TurnEvent::CancelRequested {
        turn: TURN,
        command: command(),
    };
    let ended = TurnEvent::Ended {
        turn: TURN,
        outcome: Outcome::Completed,
        usage: usage(),
    };
    [
        ("turn.submitted", submitted),
        ("turn.started", TurnEvent::Started { turn: TURN }),
        ("turn.partial", partial),
        ("turn.discarded", discarded),
        ("turn.assistant", plain),
        ("turn.assistant_with_calls", calling),
        ("turn.assistant_with_cost", priced),
        ("turn.cancel_requested", cancel),
        ("turn.ended", ended),
    ]
    .into_iter()
    .chain(waits())
}

/// A turn that waits for whoever has the key.
fn waits() -> [(&'static str, TurnEvent); 3] {
    let waiting = TurnEvent::Waiting {
        turn: TURN,
        what: Wait::Credentials,
    };
    let again = TurnEvent::AskedAgain {
        turn: TURN,
        reason: "the machine with the key went away in mid-answer; asking again".into(),
    };
    [
        ("turn.waiting", waiting),
        ("turn.went_on", TurnEvent::WentOn { turn: TURN }),
        ("turn.asked_again", again),
    ]
}
