//! What to record after a crash, so that nothing stays open. Pure.

use conversation::{CallOutcome, TurnOutcome};

use crate::{
    Record,
    record::{CallRecord, PromptRecord, TurnRecord},
    replay::{OpenCall, OpenTurn, Replayed},
};

/// The result of a call that was running.
const MAY_HAVE_RUN: &str = "[no result: the agent stopped while this call was running. It may have done all, part or \
                            nothing of its work, and it is not repeated by itself. Check the present state before \
                            you repeat it.]";
/// The result of a call that was not started.
const NOT_STARTED: &str = "[not started: the agent stopped before this call. It changed nothing.]";
/// Why a question is moot.
const MOOT: &str = "the agent stopped while the question was open";

/// Gives the records that end what a dead daemon left running, in order: a result for each open call (`Unknown` when
/// it was started, since it may have run, else `Cancelled`), the withdrawal of each open question, the turn's end.
///
/// The turn ends as `Interrupted`, or as `Cancelled` when a person had asked it to stop, so that it is not offered for
/// resumption. Queued submits stay queued. The list is empty where nothing is open, so a crash in the middle of a
/// recovery is recovered from by doing it again.
#[must_use]
pub fn recover(state: &Replayed) -> Vec<Record> {
    let calls = state.phase.calls.iter().map(end_call);
    let prompts = state.phase.prompts.iter().map(|open| {
        Record::Prompt(PromptRecord::Withdrawn {
            prompt: open.prompt,
            reason: MOOT.to_owned(),
        })
    });
    calls
        .chain(prompts)
        .chain(state.phase.turn.as_ref().map(end_turn))
        .collect()
}

fn end_call(open: &OpenCall) -> Record {
    let (outcome, content) = if open.started {
        (CallOutcome::Unknown, MAY_HAVE_RUN)
    } else {
        (CallOutcome::Cancelled, NOT_STARTED)
    };
    Record::Call(CallRecord::finished(
        open.turn,
        open.call.id.clone(),
        outcome,
        content,
    ))
}

fn end_turn(open: &OpenTurn) -> Record {
    let outcome = if open.cancel_requested {
        TurnOutcome::Cancelled
    } else {
        TurnOutcome::Interrupted
    };
    Record::Turn(TurnRecord::Ended {
        turn: open.turn,
        outcome,
        usage: open.usage,
    })
}
