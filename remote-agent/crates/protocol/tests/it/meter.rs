//! Context and cost, folded from events.

use protocol::{Amount, Applied, Event, EventEnvelope, SessionEvent, Snapshot, TurnEvent, TurnId, UsageView};

use crate::samples;

#[test]
fn context_and_cost_are_known_or_absent_and_never_invented() {
    let mut snapshot = Snapshot::empty(samples::session());
    let mut n = 0;
    let mut apply = |snapshot: &mut Snapshot, event| {
        n += 1;
        let envelope = EventEnvelope { n, at: 0, event };
        assert_eq!(snapshot.apply(&envelope), Ok(Applied::Changed));
    };
    let answer = |input: Option<u64>, micros: Option<u64>| {
        Event::Turn(TurnEvent::Assistant {
            turn: TurnId(1),
            item: 1,
            text: String::new(),
            reasoning: String::new(),
            calls: vec![],
            usage: input.map(|input| UsageView {
                input,
                cached: 0,
                output: 1,
            }),
            cost: micros.map(|micros| Amount {
                currency: "USD".into(),
                micros,
            }),
        })
    };
    let model = |context_window| {
        Event::Session(SessionEvent::ModelChanged {
            model: "other".into(),
            context_window,
        })
    };
    apply(&mut snapshot, answer(None, None));
    assert!(snapshot.context.is_unknown() && snapshot.cost.total().is_none());
    apply(&mut snapshot, answer(Some(500), Some(20)));
    apply(&mut snapshot, model(Some(1_000)));
    assert_eq!(snapshot.context.percent(), Some(50));
    apply(&mut snapshot, answer(None, Some(22)));
    assert_eq!(snapshot.context.used, Some(500), "the last count stays");
    assert_eq!(snapshot.cost.total().map(|amount| amount.micros), Some(42));
    assert_eq!(snapshot.cost.unpriced, 1);
    apply(&mut snapshot, model(None));
    assert_eq!(
        (snapshot.context.percent(), snapshot.session.model.as_str()),
        (None, "other")
    );
}
