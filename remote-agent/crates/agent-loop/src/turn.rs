//! The loop itself.

use std::sync::Arc;

use conversation::{AssistantMessage, ItemId, Message, PauseReason, TurnOutcome, Usage};
use stdx::task::Scope;

use crate::{
    SessionGone, SessionPort, TurnEvent, TurnInput, TurnOptions,
    dispatch::Dispatcher,
    stream::{self, Answer},
};

/// Runs a turn to its end and reports it, the end included. Cancelling the scope ends it soon with
/// [`TurnOutcome::Cancelled`], every call of the conversation answered.
pub async fn run_turn(options: TurnOptions, input: TurnInput, port: Arc<dyn SessionPort>, scope: Scope) {
    let mut turn = Turn {
        options,
        port,
        scope,
        messages: Vec::new(),
        next_item: input.next_item,
        usage: Usage::default(),
    };
    turn.messages.push(turn.options.context.clone());
    turn.messages.extend(input.messages);
    // A session that is gone has nobody to report to.
    let Ok(outcome) = turn.run(input.max_steps).await else {
        return;
    };
    let ended = TurnEvent::Ended {
        outcome,
        usage: turn.usage,
    };
    if turn.port.commit(ended).await.is_err() {
        tracing::debug!("the session was gone before its turn ended");
    }
}

struct Turn {
    options: TurnOptions,
    port: Arc<dyn SessionPort>,
    scope: Scope,
    /// Everything the model is shown after the system text.
    messages: Vec<Message>,
    next_item: u64,
    usage: Usage,
}

impl Turn {
    async fn run(&mut self, max_steps: u32) -> Result<TurnOutcome, SessionGone> {
        let mut rounds = 0;
        loop {
            if self.scope.token().is_cancelled() {
                return Ok(TurnOutcome::Cancelled);
            }
            if max_steps > 0 && rounds == max_steps {
                return Ok(TurnOutcome::Paused {
                    reason: PauseReason::MaxSteps,
                });
            }
            let message = match self.ask().await? {
                Answer::Complete(message) => message,
                Answer::Ended(outcome) => return Ok(outcome),
            };
            let calls = message.calls.clone();
            self.messages.push(Message::Assistant(message));
            if calls.is_empty() {
                return Ok(TurnOutcome::Completed);
            }
            let dispatcher = Dispatcher {
                options: &self.options,
                port: self.port.as_ref(),
                scope: &self.scope,
            };
            for result in dispatcher.run(calls).await? {
                self.messages.push(Message::Tool(result));
            }
            rounds += 1;
        }
    }

    /// Asks the model once and gives its complete answer, which is reported, or how the turn ends instead.
    async fn ask(&mut self) -> Result<Answer, SessionGone> {
        self.port.commit(TurnEvent::RequestLeaving).await?;
        let request = provider::Request {
            model: &self.options.model.name,
            system: &self.options.system,
            tools: &self.options.specs,
            messages: &self.messages,
            temperature: self.options.model.temperature,
            max_tokens: self.options.model.max_tokens,
        };
        let items = self.options.provider.stream(&request, self.scope.token());
        let mut answer = stream::fold(items, self.port.as_ref(), &mut self.next_item).await?;
        if let Answer::Complete(message) = &mut answer {
            let price = self.options.model.price;
            let now = stdx::clock::unix_millis();
            message.cost = price
                .zip(message.usage)
                .map(|(price, usage)| price.charge(usage, now));
            self.usage += message.usage.unwrap_or_default();
            self.report_answer(message).await?;
        }
        Ok(answer)
    }

    async fn report_answer(&mut self, message: &AssistantMessage) -> Result<(), SessionGone> {
        let item = ItemId(self.next_item);
        self.next_item += 1;
        self.port
            .report(TurnEvent::Assistant {
                item,
                message: message.clone(),
            })
            .await
    }
}
