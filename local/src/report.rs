//! Failures at the edge: message, hint, exit code, and the one place that prints them.

use std::{ffi::OsString, fmt, process::ExitCode};

use serde_json::json;

use crate::{ask, exit::Exit, terminal};

/// The version of what is printed as JSON: the lines of `stream-json`, results and errors.
pub(crate) const SCHEMA: u32 = 1;

/// What a command failed with, for a person and for a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) exit: Exit,
    /// What happened and where.
    pub(crate) message: String,
    /// What to do next.
    pub(crate) hint: Option<String>,
    /// The step that failed, where there are steps.
    pub(crate) stage: Option<String>,
    /// The host, where there is one.
    pub(crate) host: Option<String>,
}

impl Failure {
    /// States a failure.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            hint: None,
            stage: None,
            host: None,
        }
    }

    /// Adds what to do next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds what to do next, where something is known.
    pub(crate) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    /// Adds the host.
    pub(crate) fn on(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// Writes it for a terminal: names and answers of others steer nothing there.
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("error: {}", ask::visible(&self.message))];
        let hint = self.hint.as_deref();
        lines.extend(hint.map(|hint| format!("hint: {}", ask::visible(hint))));
        lines
    }

    /// Writes it as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        json!({"error": {
            "code": self.exit.code(),
            "stage": self.stage,
            "host": self.host,
            "message": self.message,
            "hint": self.hint,
        }, "schema": SCHEMA})
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// A failure of the agent's own making, with its causes.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(failure) => failure,
            Err(error) => Self::new(Exit::Failed, chain(error.as_ref())),
        }
    }
}

/// What an agent answered, in terms of exit codes.
impl From<protocol::ErrorBody> for Failure {
    fn from(error: protocol::ErrorBody) -> Self {
        use protocol::ErrorCode as Code;
        let exit = match error.code {
            Code::BadRequest | Code::TooLarge | Code::Configuration | Code::Workspace | Code::NotFound => {
                Exit::Usage
            }
            Code::Conflict | Code::HeldElsewhere => Exit::Usage,
            Code::ModelAccess => Exit::ModelAccess,
            Code::Denied => Exit::Authentication,
            Code::Busy | Code::Draining | Code::Internal | Code::Unreachable | Code::Unknown => Exit::Failed,
        };
        Self::new(exit, error.message).maybe_hint(error.hint)
    }
}

/// What the client of the wire ran into.
impl From<client::Error> for Failure {
    fn from(error: client::Error) -> Self {
        match error {
            client::Error::Agent(body) => Self::from(body),
            other => Self::new(Exit::Unreachable, chain(&other)),
        }
    }
}

impl From<settings::Error> for Failure {
    fn from(error: settings::Error) -> Self {
        let hint = error.hints().into_iter().next();
        Self::new(Exit::Usage, chain(&error)).maybe_hint(hint)
    }
}

/// Writes an error with its causes, each once.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// Prints a failure on standard error, and on standard output where a program reads that, and gives its exit code.
pub(crate) fn fail(failure: &Failure, json: bool) -> ExitCode {
    if json {
        terminal::line(&failure.json().to_string());
    }
    for line in failure.lines() {
        terminal::error(&line);
    }
    failure.exit.into()
}

/// Prints what is wrong with a command line, or the help that was asked for.
pub(crate) fn usage(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    // Nothing can be told to a closed terminal.
    drop(error.print());
    if !error.use_stderr() {
        return Exit::Success.into();
    }
    if wants_json(arguments) {
        let text = error.to_string();
        let mut paragraphs = text.trim().split("\n\n");
        let message = paragraphs
            .next()
            .unwrap_or_default()
            .trim_start_matches("error: ");
        let failure = Failure::new(Exit::Usage, message).hint("`reasonix --help` lists commands and options");
        terminal::line(&failure.json().to_string());
    }
    Exit::Usage.into()
}

/// Says whether a command line that cannot be read asks for JSON.
fn wants_json(arguments: &[OsString]) -> bool {
    let format = |word: &OsString| word == "json" || word == "stream-json";
    let after_flag = |pair: &[OsString]| match pair {
        [flag, word] => flag == "--output-format" && format(word),
        _ => false,
    };
    let alone = ["--json", "--output-format=json", "--output-format=stream-json"];
    arguments
        .iter()
        .any(|argument| alone.iter().any(|word| argument == word))
        || arguments.windows(2).any(after_flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_named_once() {
        let inner = std::io::Error::other("disk full");
        let error = anyhow::Error::new(inner).context("could not save: disk full");
        assert_eq!(chain(error.as_ref()), "could not save: disk full");
        let error = anyhow::Error::new(std::io::Error::other("disk full")).context("could not save");
        assert_eq!(chain(error.as_ref()), "could not save: disk full");
    }

    #[test]
    fn what_others_say_steers_no_terminal() {
        let failure = Failure::new(Exit::Unreachable, "no host a\x1b]0;b\x07\n  c").hint("try \x1b[2J");
        assert_eq!(
            failure.lines(),
            [
                "error: no host a\u{fffd}]0;b\u{fffd}\n  c",
                "hint: try \u{fffd}[2J"
            ]
        );
    }

    #[test]
    fn a_command_line_that_cannot_be_read_may_still_ask_for_json() {
        let asks = |line: &str| wants_json(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        for line in [
            "sessions --json --bogus",
            "run --output-format json --bogus",
            "run --output-format=stream-json --bogus",
        ] {
            assert!(asks(line), "{line}");
        }
        for line in [
            "run --bogus",
            "run --output-format text x",
            "run json --output-format",
        ] {
            assert!(!asks(line), "{line}");
        }
    }

    #[test]
    fn what_an_agent_says_keeps_its_hint() {
        let body = protocol::ErrorBody::new(protocol::ErrorCode::Workspace, "no such folder").hint("make it");
        let failure = Failure::from(body);
        assert_eq!(
            (failure.exit, failure.hint.as_deref()),
            (Exit::Usage, Some("make it"))
        );
        assert_eq!(failure.json()["error"]["code"], 2);
    }
}
