//! Prints a session: text as it comes, or JSON.

use std::collections::HashMap;

use client::{Counts, Update};
use protocol::{CallOutcome, DeltaTarget, Frame, Item, Outcome, Snapshot, ToolState, TurnId, snapshot::Wait};
use serde_json::{Value, json};

use super::summary;
use crate::{args::OutputFormat, ask::visible, exit::Exit, report::SCHEMA, terminal};

/// Bytes of a tool call's arguments that are shown.
const SHOWN_ARGUMENTS: usize = 300;
/// Bytes of a tool's name that are shown.
const SHOWN_NAME: usize = 100;

/// What was printed, so that nothing is printed twice and nothing left out.
#[derive(Debug)]
pub(crate) struct Output {
    format: OutputFormat,
    started: std::time::Instant,
    /// The last turn whose request was printed; `None` prints no requests.
    requests: Option<u64>,
    /// Bytes printed of each answer.
    said: HashMap<u64, usize>,
    /// Calls whose line was printed.
    calls: HashMap<String, bool>,
    /// The answer whose text was printed last, if that had no line end.
    open_line: Option<u64>,
    /// What was said of keys on another machine.
    credentials: Credentials,
}

impl Output {
    /// Starts after what a state already shows. `with_requests` also prints what people asked for, as text.
    pub(crate) fn new(format: OutputFormat, known: &Snapshot, with_requests: bool) -> Self {
        if format == OutputFormat::StreamJson && known.at > 0 {
            // A reader of the lines would otherwise miss what was before the first of them.
            print_frame(&Frame::Snapshot(Box::new(known.clone())));
        }
        let mut output = Self {
            requests: with_requests.then_some(0),
            format,
            started: stdx::clock::monotonic(),
            said: HashMap::new(),
            calls: HashMap::new(),
            open_line: None,
            credentials: Credentials {
                is_waiting: false,
                asked_again: known.asked_again,
            },
        };
        for item in &known.items {
            match item {
                Item::Assistant {
                    id,
                    text,
                    complete: true,
                    ..
                } => drop(output.said.insert(*id, text.len())),
                Item::Tool {
                    call,
                    state: ToolState::Done { .. },
                    ..
                } => drop(output.calls.insert(call.clone(), true)),
                _ => {}
            }
        }
        output
    }

    /// Prints what an update brought.
    pub(crate) fn update(&mut self, update: &Update, view: &Snapshot) {
        for line in self.credentials.news(view) {
            terminal::error(&line);
        }
        match (self.format, update) {
            (OutputFormat::Json, _) => {}
            (OutputFormat::StreamJson, Update::Frame(frame)) => print_frame(frame),
            (OutputFormat::StreamJson, Update::Refreshed) => {
                print_frame(&Frame::Snapshot(Box::new(view.clone())));
            }
            (OutputFormat::StreamJson, Update::Closed) | (OutputFormat::Text, Update::Closed) => {}
            // Streamed text belongs to the newest items, so only those are looked at.
            (OutputFormat::Text, Update::Frame(Frame::Delta(delta))) => {
                if let DeltaTarget::Text { item } = delta.target {
                    self.say(item, view);
                }
            }
            (OutputFormat::Text, _) => self.items(view),
        }
    }

    /// Prints the end of a turn.
    pub(crate) fn finish(&mut self, view: &Snapshot, turn: Option<TurnId>, exit: Exit, counts: Counts) {
        let Some(turn) = turn else { return };
        match self.format {
            OutputFormat::Text => self.finish_text(view, turn),
            OutputFormat::Json | OutputFormat::StreamJson => {
                terminal::line(&self.result(view, turn, exit, counts).to_string());
            }
        }
    }

    fn items(&mut self, view: &Snapshot) {
        for item in &view.items {
            match item {
                Item::Assistant { id, .. } => self.say(*id, view),
                Item::Tool {
                    call,
                    name,
                    arguments,
                    state,
                    ..
                } => self.tool(call, name, arguments, *state),
                Item::User { turn, text } => self.request(turn.0, text),
                Item::TurnEnd { .. } | Item::Unknown => {}
            }
        }
    }

    /// Prints a request, once and if wanted.
    fn request(&mut self, turn: u64, text: &str) {
        if self.requests.is_none_or(|last| turn <= last) {
            return;
        }
        self.requests = Some(turn);
        self.end_line();
        terminal::line(&format!("> {}", visible(text).replace('\n', "\n> ")));
    }

    /// Prints what is new of an answer.
    fn say(&mut self, wanted: u64, view: &Snapshot) {
        let text = view.items.iter().rev().find_map(|item| match item {
            Item::Assistant {
                id, text, complete, ..
            } if *id == wanted => Some((text, *complete)),
            _ => None,
        });
        let Some((text, complete)) = text else { return };
        let from = self.said.get(&wanted).copied().unwrap_or_default();
        if let Some(new) = text.get(from..).filter(|new| !new.is_empty()) {
            if self.open_line != Some(wanted) {
                self.end_line();
            }
            terminal::text(&visible(new));
            self.open_line = (!new.ends_with('\n')).then_some(wanted);
        }
        self.said.insert(wanted, text.len());
        // Only its own line: an earlier answer is complete while a later one streams.
        if complete && self.open_line == Some(wanted) {
            self.end_line();
        }
    }

    fn tool(&mut self, call: &str, name: &str, arguments: &str, state: ToolState) {
        let over = matches!(state, ToolState::Done { .. });
        match self.calls.get(call) {
            None => {
                self.end_line();
                let shown = stdx::bounded::one_line(&visible(arguments), SHOWN_ARGUMENTS);
                // A model may call a tool that does not exist by a name with line ends in it.
                let name = stdx::bounded::one_line(&visible(name), SHOWN_NAME);
                terminal::line(&format!("-> {name} {shown}"));
            }
            Some(false) if over => {}
            Some(_) => return,
        }
        self.calls.insert(call.to_owned(), over);
        if let ToolState::Done { outcome } = state
            && outcome != CallOutcome::Ok
        {
            terminal::line(&format!("   {}", word(outcome)));
        }
    }

    fn finish_text(&mut self, view: &Snapshot, turn: TurnId) {
        self.items(view);
        self.end_line();
        match summary::outcome(view, turn) {
            Some(Outcome::Failed { message, hint, .. }) => {
                terminal::error(&format!("error: {}", visible(message)));
                if let Some(hint) = hint {
                    terminal::error(&format!("hint: {}", visible(hint)));
                }
            }
            Some(Outcome::Paused { reason }) => terminal::error(&format!("paused: {reason}")),
            Some(Outcome::Interrupted) => {
                terminal::error("interrupted: the agent ended in mid-turn; submit again to go on from here");
            }
            Some(Outcome::Cancelled) => terminal::error("stopped"),
            _ => {}
        }
        let denied = summary::denied(view, turn);
        if !denied.is_empty() {
            terminal::error(&format!("{} call(s) were denied", denied.len()));
        }
    }

    fn end_line(&mut self) {
        if self.open_line.take().is_some() {
            terminal::text("\n");
        }
    }

    fn result(&self, view: &Snapshot, turn: TurnId, exit: Exit, counts: Counts) -> Value {
        let outcome = summary::outcome(view, turn);
        let missed = view.usage.input.saturating_sub(view.usage.cached);
        let mut result = json!({
            "type": "result",
            "schema": SCHEMA,
            "subtype": if exit == Exit::Success { "success" } else { "error_during_execution" },
            "is_error": exit != Exit::Success,
            "exit_code": exit.code(),
            "duration_ms": u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            "num_turns": summary::rounds(view, turn),
            "result": summary::answer(view, turn),
            "session_id": view.session.session,
            "workspace": view.session.workspace,
            "usage": {
                "input_tokens": view.usage.input,
                "output_tokens": view.usage.output,
                "cache_read_input_tokens": view.usage.cached,
                "cache_creation_input_tokens": missed,
            },
            "denied_calls": summary::denied(view, turn),
            "events": {"last": view.at, "received": counts.received, "doubled": counts.duplicates, "gaps": counts.gaps},
        });
        if let (Some(object), Some(outcome)) = (result.as_object_mut(), outcome) {
            object.insert("outcome".to_owned(), json!(outcome));
        }
        result
    }
}

/// What is told, on standard error, of a session whose keys are on another machine.
#[derive(Debug, PartialEq, Eq)]
struct Credentials {
    is_waiting: bool,
    asked_again: u64,
}

impl Credentials {
    /// Gives what is new.
    fn news(&mut self, view: &Snapshot) -> Vec<String> {
        let now = Self {
            is_waiting: view.waiting == Some(Wait::Credentials),
            asked_again: view.asked_again,
        };
        let mut lines = Vec::new();
        if now.is_waiting && !self.is_waiting {
            lines.push(
                "waiting for credentials: the turn goes on when a machine with the key is connected"
                    .to_owned(),
            );
        } else if self.is_waiting && !now.is_waiting {
            lines.push("the turn goes on".to_owned());
        }
        if now.asked_again > self.asked_again {
            lines.push(format!(
                "the model was asked once more: the machine with the key had gone away before its answer was whole ({} so far)",
                now.asked_again
            ));
        }
        *self = now;
        lines
    }
}

fn print_frame(frame: &Frame) {
    let mut value = serde_json::to_value(frame).unwrap_or(Value::Null);
    if let Some(object) = value.as_object_mut() {
        object.insert("schema".to_owned(), SCHEMA.into());
    }
    terminal::line(&value.to_string());
}

fn word(outcome: CallOutcome) -> &'static str {
    match outcome {
        CallOutcome::Ok => "done",
        CallOutcome::Failed => "failed",
        CallOutcome::Denied => "denied",
        CallOutcome::Cancelled => "not started: the turn was stopped",
        CallOutcome::Interrupted => "interrupted",
        CallOutcome::Unknown => "unknown: it may have run before the agent ended",
    }
}
