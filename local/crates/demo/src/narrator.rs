//! Turns what happens into lines.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use protocol::{CallOutcome, Item, Snapshot, ToolState};
use stdx::bounded::one_line;

use crate::line::{Line, Topic};

/// Columns of streamed text.
const WIDTH: usize = 88;
/// Bytes of a tool call's arguments that are shown.
const ARGUMENTS: usize = 100;
/// Lines of a tool's output that are shown.
const OUTPUT: usize = 5;

/// Says what happens, one line at a time.
pub(crate) struct Narrator<'a> {
    start: Instant,
    show: &'a mut dyn FnMut(Line),
    step: String,
    /// Bytes said of each message.
    said: HashMap<u64, usize>,
    /// Streamed text that does not fill a line yet.
    pending: String,
    called: HashSet<String>,
    done: HashSet<String>,
}

impl<'a> Narrator<'a> {
    pub(crate) fn new(show: &'a mut dyn FnMut(Line)) -> Self {
        Self {
            start: stdx::clock::monotonic(),
            show,
            step: String::new(),
            said: HashMap::new(),
            pending: String::new(),
            called: HashSet::new(),
            done: HashSet::new(),
        }
    }

    /// Gives the time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Gives the last line that is no text of the model, to say where it was.
    pub(crate) fn step(&self) -> &str {
        &self.step
    }

    /// Says a line, after what is left of streamed text.
    pub(crate) fn say(&mut self, topic: Topic, text: &str) {
        self.flush();
        self.step = one_line(&format!("{topic}: {text}"), ARGUMENTS);
        self.line(topic, text);
    }

    /// Says what is new in a session.
    pub(crate) fn session(&mut self, state: &Snapshot) {
        for item in &state.items {
            match item {
                Item::Assistant {
                    id, text, complete, ..
                } => self.text(*id, text, *complete),
                Item::Tool {
                    call,
                    name,
                    arguments,
                    state,
                    output,
                    ..
                } => {
                    if self.called.insert(call.clone()) {
                        self.say(
                            Topic::Tool,
                            &format!("-> {name} {}", one_line(arguments, ARGUMENTS)),
                        );
                    }
                    if let ToolState::Done { outcome } = state
                        && self.done.insert(call.clone())
                    {
                        self.output(*outcome, output);
                    }
                }
                Item::User { .. } | Item::TurnEnd { .. } | Item::Unknown => {}
            }
        }
    }

    /// Says what is left of streamed text, also in mid-sentence.
    pub(crate) fn flush(&mut self) {
        let rest = std::mem::take(&mut self.pending);
        if !rest.trim().is_empty() {
            self.line(Topic::Model, rest.trim_end());
        }
    }

    fn text(&mut self, id: u64, text: &str, complete: bool) {
        let said = self.said.entry(id).or_default();
        let new = text.get(*said..).unwrap_or_default();
        *said = text.len();
        let is_news = !new.is_empty();
        self.pending.push_str(new);
        while let Some((line, rest)) = full_line(&self.pending) {
            let (line, rest) = (line.to_owned(), rest.to_owned());
            self.pending = rest;
            self.line(Topic::Model, &line);
        }
        if complete && is_news {
            self.flush();
        }
    }

    fn output(&mut self, outcome: CallOutcome, output: &str) {
        let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
        for line in lines.iter().take(OUTPUT) {
            self.line(
                Topic::Tool,
                &format!("   {}", stdx::bounded::prefix(line, ARGUMENTS)),
            );
        }
        if lines.len() > OUTPUT {
            self.line(Topic::Tool, &format!("   ({} more lines)", lines.len() - OUTPUT));
        }
        if !matches!(outcome, CallOutcome::Ok | CallOutcome::Failed) {
            self.line(Topic::Tool, &format!("   {outcome:?}").to_lowercase());
        }
    }

    fn line(&mut self, topic: Topic, text: &str) {
        let visible = |c: char| if c == '\t' { ' ' } else { c };
        let text = text.chars().map(visible).filter(|c| !c.is_control()).collect();
        (self.show)(Line {
            elapsed: self.start.elapsed(),
            topic,
            text,
        });
    }
}

/// Splits a full line off: at its end, or at the last blank that leaves it at most [`WIDTH`] bytes.
fn full_line(text: &str) -> Option<(&str, &str)> {
    if let Some((line, rest)) = text.split_once('\n')
        && line.len() <= WIDTH
    {
        return Some((line, rest));
    }
    if text.len() <= WIDTH {
        return None;
    }
    let start = stdx::bounded::prefix(text, WIDTH + 1);
    match start.rsplit_once(char::is_whitespace) {
        Some((line, _)) if !line.trim().is_empty() => Some((line, text.get(line.len()..)?.trim_start())),
        // One word that is longer than a line.
        _ => text.split_at_checked(stdx::bounded::prefix(text, WIDTH).len()),
    }
}

#[cfg(test)]
mod tests {
    use protocol::{SessionId, TurnId};

    use super::*;

    fn told(tell: impl FnOnce(&mut Narrator<'_>)) -> Vec<String> {
        let mut lines = Vec::new();
        let mut show = |line: Line| lines.push(format!("{}|{}", line.topic, line.text));
        tell(&mut Narrator::new(&mut show));
        lines
    }

    fn assistant(text: &str, complete: bool) -> Item {
        Item::Assistant {
            turn: TurnId(1),
            id: 1,
            text: text.to_owned(),
            reasoning: String::new(),
            complete,
            recorded: 0,
        }
    }

    fn state(item: Item) -> Snapshot {
        let mut state = Snapshot::empty(SessionId::fresh());
        state.items.push_back(item);
        state
    }

    #[test]
    fn text_is_said_once_in_lines_and_in_mid_sentence_before_other_lines() {
        let long = "word ".repeat(30);
        let lines = told(|narrator| {
            narrator.session(&state(assistant("A first", false)));
            narrator.session(&state(assistant("A first piece", false)));
            narrator.say(Topic::Cut, "now");
            narrator.session(&state(assistant(&format!("A first piece of it.\n{long}"), true)));
            narrator.session(&state(assistant(&format!("A first piece of it.\n{long}"), true)));
        });
        assert_eq!(lines[..3], ["model|A first piece", "cut|now", "model| of it."]);
        assert!(lines[3..].iter().all(|line| line.len() <= WIDTH + 6), "{lines:?}");
        let words: usize = lines[3..].iter().map(|line| line.matches("word").count()).sum();
        assert_eq!(words, 30, "{lines:?}");
    }

    #[test]
    fn a_word_without_blanks_is_cut_at_a_character() {
        let word = "é".repeat(100);
        let lines = told(|narrator| narrator.session(&state(assistant(&word, true))));
        assert_eq!(lines.len(), 3);
        assert_eq!(lines.concat().matches('é').count(), 100);
    }

    #[test]
    fn a_call_is_said_when_asked_for_and_when_done() {
        let call = |state| Item::Tool {
            turn: TurnId(1),
            call: "c".to_owned(),
            name: "bash".to_owned(),
            arguments: r#"{"command":"x"}"#.to_owned(),
            state,
            output: "one\n\u{1b}[2Jtwo\n".to_owned(),
        };
        let done = ToolState::Done {
            outcome: CallOutcome::Failed,
        };
        let lines = told(|narrator| {
            narrator.session(&state(call(ToolState::Running)));
            narrator.session(&state(call(done)));
            narrator.session(&state(call(done)));
        });
        assert_eq!(
            lines,
            [r#"tool|-> bash {"command":"x"}"#, "tool|   one", "tool|   [2Jtwo"]
        );
    }
}
