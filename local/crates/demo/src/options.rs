//! What the demo needs to know.

use std::{path::PathBuf, time::Duration};

use tokio_util::sync::CancellationToken;

/// For whom the demo plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Readers of lines: nothing is asked, and the connection is back as soon as it can be.
    Readers,
    /// A person at a screen, who approves the change and sees the connection away for a few seconds.
    Person,
}

/// What the demo needs to know of the process that runs it.
#[derive(Debug, Clone)]
pub struct DemoOptions {
    /// This program's own file, which is put on the host and run there.
    pub program: PathBuf,
    /// Its version, as `--version` says it.
    pub version: String,
    /// The folder for temporary files; the throwaway folder is made in it. Programs must be allowed to run there.
    pub temporary: PathBuf,
    /// `PATH` on the host.
    pub search_path: String,
    /// How long the whole run may take, cleaning up included.
    pub deadline: Duration,
    /// For whom it plays.
    pub audience: Audience,
    /// Ends the run early; what was started is stopped and removed all the same.
    pub token: CancellationToken,
}

impl DemoOptions {
    /// States what differs between callers: 30 s, the usual `PATH`, readers, and a token that nobody cancels.
    #[must_use]
    pub fn new(program: PathBuf, version: impl Into<String>, temporary: PathBuf) -> Self {
        Self {
            program,
            version: version.into(),
            temporary,
            search_path: "/usr/local/bin:/usr/bin:/bin".to_owned(),
            deadline: Duration::from_secs(30),
            audience: Audience::Readers,
            token: CancellationToken::new(),
        }
    }
}
