//! What a turn came to.

use protocol::{CallOutcome, Item, Outcome, Snapshot, ToolState, TurnId};
use serde_json::{Value, json};

use crate::exit::Exit;

/// Gives the exit code of a turn, once its end is known.
pub(crate) fn exit_of(snapshot: &Snapshot, turn: TurnId) -> Option<Exit> {
    let outcome = outcome(snapshot, turn)?;
    Some(match outcome {
        Outcome::Completed if !denied(snapshot, turn).is_empty() => Exit::Failed,
        Outcome::Completed => Exit::Success,
        Outcome::Cancelled => Exit::Interrupted,
        Outcome::Paused { .. } => Exit::Paused,
        Outcome::Failed { kind, .. } if is_no_access(kind) => Exit::ModelAccess,
        Outcome::Failed { .. } | Outcome::Interrupted | Outcome::Unknown => Exit::Failed,
    })
}

/// Says whether the model could not be asked: no key, no budget, or an endpoint that is not reached or keeps failing.
fn is_no_access(kind: &str) -> bool {
    matches!(kind, "model_access" | "model_unreachable")
}

/// Gives how a turn ended.
pub(crate) fn outcome(snapshot: &Snapshot, turn: TurnId) -> Option<&Outcome> {
    snapshot.items.iter().rev().find_map(|item| match item {
        Item::TurnEnd {
            turn: ended, outcome, ..
        } if *ended == turn => Some(outcome),
        _ => None,
    })
}

/// Gives the turn that ended last.
pub(crate) fn last_turn(snapshot: &Snapshot) -> Option<TurnId> {
    snapshot.items.iter().rev().find_map(|item| match item {
        Item::TurnEnd { turn, .. } => Some(*turn),
        _ => None,
    })
}

/// Gives the last thing the model said in a turn.
pub(crate) fn answer(snapshot: &Snapshot, turn: TurnId) -> &str {
    let said = snapshot.items.iter().rev().find_map(|item| match item {
        Item::Assistant { turn: of, text, .. } if *of == turn && !text.is_empty() => Some(text.as_str()),
        _ => None,
    });
    said.unwrap_or_default()
}

/// Lists the calls of a turn that were refused: tool and arguments.
pub(crate) fn denied(snapshot: &Snapshot, turn: TurnId) -> Vec<Value> {
    let refused = |item: &Item| match item {
        Item::Tool {
            turn: of,
            name,
            arguments,
            state: ToolState::Done {
                outcome: CallOutcome::Denied,
            },
            output,
            ..
        } if *of == turn => {
            let arguments: Value = serde_json::from_str(arguments).unwrap_or(Value::Null);
            Some(
                json!({"tool": name, "arguments": arguments, "reason": stdx::bounded::one_line(output, 500)}),
            )
        }
        _ => None,
    };
    snapshot.items.iter().filter_map(refused).collect()
}

/// Counts the answers of the model in a turn.
pub(crate) fn rounds(snapshot: &Snapshot, turn: TurnId) -> usize {
    snapshot
        .items
        .iter()
        .filter(|item| matches!(item, Item::Assistant { turn: of, .. } if *of == turn))
        .count()
}
