//! Runs one call: checked, let through the gate, written down as started, run, and answered.

use std::sync::Arc;

use conversation::{CallOutcome, Effect, Question, Response, ToolCall, ToolMessage};
use serde_json::Value;
use stdx::task::Scope;
use tokio::sync::mpsc;
use tools::{Tool, ToolContext, ToolResult};

use crate::{
    Inquiry, SessionGone, SessionPort, TurnEvent, TurnOptions, access,
    gate::{Asking, CANCELLED, Gate},
};

/// Pieces of live output that wait for the session; a tool merges what does not fit.
const LIVE: usize = 16;

/// A call whose tool exists and whose arguments fit its schema.
pub(crate) struct Prepared<'a> {
    call: &'a ToolCall,
    tool: Arc<dyn Tool>,
    args: Value,
    /// What a person is asked before it runs.
    questions: Vec<Question>,
    tools: &'a ToolContext,
}

impl<'a> Prepared<'a> {
    /// Checks a call. The error is its result: what was wrong, and how to do it right.
    pub(crate) fn new(call: &'a ToolCall, options: &'a TurnOptions) -> Result<Self, ToolMessage> {
        let failed = |text: String| answer(call, CallOutcome::Failed, format!("error: {text}"));
        if let (Some(_), Some(why)) = (options.registry.find(&call.name), &call.malformed) {
            return Err(failed(format!(
                "argument validation failed for \"{}\": {why}",
                call.name
            )));
        }
        match options.registry.check(&call.name, &call.arguments) {
            Ok((tool, args)) => {
                let questions = tool.questions(&args).map_err(|error| failed(error.to_string()))?;
                Ok(Self {
                    call,
                    tool,
                    args,
                    questions,
                    tools: &options.tools,
                })
            }
            Err(rejection) => Err(failed(rejection.to_string())),
        }
    }

    /// Says what the call may do.
    pub(crate) fn effect(&self) -> Effect {
        self.tool.effect()
    }

    /// Says whether a person must answer something before it runs.
    pub(crate) fn asks_a_person(&self) -> bool {
        !self.questions.is_empty()
    }

    /// Gives what the gate looks at.
    pub(crate) fn asking(&self) -> Asking<'_> {
        Asking {
            call: self.call,
            tool: self.tool.as_ref(),
            args: &self.args,
            tools: self.tools,
        }
    }

    /// Runs the call and gives its result.
    pub(crate) async fn run(self, port: &dyn SessionPort, scope: &Scope) -> Result<ToolMessage, SessionGone> {
        if scope.token().is_cancelled() {
            return Ok(answer(self.call, CallOutcome::Cancelled, CANCELLED.to_owned()));
        }
        let (permit, preset, subjects) = match self.asking().decide(port).await? {
            Gate::Open {
                permit,
                preset,
                subjects,
            } => (permit, preset, subjects),
            Gate::Shut(outcome, text) => return Ok(answer(self.call, outcome, text)),
        };
        // Before it counts as started: a daemon that dies while a person thinks has run nothing.
        let response = match self.inquire(port).await? {
            Asked::Go(response) => response,
            Asked::Withdrawn => {
                return Ok(answer(self.call, CallOutcome::Cancelled, CANCELLED.to_owned()));
            }
        };
        if scope.token().is_cancelled() {
            return Ok(answer(self.call, CallOutcome::Cancelled, CANCELLED.to_owned()));
        }
        port.commit(TurnEvent::CallStarted {
            call: self.call.id.clone(),
        })
        .await?;
        let (live, output) = mpsc::channel(LIVE);
        let mut cx = self.tools.clone();
        access::apply(&mut cx, preset, permit, &subjects);
        cx.response = response;
        cx.live = Some(live);
        cx.token = scope.token().child_token();
        let Self { call, tool, args, .. } = self;
        let result = watch(call, tool.run(args, &cx), output, port).await?;
        Ok(answer(call, result.outcome, result.content))
    }

    /// Puts the call's own questions to a person.
    async fn inquire(&self, port: &dyn SessionPort) -> Result<Asked, SessionGone> {
        if self.questions.is_empty() {
            return Ok(Asked::Go(None));
        }
        let inquiry = Inquiry {
            call: self.call.id.clone(),
            tool: self.call.name.clone(),
            questions: self.questions.clone(),
        };
        Ok(match port.inquire(inquiry).await? {
            Some(response) => Asked::Go(Some(response)),
            None => Asked::Withdrawn,
        })
    }
}

/// What came of a call's own questions.
enum Asked {
    /// The call may go on, with the answer if it asked something.
    Go(Option<Response>),
    /// The turn is being stopped.
    Withdrawn,
}

/// Waits for a tool and reports its output meanwhile.
async fn watch(
    call: &ToolCall,
    mut run: tools::BoxFuture<'_, ToolResult>,
    mut output: mpsc::Receiver<String>,
    port: &dyn SessionPort,
) -> Result<ToolResult, SessionGone> {
    loop {
        tokio::select! {
            biased;
            result = &mut run => return Ok(result),
            Some(text) = output.recv() => {
                port.report(TurnEvent::Output { call: call.id.clone(), text }).await?;
            }
        }
    }
}

fn answer(call: &ToolCall, outcome: CallOutcome, content: String) -> ToolMessage {
    ToolMessage {
        call: call.id.clone(),
        outcome,
        content,
    }
}
