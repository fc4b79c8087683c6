//! Puts an answer together from the items of a stream.

use conversation::{AssistantMessage, CallId, Failure, FailureKind, Finish, ItemId, ToolCall, TurnOutcome};
use futures_util::StreamExt as _;
use provider::{Call, Cause, ItemStream, StreamItem};

use crate::{SessionGone, SessionPort, TurnEvent};

/// What came of asking the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A whole answer.
    Complete(AssistantMessage),
    /// No answer; the turn ends like this.
    Ended(TurnOutcome),
}

/// Reads a stream to its end, reporting text as it comes. The message that is being put together has number
/// `next_item`; each attempt that is thrown away uses up a number, so that late text cannot be taken for new.
pub(crate) async fn fold(
    mut items: ItemStream,
    port: &dyn SessionPort,
    next_item: &mut u64,
) -> Result<Answer, SessionGone> {
    let mut message = AssistantMessage::default();
    let mut finished = None;
    let mut waits = false;
    while let Some(item) = items.next().await {
        let number = ItemId(*next_item);
        match item {
            Ok(StreamItem::Text(text)) => {
                message.text.push_str(&text);
                port.report(TurnEvent::Text { item: number, text }).await?;
            }
            Ok(StreamItem::Reasoning(text)) => {
                message.reasoning.push_str(&text);
                port.report(TurnEvent::Reasoning { item: number, text }).await?;
            }
            Ok(StreamItem::Call(call)) => message.calls.push(tool_call(number, call)),
            Ok(StreamItem::Usage(usage)) => message.usage = Some(usage),
            Ok(StreamItem::Finish(finish)) => finished = Some(finish),
            Ok(StreamItem::Retrying { attempt, cause, .. }) => {
                message = AssistantMessage::default();
                let reason = format!("{cause}; attempt {attempt} follows");
                port.report(TurnEvent::Discarded { item: number, reason }).await?;
                *next_item += 1;
            }
            Ok(StreamItem::AskedAgain { reason }) => {
                message = AssistantMessage::default();
                let discarded = TurnEvent::Discarded {
                    item: number,
                    reason: reason.clone(),
                };
                port.report(discarded).await?;
                port.report(TurnEvent::AskedAgain { reason }).await?;
                *next_item += 1;
            }
            Ok(StreamItem::Waiting) => {
                waits = true;
                port.report(TurnEvent::Waiting).await?;
            }
            Ok(StreamItem::WentOn) => {
                waits = false;
                port.report(TurnEvent::WentOn).await?;
            }
            Err(error) if matches!(error.cause, Cause::Cancelled) => {
                return Ok(Answer::Ended(TurnOutcome::Cancelled));
            }
            Err(error) => return Ok(Answer::Ended(TurnOutcome::Failed(error.failure()))),
        }
    }
    if waits {
        // The answer was whole but for its last bytes.
        port.report(TurnEvent::WentOn).await?;
    }
    Ok(match finished {
        Some(finish) => Answer::Complete(AssistantMessage {
            finish: settle(finish, &message),
            ..message
        }),
        None => Answer::Ended(TurnOutcome::Failed(Failure {
            kind: FailureKind::ModelProtocol,
            message: "the model's answer ended before it was complete".to_owned(),
            hint: Some("submit again".to_owned()),
        })),
    })
}

/// Vendors disagree on the reason they give with calls; what counts is whether there are any.
fn settle(finish: Finish, message: &AssistantMessage) -> Finish {
    match (finish, message.calls.is_empty()) {
        (Finish::Stop | Finish::Other, false) => Finish::ToolCalls,
        (Finish::ToolCalls, true) => Finish::Stop,
        (other, _) => other,
    }
}

fn tool_call(item: ItemId, call: Call) -> ToolCall {
    ToolCall {
        id: CallId::new(item, call.index),
        name: call.name,
        arguments: call.arguments,
        malformed: call.malformed,
    }
}
