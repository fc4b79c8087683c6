//! What every tool is.

use std::{future::Future, path::PathBuf, pin::Pin};

use conversation::{CallOutcome, Effect, Question, ToolSpec};
use serde_json::Value;
use stdx::AbsPath;

use crate::{ToolContext, ToolError, output};

/// A boxed future, so that tools fit into one list.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something a model can call.
pub trait Tool: Send + Sync {
    /// Gives what the model is told. The same bytes for the whole life of the program.
    fn spec(&self) -> &ToolSpec;

    /// Says what a call may do.
    fn effect(&self) -> Effect;

    /// Gives what the call would act on, for permission. It looks at the file system, and changes nothing.
    fn subjects(&self, args: &Value, cx: &ToolContext) -> Vec<Subject>;

    /// Gives what a person must be asked before the call runs; what they answer is in [`ToolContext::response`] then.
    /// Almost every tool asks nothing.
    ///
    /// # Errors
    /// [`ToolError::Argument`] when the arguments make no questions that a person could answer.
    fn questions(&self, _args: &Value) -> Result<Vec<Question>, ToolError> {
        Ok(Vec::new())
    }

    /// Runs the call. `args` passed [`crate::Registry::check`].
    ///
    /// Cancelling the context's token ends the call soon with [`CallOutcome::Interrupted`].
    fn run<'a>(&'a self, args: Value, cx: &'a ToolContext) -> BoxFuture<'a, ToolResult>;
}

/// The thing a call acts on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A file or folder.
    Path(PathSubject),
    /// A command line.
    Command {
        /// The text given to the shell.
        text: String,
        /// The folder it starts in.
        directory: PathBuf,
    },
    /// Anything else, such as a search pattern.
    Text(String),
}

/// A path argument in all its spellings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathSubject {
    /// As the model wrote it.
    pub raw: String,
    /// Made absolute, without `.` and `..`.
    pub cleaned: AbsPath,
    /// With links followed as far as the path exists; the same as `cleaned` where that fails.
    pub resolved: PathBuf,
    /// Whether `resolved` lies in a folder that tools may write.
    pub inside_write_roots: bool,
}

/// The end of a call.
#[must_use = "a call must be answered"]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// How the call ended.
    pub outcome: CallOutcome,
    /// The text for the model, valid UTF-8 of at most [`crate::MAX_CONTENT`] bytes.
    pub content: String,
    /// The whole text when `content` is a part of it.
    pub raw: Option<String>,
    /// A remark for the person who watches.
    pub notice: Option<String>,
    /// The exit status, where a program ran and exited.
    pub exit_status: Option<i32>,
}

impl ToolResult {
    /// Makes the result of a call that succeeded. Text that is too long is cut.
    pub fn ok(text: impl Into<String>) -> Self {
        Self::new(CallOutcome::Ok, text.into())
    }

    /// Makes the result of a call that failed: `error: ` and the error, or `blocked: ` where a boundary refused it.
    pub fn failed(error: &ToolError) -> Self {
        let (outcome, word) = match error {
            ToolError::Cancelled => (CallOutcome::Interrupted, "error"),
            ToolError::OutsideRoots(_) => (CallOutcome::Denied, "blocked"),
            _ => (CallOutcome::Failed, "error"),
        };
        Self::new(outcome, format!("{word}: {error}"))
    }

    /// Makes a result with any outcome. Text that is too long is cut.
    pub fn new(outcome: CallOutcome, text: String) -> Self {
        let bounded = output::bound(text);
        Self {
            outcome,
            content: bounded.content,
            raw: bounded.raw,
            notice: None,
            exit_status: None,
        }
    }

    /// Says whether the model should take the result as a failure.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.outcome != CallOutcome::Ok
    }
}

impl From<Result<String, ToolError>> for ToolResult {
    fn from(result: Result<String, ToolError>) -> Self {
        match result {
            Ok(text) => Self::ok(text),
            Err(error) => Self::failed(&error),
        }
    }
}
