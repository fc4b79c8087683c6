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
    /// Every place has a daemon that drains or speaks another protocol.
    #[error(
        "{} older daemons of this home still finish their turns",
        crate::run_dir::PLACES
    )]
    Crowded,
    /// It did not answer in time and was stopped.
    #[error("the daemon did not answer within {} s and was stopped; see its log {log}", START.as_secs())]
    Silent {
        /// The daemon's log file.
        log: String,
    },
}

/// Which daemon that runs already will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accept {
    /// Every one that speaks a common version of the protocol.
    Compatible,
    /// Only one of this very program: an older one finishes its turns beside it.
    OwnProgram,
}

/// What a daemon is started from, and where.
#[derive(Debug, Clone)]
pub struct Start<'a> {
    /// The program.
    pub program: &'a Path,
    /// The run directory of the first daemon of this home.
    pub run_dir: &'a RunDir,
    /// The daemon's log file.
    pub log: &'a Path,
    /// Which daemon that runs already will do.
    pub accept: Accept,
    /// What it runs under.
    pub under: Under,
}

/// What a daemon runs under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Under {
    /// Nothing: it makes itself a session leader.
    Itself,
    /// A transient scope of the user's service manager, for hosts that end what a login leaves behind. The manager moves
    /// the process there and starts nothing in its place, so it inherits the same as without (systemd-run(1)).
    UserManager,
}

/// Who answers at a socket.
enum Answer {
    Hello(Box<Hello>),
    /// A daemon that speaks no common version.
    Stranger,
    Nobody,
}

/// What a look at the places of a home found.
enum Found {
    Daemon(Box<Hello>),
    /// Nobody answers in this place.
    Free(u8),
    /// Every place has a daemon that will not do.
    Full,
}

/// Gives the hello of the daemon that listens in `run_dir`, if one answers.
pub async fn running(run_dir: &RunDir) -> Option<Hello> {
    match ask(run_dir).await {
        Answer::Hello(hello) => Some(*hello),
        Answer::Stranger | Answer::Nobody => None,
    }
}

async fn ask(run_dir: &RunDir) -> Answer {
    let scope = Scope::root("look for a daemon");
    let options = Options {
        attempts: 1,
        ..Options::default()
    };
    let agent = Agent::new(UnixConnector::new(run_dir.socket()), options, &scope);
    let hello = tokio::time::timeout(ANSWER, agent.hello()).await;
    scope.close(Duration::ZERO).await;
    match hello {
        Ok(Ok(hello)) => Answer::Hello(Box::new(hello)),
        Ok(Err(client::Error::NoCommonVersion { .. })) => Answer::Stranger,
        Ok(Err(_)) | Err(_) => Answer::Nobody,
    }
}

impl Start<'_> {
    /// Looks for a daemon that will do, else for the first place without one.
    async fn look(&self) -> Found {
        let mut free = None;
        for (place, run_dir) in self.run_dir.places() {
            match ask(&run_dir).await {
                Answer::Hello(hello) if self.will_do(&hello) => return Found::Daemon(hello),
                Answer::Hello(_) | Answer::Stranger => {}
                Answer::Nobody => free = free.or(Some(place)),
            }
        }
        free.map_or(Found::Full, Found::Free)
    }

    fn will_do(&self, hello: &Hello) -> bool {
        let is_own = || Path::new(&hello.identity.program) == self.program;
        !hello.draining && (self.accept == Accept::Compatible || is_own())
    }
}

/// Starts `program daemon` in its own session and waits until it answers. A daemon that runs already and will do is
/// given instead; one that will not do keeps its place, and the new one is started beside it.
///
/// # Errors
/// [`DetachError`]; no process is left behind then.
pub async fn start(wanted: &Start<'_>) -> Result<Hello, DetachError> {
    let log = || wanted.log.display().to_string();
    let deadline = Instant::now() + START;
    'look: loop {
        let place = match wanted.look().await {
            Found::Daemon(hello) => return Ok(*hello),
            Found::Free(place) => place,
            Found::Full => return Err(DetachError::Crowded),
        };
        let run_dir = wanted.run_dir.place(place);
        let mut child = spawn(wanted, place)?;
        loop {
            match ask(&run_dir).await {
                Answer::Hello(hello) if wanted.will_do(&hello) => return Ok(*hello),
                Answer::Hello(_) | Answer::Stranger | Answer::Nobody => {}
            }
            match child.try_wait() {
                // Another daemon has the lock: one that was started at the same time and will answer soon, or one that
                // is ending, whose place is free then.
                Ok(Some(status)) if status.code() == Some(ALREADY_RUNS) => {
                    if Instant::now() >= deadline {
                        let lock = run_dir.lock().display().to_string();
                        return Err(DetachError::Mute { lock });
                    }
                    tokio::time::sleep(RETRY_EVERY).await;
                    continue 'look;
                }
                Ok(Some(status)) => {
                    return Err(DetachError::Died {
                        log: log(),
                        status: status.to_string(),
                        tail: tail(wanted.log),
                    });
                }
                _ if Instant::now() >= deadline => {
                    // It is our own child that has not been waited for, so its pid is certainly it.
                    drop(child.kill().await);
                    return Err(DetachError::Silent { log: log() });
                }
                _ => tokio::time::sleep(TRY_EVERY).await,
            }
        }
    }
}

/// Starts a daemon whose output goes to its log.
fn spawn(wanted: &Start<'_>, place: u8) -> Result<Child, DetachError> {
    let failed = |source| DetachError::Start {
        log: wanted.log.display().to_string(),
        source,
    };
    let output = open_log(wanted.log).map_err(failed)?;
    let errors = output.try_clone().map_err(failed)?;
    let mut command = match wanted.under {
        Under::Itself => stdx::process::command(wanted.program),
        Under::UserManager => {
            let mut command = stdx::process::command("systemd-run");
            command
                .args([
                    "--user",
                    "--scope",
                    "--quiet",
                    "--description=reasonix agent",
                    "--",
                ])
                .arg(wanted.program);
            command
        }
    };
    command
        .arg("daemon")
        .args(["--place", &place.to_string()])
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
        let log = dir.path().join("log");
        let wanted = Start {
            program: &program,
            run_dir: &run_dir,
            log: &log,
            accept: Accept::Compatible,
            under: Under::Itself,
        };
        let ended = start(&wanted).await.unwrap_err();
        assert!(
            matches!(&ended, DetachError::Died { status, .. } if status.ends_with('9')),
            "{ended}"
        );
    }
}
