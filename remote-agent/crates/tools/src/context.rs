//! What a tool is given.

use std::{io, path::Path, sync::Arc, time::Duration};

use conversation::Response;
use sandbox::{Environment, Policy, Sandbox};
use stdx::AbsPath;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{Observed, ShellState};

/// Everything around one call. Cheap to clone.
#[derive(Clone)]
pub struct ToolContext {
    /// Where relative paths start. It must exist; tools fail otherwise.
    pub workspace: AbsPath,
    /// What file tools may touch.
    pub files: FileAccess,
    /// What the model has seen of files; one per agent.
    pub observed: Arc<Observed>,
    /// Keeps a copy of a file before it is overwritten.
    pub copies: Arc<dyn KeepCopy>,
    /// How commands run.
    pub shell: ShellContext,
    /// What came of the call's own questions; `None` where nobody was asked.
    pub response: Option<Response>,
    /// Where output goes while a command runs.
    pub live: Option<mpsc::Sender<String>>,
    /// Cancels the call.
    pub token: CancellationToken,
}

/// The boundary of file tools.
#[derive(Debug, Clone)]
pub struct FileAccess {
    /// Where files may be written, after any approval for this call.
    pub write: WriteScope,
    /// Folders that are no part of a writable folder around them; one at or below them is writable as ever.
    pub protected: Vec<AbsPath>,
    /// Files and folders that look as if they did not exist.
    pub forbid_read: Vec<AbsPath>,
}

/// Where file tools may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteScope {
    /// Only inside these folders.
    Roots(Vec<AbsPath>),
    /// Wherever the user account may.
    Anywhere,
}

/// How commands run.
#[derive(Clone)]
pub struct ShellContext {
    /// Runs them.
    pub sandbox: Arc<Sandbox>,
    /// What they may touch, after any approval for this call.
    pub policy: Policy,
    /// The environment a fresh shell starts with.
    pub environment: Environment,
    /// The shell's folder and variables; one per agent.
    pub state: Arc<ShellState>,
    /// The longest a command may take; `None` is no limit.
    pub time_limit: Option<Duration>,
    /// Where the socket of an SSH agent is while somebody lends one (`SSH_AUTH_SOCK`).
    pub key_agent: Option<AbsPath>,
}

/// A place for copies of files, so that changes can be taken back.
pub trait KeepCopy: Send + Sync {
    /// Keeps the content of `path`, `None` when there is no file yet, before a tool writes it.
    ///
    /// Called on a thread that may block.
    ///
    /// # Errors
    /// An error stops the write.
    fn keep(&self, path: &Path, content: Option<&[u8]>) -> io::Result<()>;
}

/// Keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCopies;

impl KeepCopy for NoCopies {
    fn keep(&self, _path: &Path, _content: Option<&[u8]>) -> io::Result<()> {
        Ok(())
    }
}
