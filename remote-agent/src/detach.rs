//! Starting a daemon that outlives its starter, without `unsafe` (settled details 8).
//!
//! `serve --detach` starts the same program again as `daemon`. That process makes itself a session leader,
//! inherits nothing but the log file, and serves. The first waits until the socket answers and prints who it is.

use std::{fs, io, os::unix::fs::OpenOptionsExt as _, path::Path, process::Stdio, time::Duration};

use client::{Agent, Options};
use protocol::Hello;
use stdx::task::Scope;
use tokio::{process::Child, time::Instant};

use crate::{environment, run_dir::RunDir, socket::UnixConnector};

/// How long a daemon may take from its start to its first answer.
const START: Duration = Duration::from_secs(30);
/// How long a daemon that runs may take to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// How often the socket is tried meanwhile.
const TRY_EVERY: Duration = Duration::from_millis(10);
/// How long after another daemon was found in place a start is tried again.
const RETRY_EVERY: Duration = Duration::from_millis(250);

/// The exit status of a daemon that found another one in place (`EX_TEMPFAIL` of sysexits.h).
pub const ALREADY_RUNS: i32 = 75;

/// Why no daemon could be started.
#[derive(Debug, thiserror::Error)]
pub enum DetachError {
    /// The log file or the process could not be made.
    #[error("could not start the daemon (log: {log})")]
    Start {
        /// The daemon's log file.
        log: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// It ended before it answered.
    #[error("the daemon ended before it answered: {status}; its log {log} ends with: {tail}")]
    Died {
        /// The daemon's log file.
        log: String,
        /// How it ended.
        status: String,
        /// The last lines of the log.
        tail: String,
    },
    /// Another daemon of this home has the lock and does not answer.
    #[error(
        "a daemon of this home holds the lock {lock} and has not answered for {} s; is it stopped or stuck?",
        START.as_secs()
    )]
    Mute {
        /// The lock.
        lock: String,
    },
    /// It did not answer in time and was stopped.
    #[error("the daemon did not answer within {} s and was stopped; see its log {log}", START.as_secs())]
    Silent {
        /// The daemon's log file.
        log: String,
    },
}

/// Gives the hello of the daemon that listens in `run_dir`, if one answers.
pub async fn running(run_dir: &RunDir) -> Option<Hello> {
    let scope = Scope::root("look for a daemon");
    let options = Options {
        attempts: 1,
        ..Options::default()
    };
    let agent = Agent::new(UnixConnector::new(run_dir.socket()), options, &scope);
    let hello = tokio::time::timeout(ANSWER, agent.hello()).await;
    scope.close(Duration::ZERO).await;
    hello.ok()?.ok()
}

/// Starts `program daemon` in its own session and waits until it answers. A daemon that runs already is
/// given instead.
///
/// # Errors
/// [`DetachError`]; no process is left behind then.
pub async fn start(program: &Path, run_dir: &RunDir, log: &Path) -> Result<Hello, DetachError> {
    if let Some(hello) = running(run_dir).await {
        return Ok(hello);
    }
    let deadline = Instant::now() + START;
    let mut child = spawn(program, log)?;
    loop {
        if let Some(hello) = running(run_dir).await {
            return Ok(hello);
        }
        match child.try_wait() {
            // Another daemon has the lock: one that was started at the same time and will answer soon, or one that is
            // ending, whose place is free then.
            Ok(Some(status)) if status.code() == Some(ALREADY_RUNS) => {
                if Instant::now() >= deadline {
                    let lock = run_dir.lock().display().to_string();
                    return Err(DetachError::Mute { lock });
                }
                tokio::time::sleep(RETRY_EVERY).await;
                if let Some(hello) = running(run_dir).await {
                    return Ok(hello);
                }
                child = spawn(program, log)?;
            }
            Ok(Some(status)) => {
                return Err(DetachError::Died {
                    log: log.display().to_string(),
                    status: status.to_string(),
                    tail: tail(log),
                });
            }
            _ if Instant::now() >= deadline => {
                // It is our own child that has not been waited for, so its pid is certainly it.
                drop(child.kill().await);
                let log = log.display().to_string();
                return Err(DetachError::Silent { log });
            }
            _ => tokio::time::sleep(TRY_EVERY).await,
        }
    }
}

/// Starts a daemon whose output goes to its log.
fn spawn(program: &Path, log: &Path) -> Result<Child, DetachError> {
    let failed = |source| DetachError::Start {
        log: log.display().to_string(),
        source,
    };
    let output = open_log(log).map_err(failed)?;
    let errors = output.try_clone().map_err(failed)?;
    let mut command = stdx::process::command(program);
    command
        .arg("daemon")
        .envs(environment::for_daemon(std::env::vars_os().collect()))
        .current_dir("/");
    // The daemon makes itself a session leader, which the leader of a process group cannot do.
    command
        .kill_on_drop(false)
        .stdout(Stdio::from(output))
        .stderr(Stdio::from(errors));
    command.spawn().map_err(failed)
}

/// Opens a log for appending, private to the user.
fn open_log(path: &Path) -> io::Result<fs::File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

/// Gives the last lines of a log.
fn tail(path: &Path) -> String {
    let text = fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(3).collect();
    stdx::bounded::one_line(&lines.into_iter().rev().collect::<Vec<_>>().join(" | "), 600)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_start_that_meets_another_daemon_is_tried_again() {
        let dir = tempfile::tempdir().unwrap();
        let met = dir.path().join("met");
        let program = dir.path().join("program");
        let script = format!(
            "#!/bin/sh\n[ -e {met} ] && exit 9\n: > {met}\nexit {ALREADY_RUNS}\n",
            met = met.display()
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let run_dir = RunDir::locate(dir.path(), None, false);
        let ended = start(&program, &run_dir, &dir.path().join("log"))
            .await
            .unwrap_err();
        assert!(
            matches!(&ended, DetachError::Died { status, .. } if status.ends_with('9')),
            "{ended}"
        );
    }
}
