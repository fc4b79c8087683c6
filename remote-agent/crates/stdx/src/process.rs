//! Starting child processes with an environment that is stated, not inherited.

use std::{ffi::OsStr, process::Stdio};

/// Gives a command with an **empty** environment, no standard input, and no output connected.
///
/// The caller states what the child sees. Secrets therefore reach a child only if somebody writes them here.
/// The child is killed when its handle is dropped.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the replacement the lint names")]
pub fn command(program: impl AsRef<OsStr>) -> tokio::process::Command {
    let mut command = tokio::process::Command::new(program);
    command
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Gives a blocking command with an empty environment, no standard input, and no output connected.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the replacement the lint names")]
pub fn blocking_command(program: impl AsRef<OsStr>) -> std::process::Command {
    let mut command = std::process::Command::new(program);
    command
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}
