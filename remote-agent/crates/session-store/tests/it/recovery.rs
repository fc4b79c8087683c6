//! Replaying and recovering (field report RA-46).

use conversation::{AssistantMessage, CallOutcome, ItemId, Message, TurnId, TurnOutcome, Usage};
use session_store::{
    INTERRUPTED_MARK, Receipt, Record, Replayed, Stored,
    record::{CallRecord, PromptRecord, SessionRecord, TurnRecord},
    recover, replay,
};

use crate::samples::{
    AT, assert_valid, assistant, by, call_finished, call_started, ended, opened, partial, prompt_answered,
    prompt_opened, scenario, started, submitted,
};

fn stored(records: &[Record]) -> Vec<Stored> {
    records
        .iter()
        .zip(1..)
        .map(|(record, n)| Stored {
            n,
            at: AT,
            record: record.clone(),
        })
        .collect()
}

fn state_of(records: &[Record]) -> Replayed {
    replay(&stored(records))
}

fn recovered(state: &mut Replayed) -> Vec<Record> {
    let records = recover(state);
    for (record, n) in records.iter().zip(state.last + 1..) {
        state.apply(&Stored {
            n,
            at: AT,
            record: record.clone(),
        });
    }
    records
}

fn discarded(item: u64) -> Record {
    Record::Turn(TurnRecord::Discarded {
        turn: TurnId(1),
        item: ItemId(item),
        reason: "retry".to_owned(),
    })
}

fn cancel_requested(turn: u64) -> Record {
    Record::Turn(TurnRecord::CancelRequested {
        turn: TurnId(turn),
        by: by("cancel"),
    })
}

fn texts(state: &Replayed) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::User(user) => format!("user: {}", user.text),
        Message::Assistant(assistant) => format!("assistant: {}", assistant.text),
        Message::Tool(result) => format!("{} {:?}", result.call, result.outcome),
    };
    state.transcript.iter().map(text).collect()
}

#[test]
fn a_whole_session_adds_up() {
    let state = state_of(&scenario());
    assert_eq!(state.last, 40);
    assert_eq!(state.opened.as_ref().unwrap().workspace, "/srv/app");
    assert_eq!(state.prefix.as_ref().unwrap().context, "汉字");
    assert_eq!(
        (state.counters.turns, state.counters.items, state.counters.prompts),
        (3, 31, 3)
    );
    assert_eq!(
        state.usage,
        Usage {
            input: 400,
            cached: 256,
            output: 28
        }
    );
    assert_eq!(
        state.commands["submit-1"],
        Receipt {
            body: by("x").body,
            n: 3,
            turn: Some(TurnId(1))
        }
    );
    assert_eq!(state.commands.len(), 6);
    assert_eq!(state.transcript.len(), 15);
    assert_valid(&state.transcript);
    let open = state.phase.turn.as_ref().unwrap();
    assert_eq!(
        (open.turn, open.usage),
        (
            TurnId(3),
            Usage {
                input: 200,
                cached: 128,
                output: 14
            }
        )
    );
    // The second call finished first; the model sees the results in the order of its calls.
    assert_eq!(texts(&state)[2..4], ["call_10_0 Ok", "call_10_1 Ok"]);
}

#[test]
fn a_crash_at_every_record_is_recovered_from_even_if_recovery_crashes() {
    let records = scenario();
    for crash in 0..=records.len() {
        let state = state_of(&records[..crash]);
        let full = recover(&state);
        for part in 0..=full.len() {
            let mut state = state_of(&[&records[..crash], &full[..part]].concat());
            assert_eq!(
                recovered(&mut state),
                full[part..],
                "crash at {crash}, again at {part}"
            );
            assert_valid(&state.transcript);
            let phase = &state.phase;
            assert!(phase.turn.is_none() && phase.calls.is_empty() && phase.prompts.is_empty());
            assert!(phase.partial.is_none());
            assert_eq!(recover(&state), [], "crash at {crash}");
        }
    }
}

#[test]
fn running_calls_become_unknown_and_others_cancelled() {
    let mut state = state_of(&[
        opened(),
        submitted(1, "go"),
        started(1),
        assistant(1, 1, "", 3),
        call_started(1, 1, 0),
        call_finished(1, 1, 0, "ok"),
        call_started(1, 1, 1),
        prompt_opened(1, 1, 1, 2),
    ]);
    let records = recovered(&mut state);
    assert!(matches!(&records[..], [
        Record::Call(CallRecord::Finished { result: unknown, .. }),
        Record::Call(CallRecord::Finished { result: cancelled, .. }),
        Record::Prompt(PromptRecord::Withdrawn { prompt: 1, .. }),
        Record::Turn(TurnRecord::Ended { outcome: TurnOutcome::Interrupted, usage, .. }),
    ] if unknown.outcome == CallOutcome::Unknown && unknown.content.contains("before you repeat it")
        && cancelled.outcome == CallOutcome::Cancelled && usage.input == 100));
    assert_eq!(
        texts(&state)[2..],
        ["call_1_0 Ok", "call_1_1 Unknown", "call_1_2 Cancelled"]
    );
    assert_valid(&state.transcript);
}

#[test]
fn a_turn_that_was_told_to_stop_is_not_offered_for_resumption() {
    let mut state = state_of(&[opened(), submitted(1, "go"), started(1), cancel_requested(1)]);
    let records = recovered(&mut state);
    assert!(matches!(
        &records[..],
        [Record::Turn(TurnRecord::Ended {
            outcome: TurnOutcome::Cancelled,
            ..
        })]
    ));
}

#[test]
fn partial_text_is_kept_and_a_discarded_message_is_gone() {
    let mut state = state_of(&[
        opened(),
        submitted(1, "go"),
        started(1),
        partial(1, 1, 0, "thrown away"),
        discarded(1),
        partial(1, 2, 0, "汉"),
        partial(1, 2, 0, "汉字"),
        partial(1, 2, 6, "👩"),
        partial(1, 2, 1, "known bit more"),
    ]);
    assert_eq!(state.phase.partial.as_ref().unwrap().text, "汉字👩 more");
    recovered(&mut state);
    let last = texts(&state).pop().unwrap();
    assert!(
        last.starts_with("assistant: 汉字👩") && last.ends_with(INTERRUPTED_MARK),
        "{last}"
    );
    assert_eq!(state.transcript.len(), 2);
}

#[test]
fn a_lost_piece_of_text_is_marked_and_a_piece_cut_inside_a_character_is_dropped() {
    let mut state = state_of(&[
        submitted(1, "go"),
        started(1),
        partial(1, 1, 0, "ab"),
        partial(1, 1, 5, "fg"),
    ]);
    assert_eq!(state.phase.partial.as_ref().unwrap().text, "ab[…]fg");
    state.apply(&Stored {
        n: 5,
        at: AT,
        record: partial(1, 1, 6, "汉字"),
    });
    assert_eq!(state.phase.partial.as_ref().unwrap().text, "ab[…]fg");
    state.apply(&Stored {
        n: 6,
        at: AT,
        record: partial(1, 1, 7, "h"),
    });
    assert_eq!(state.phase.partial.as_ref().unwrap().text, "ab[…]fgh");
}

#[test]
fn queued_submits_wait_outside_the_transcript_and_leave_when_cancelled() {
    let mut state = state_of(&[
        opened(),
        submitted(1, "one"),
        started(1),
        submitted(2, "two"),
        submitted(3, "three"),
        ended(2),
    ]);
    assert_eq!(texts(&state), ["user: one"]);
    recovered(&mut state);
    assert_eq!(
        state
            .phase
            .queued
            .iter()
            .map(|queued| queued.turn)
            .collect::<Vec<_>>(),
        [TurnId(3)]
    );
    state.apply(&Stored {
        n: 9,
        at: AT,
        record: started(3),
    });
    assert_eq!(texts(&state), ["user: one", "user: three"]);
}

#[test]
fn the_first_receipt_of_a_command_stands() {
    let ignored = |body: &str| {
        let mut by = by("c");
        body.clone_into(&mut by.body);
        Record::Session(SessionRecord::Ignored {
            by,
            reason: "nothing to do".to_owned(),
        })
    };
    let state = state_of(&[opened(), ignored("1"), ignored("2")]);
    assert_eq!(
        state.commands["c"],
        Receipt {
            body: "1".to_owned(),
            n: 2,
            turn: None
        }
    );
}

#[test]
fn prompts_are_open_until_answered_withdrawn_or_their_turn_ends() {
    let start = [
        opened(),
        submitted(1, "go"),
        started(1),
        assistant(1, 1, "", 2),
        prompt_opened(4, 1, 1, 0),
    ];
    let mut state = state_of(&start);
    assert_eq!((state.phase.prompts.len(), state.counters.prompts), (1, 4));
    state.apply(&Stored {
        n: 6,
        at: AT,
        record: prompt_answered(4),
    });
    assert!(state.phase.prompts.is_empty());
    let mut state = state_of(&start);
    state.apply(&Stored {
        n: 6,
        at: AT,
        record: ended(1),
    });
    assert!(state.phase.prompts.is_empty() && state.phase.calls.is_empty());
    assert_valid(&state.transcript);
}

#[test]
fn an_empty_message_does_not_reach_the_model() {
    let message = AssistantMessage::default();
    let empty = Record::Turn(TurnRecord::Assistant {
        turn: TurnId(1),
        item: ItemId(1),
        message,
    });
    let state = state_of(&[submitted(1, "go"), started(1), empty, ended(1)]);
    assert_eq!(texts(&state), ["user: go"]);
}

#[test]
fn any_set_of_lost_records_leaves_a_valid_transcript() {
    let records = scenario();
    let lost = || Record::Unknown {
        kind: session_store::DAMAGED.to_owned(),
        data: serde_json::Value::Null,
    };
    for first in 0..records.len() {
        for second in first..records.len() {
            let mut kept = records.clone();
            kept[first] = lost();
            kept[second] = lost();
            let mut state = state_of(&kept);
            recovered(&mut state);
            assert_valid(&state.transcript);
            assert_eq!(recover(&state), []);
        }
    }
}
