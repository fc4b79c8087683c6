//! A tool call: one line that says what and how far, and below it what is worth seeing.

use protocol::{CallOutcome, ToolState};
use ratatui::text::{Line, Span};
use richtext::{Diff, safe_line, truncate, width};

use super::{answer::grow, arguments::Arguments, diff, shell};
use crate::{panes::transcript::look::Look, theme::Role};

/// The longest name of a tool that is shown, in columns.
const MAX_NAME: usize = 40;

/// What a subject gets at least, in columns, before a state goes to its own line.
const LEAST_SUBJECT: usize = 12;

/// What kind of card a call gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A command and its output.
    Shell,
    /// A change of a file.
    Edit,
    /// Something is looked up; how much was found is enough.
    Lookup(Counted),
    /// Anything else.
    Other,
}

/// What the lines of a result are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    Lines,
    Matches,
    Entries,
}

#[derive(Debug)]
pub(super) struct ToolCell {
    pub(super) call: String,
    name: String,
    kind: Kind,
    arguments: Arguments,
    diff: Option<Diff>,
    state: ToolState,
    output: String,
    /// Whether a person is asked about it.
    is_asked: bool,
}

impl ToolCell {
    pub(super) fn new(call: &str, name: &str, arguments: &str) -> Self {
        let arguments = Arguments::parse(arguments);
        let kind = kind_of(name);
        let diff = match kind {
            Kind::Edit => diff::of_call(&arguments),
            Kind::Shell | Kind::Lookup(_) | Kind::Other => None,
        };
        Self {
            call: call.to_owned(),
            name: truncate(&safe_line(name), MAX_NAME).into_owned(),
            kind,
            arguments,
            diff,
            state: ToolState::Pending,
            output: String::new(),
            is_asked: false,
        }
    }

    pub(super) fn set(&mut self, state: ToolState, output: &str, is_asked: bool) -> bool {
        let before = (self.state, self.output.len(), self.is_asked);
        let grew = grow(&mut self.output, output);
        (self.state, self.is_asked) = (state, is_asked);
        !grew || before != (state, self.output.len(), is_asked)
    }

    pub(super) fn is_one_line(&self) -> bool {
        let is_quiet = match self.state {
            ToolState::Done { outcome } => outcome == CallOutcome::Ok,
            ToolState::Pending | ToolState::Running | ToolState::Unknown => true,
        };
        matches!(self.kind, Kind::Lookup(_)) && is_quiet
    }

    pub(super) fn lines(&self, look: &Look) -> Vec<Line<'static>> {
        let (mut lines, has_whole_subject) = self.head(look);
        if self.kind == Kind::Shell
            && let Some(command) = self.arguments.text("command")
            && (!has_whole_subject || command.trim().contains('\n'))
        {
            lines.extend(shell::command(command, look));
        }
        let has_failed = matches!(self.state, ToolState::Done { outcome } if outcome != CallOutcome::Ok);
        match (&self.diff, self.kind) {
            (Some(diff), _) if !has_failed => lines.extend(diff::lines(diff, look)),
            (_, Kind::Lookup(_)) if !has_failed => {}
            _ => lines.extend(shell::printed(self.body(), look)),
        }
        lines
    }

    /// Gives the output without what the head says already.
    fn body(&self) -> &str {
        match (self.failure(), self.output.split_once('\n')) {
            (Some(_), Some((_, rest))) => rest,
            (Some(_), None) => "",
            (None, _) => &self.output,
        }
    }

    /// Gives how a command failed, which stands in the first line of its output.
    fn failure(&self) -> Option<&str> {
        let has_failed = matches!(
            self.state,
            ToolState::Done {
                outcome: CallOutcome::Failed | CallOutcome::Interrupted
            }
        );
        if !has_failed || self.kind != Kind::Shell {
            return None;
        }
        self.output.lines().next()?.strip_prefix("error: ")
    }

    /// Gives the first line, and a second one where the state does not fit in it: that must be read. Says whether the
    /// subject is there as a whole.
    fn head(&self, look: &Look) -> (Vec<Line<'static>>, bool) {
        let (mark, role) = self.mark();
        let style = look.style(role);
        let state_style = if role == Role::Ok {
            look.style(Role::Dim)
        } else {
            style
        };
        let state = self.state_in_words();
        let subject = self.arguments.subject();
        let used = width(mark) + width(&self.name) + 1;
        let room = look.width.saturating_sub(used);
        let fits = state.is_empty() || width(&state) + 2 + width(&subject).min(LEAST_SUBJECT) <= room;
        let beside = if fits && !state.is_empty() {
            format!("  {state}")
        } else {
            String::new()
        };
        let shown = truncate(&subject, room.saturating_sub(width(&beside))).into_owned();
        let is_whole = shown == subject;
        let gap = if shown.is_empty() { "" } else { " " };
        let line = Line::from(vec![
            Span::styled(mark, style),
            Span::styled(self.name.clone(), look.style(Role::Accent)),
            Span::raw(gap),
            Span::styled(shown, look.style(Role::Text)),
            Span::styled(beside, state_style),
        ]);
        let mut lines = vec![richtext::truncate_line(line, look.width)];
        if !fits {
            lines.extend(look.hanging(Span::raw("  "), &state, state_style));
        }
        (lines, is_whole)
    }

    fn mark(&self) -> (&'static str, Role) {
        match self.state {
            _ if self.is_asked => ("? ", Role::Warning),
            ToolState::Pending => ("○ ", Role::Dim),
            ToolState::Running => ("◐ ", Role::Accent),
            ToolState::Unknown => ("? ", Role::Warning),
            ToolState::Done { outcome } => match outcome {
                CallOutcome::Ok => ("● ", Role::Ok),
                CallOutcome::Failed => ("✗ ", Role::Error),
                CallOutcome::Denied => ("⊘ ", Role::Warning),
                CallOutcome::Cancelled | CallOutcome::Interrupted => ("■ ", Role::Warning),
                CallOutcome::Unknown => ("? ", Role::Warning),
            },
        }
    }

    fn state_in_words(&self) -> String {
        let words = match self.state {
            _ if self.is_asked => "waits for your answer",
            ToolState::Pending => "waiting",
            ToolState::Running => "running",
            ToolState::Unknown => "in a state that this version does not know",
            ToolState::Done { outcome } => match outcome {
                CallOutcome::Ok => return self.found(),
                CallOutcome::Failed => match self.failure() {
                    Some(failure) => return safe_line(failure),
                    None => "failed",
                },
                CallOutcome::Denied => "not allowed, did not run",
                CallOutcome::Cancelled => "did not run",
                CallOutcome::Interrupted => "stopped",
                CallOutcome::Unknown => "may have run: the agent ended meanwhile",
            },
        };
        words.to_owned()
    }

    /// Says how much a call brought.
    fn found(&self) -> String {
        match (self.kind, &self.diff) {
            (Kind::Lookup(counted), _) => counted.in_words(&self.output),
            (Kind::Edit, Some(diff)) => {
                let (added, removed) = diff.counts();
                format!("+{added} -{removed}")
            }
            _ => String::new(),
        }
    }
}

impl Counted {
    /// Counts the lines of a result. Remarks of the tool stand in parentheses or brackets and do not count.
    fn in_words(self, output: &str) -> String {
        let is_remark = |line: &&str| line.is_empty() || line.starts_with(['(', '[']);
        let count = output.lines().filter(|line| !is_remark(line)).count();
        let (one, many) = match self {
            Self::Lines => ("line", "lines"),
            Self::Matches => ("match", "matches"),
            Self::Entries => ("entry", "entries"),
        };
        match count {
            0 => "nothing".to_owned(),
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        }
    }
}

fn kind_of(name: &str) -> Kind {
    match name {
        "bash" | "shell" | "exec" => Kind::Shell,
        "edit_file" | "write_file" | "multi_edit" | "edit" | "write" => Kind::Edit,
        "read_file" | "read" => Kind::Lookup(Counted::Lines),
        "grep" => Kind::Lookup(Counted::Matches),
        "ls" | "glob" => Kind::Lookup(Counted::Entries),
        _ => Kind::Other,
    }
}
