//! One round trip that tells what a host is and what it has.

use std::{fmt, time::Duration};

use protocol::Hello;
use serde::Deserialize;

use crate::{
    answer::{self, Answer, unhex},
    error::{Error, ErrorKind, Stage, Trace},
    fence::Fence,
    layout,
    remote::{Deadline, Exec, Output, Remote, RemoteError, Status},
    script::{Carriage, Script},
};

const SCRIPT: &str = include_str!("scripts/probe.sh");
const DEADLINE: Deadline = Deadline::total(Duration::from_secs(60));
/// Start-up noise may be long; answers are a few KiB.
const KEEP: usize = 1024 * 1024;

/// What a host said.
#[derive(Debug, Clone, Default)]
pub struct Probe {
    /// What it is.
    pub system: System,
    /// The asked-for workspace, when one was asked for.
    pub workspace: Option<Workspace>,
    /// `REASONIX_HOME` on the host: absolute, and with symbolic links resolved if it exists.
    pub home: Vec<String>,
    /// The folder that takes programs.
    pub directory: Option<Directory>,
    /// Folders that do not, in the order they were tried.
    pub refused: Vec<RefusedDirectory>,
    /// Programs there, newest first, then the one on the PATH.
    pub installed: Vec<Installed>,
    /// Unfinished uploads there.
    pub parts: Vec<Part>,
    /// Daemons of this user that left word.
    pub daemons: Vec<Daemon>,
    /// What it can do.
    pub tools: Tools,
    /// How scripts reach it.
    pub carriage: Carriage,
    /// The first lines of what the questions themselves put on standard error.
    pub stderr: Vec<String>,
}

/// What a host is. Texts are empty where it did not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct System {
    /// `uname -s`.
    pub os: String,
    /// `uname -m`.
    pub arch: String,
    /// The C library: `musl` or `glibc 2.36`.
    pub libc: String,
    /// Number of the user.
    pub uid: Option<u32>,
    /// The user's home directory.
    pub home: String,
    /// The login shell.
    pub shell: String,
    /// The kernel's boot id.
    pub boot_id: String,
    /// The host's clock, in seconds since the epoch.
    pub clock: Option<u64>,
    /// Whether systemd keeps the user's processes after logout.
    pub lingering: bool,
}

/// What a host has. Names of programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tools {
    /// `zstd`, `gzip`, `dd`, `flock`, `bwrap`, as far as they are there.
    pub found: Vec<String>,
    /// The program that computes SHA-256.
    pub hash: Option<String>,
}

impl Tools {
    /// Says whether a tool is there.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.found.iter().any(|found| found == name)
    }
}

/// What became of the asked-for workspace. Paths are absolute paths on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Workspace {
    /// Can be entered; symbolic links resolved.
    Ready(String),
    /// Nothing is there.
    Missing(String),
    /// Something else is there.
    NotADirectory(String),
    /// The user may not enter it, or a folder above it.
    Denied(String),
    /// A symbolic link to nothing.
    Dangling(String),
    /// No host can have such a name.
    Unusable(String),
}

impl fmt::Display for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(path) => write!(f, "workspace {path}"),
            Self::Missing(path) => write!(f, "workspace {path} does not exist"),
            Self::NotADirectory(path) => write!(f, "workspace path {path} is not a folder"),
            Self::Denied(path) => write!(f, "workspace {path} may not be entered (permission denied)"),
            Self::Dangling(path) => write!(f, "workspace {path} is a symbolic link to nothing"),
            Self::Unusable(path) => write!(f, "workspace {path:?} is not a usable path"),
        }
    }
}

/// A folder in which files of ours were seen to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// Absolute path.
    pub path: String,
    /// Free bytes for this user, `None` where unknown. Quotas may allow less.
    pub free: Option<u64>,
}

/// A folder that takes no programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedDirectory {
    /// Absolute path.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// A program that is there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Absolute path.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// What it printed for `--version`; `None` if it was not run or printed nothing.
    pub version_output: Option<String>,
}

impl Installed {
    /// Gives the file name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Gives the folder.
    #[must_use]
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Gives the version it printed: the word after `reasonix` in its first line.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        let mut words = self.version_output.as_deref()?.lines().next()?.split_whitespace();
        words.find(|word| *word == "reasonix").and_then(|_| words.next())
    }

    /// Gives the protocol versions it printed, in a line `protocol MIN..MAX`.
    #[must_use]
    pub fn protocol(&self) -> Option<protocol::VersionRange> {
        let lines = self.version_output.as_deref()?.lines();
        let (min, max) = lines
            .filter_map(|line| line.trim().strip_prefix("protocol "))
            .find_map(|range| range.split_once(".."))?;
        Some(protocol::VersionRange {
            min: min.parse().ok()?,
            max: max.parse().ok()?,
        })
    }
}

/// An unfinished upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// File name.
    pub name: String,
    /// Bytes it has, all from the beginning on.
    pub size: u64,
}

/// A daemon that left word in a run directory.
#[derive(Debug, Clone)]
pub struct Daemon {
    /// What it says; `None` if it is not readable to this version.
    pub hello: Option<Hello>,
    /// Its `REASONIX_HOME`.
    pub home: Option<String>,
    /// Whether it runs.
    pub proof: Proof,
}

impl Daemon {
    /// Gives the path of the program it runs.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        self.hello
            .as_ref()
            .map(|hello| hello.identity.program.as_str())
            .filter(|path| !path.is_empty())
    }
}

/// Whether the process that left word is still the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Process id, start time and boot agree.
    Runs,
    /// They do not, or there is no such process.
    Gone,
    /// A process has the number; the host cannot tell more.
    Unsure,
}

/// Asks a host everything, about `workspace` if given. With `write`, folders for programs are made and tried; without,
/// nothing is written.
///
/// # Errors
/// [`Stage::Probe`]: the command was not carried out, the login shell does not run commands, or the answer is cut.
pub async fn probe(remote: &dyn Remote, ask: &Ask<'_>) -> Result<Probe, Error> {
    let silence = match once(remote, ask, Carriage::Input).await {
        Err(error) if is_silence(&error) => error,
        result => return result,
    };
    if is_transfer_only(&silence) && remote.takes_files().await {
        let kind = ErrorKind::Remote(RemoteError::FilesOnly);
        return Err(Error::new(Stage::Probe, remote.host(), kind));
    }
    tracing::info!(error = %silence, "the script did not arrive; it goes into the command line now");
    match once(remote, ask, Carriage::CommandLine).await {
        Err(error) if matches!(error.kind(), ErrorKind::NoShell(_)) => Err(silence),
        result => result,
    }
}

/// Says whether a command may have run that was given no input, or something else ran in its place.
fn is_silence(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::NoShell(said) => {
            said.as_ref().is_none_or(|said| speaks_of_sftp(said))
                || error.status() == Some(&Status::Exited(0))
        }
        ErrorKind::Remote(RemoteError::TimedOut(_)) => true,
        _ => false,
    }
}

/// Says whether an SFTP server may have been run in place of the command: it says so, or takes the script for a broken
/// packet and ends with an error.
fn is_transfer_only(silence: &Error) -> bool {
    let ErrorKind::NoShell(said) = silence.kind() else {
        return false;
    };
    said.as_ref().is_none_or(|said| speaks_of_sftp(said)) && silence.status() != Some(&Status::Exited(0))
}

/// OpenSSH's `internal-sftp` answers a command with "This service allows sftp connections only."
fn speaks_of_sftp(said: &str) -> bool {
    said.contains("sftp")
}

async fn once(remote: &dyn Remote, ask: &Ask<'_>, carriage: Carriage) -> Result<Probe, Error> {
    let fence = Fence::random();
    let call = Script::new(&fence)
        .text("rx_home", ask.home.unwrap_or_default())
        .text("rx_work", ask.workspace.unwrap_or_default())
        .number("rx_write", u64::from(ask.write == Write::Allowed))
        .text("rx_random", &uuid::Uuid::new_v4().simple().to_string())
        .finish_by(carriage, SCRIPT);
    let exec = Exec {
        command: &call.command,
        stdin: Box::new(call.stdin.as_slice()),
        keep: KEEP,
        deadline: DEADLINE,
    };
    let fail = |kind| Error::new(Stage::Probe, remote.host(), kind);
    let output = remote
        .exec(exec)
        .await
        .map_err(|error| fail(ErrorKind::Remote(error)))?;
    let answer = Answer::parse(&fence, &output.stdout);
    check(&answer, &output, &fail)?;
    let stderr = answer::stderr_lines(answer::stderr_after_mark(&fence, &output.stderr));
    Ok(Probe {
        stderr,
        carriage,
        ..parse(&answer)
    })
}

/// What to ask beside what is always asked.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The wanted workspace: absolute, `~`, `~/x`, or relative to the home.
    pub workspace: Option<&'a str>,
    /// `REASONIX_HOME`, if it is not to be the host's own.
    pub home: Option<&'a str>,
    /// Whether folders may be made.
    pub write: Write,
}

/// Whether asking may leave a folder behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// Folders for programs are made and tried.
    Allowed,
    /// Nothing is written.
    Forbidden,
}

/// Makes sure that a script ran, and ran to its end.
pub(crate) fn check(
    answer: &Answer,
    output: &Output,
    fail: &dyn Fn(ErrorKind) -> Error,
) -> Result<(), Error> {
    if answer.end().is_some() {
        return Ok(());
    }
    let kind = if answer.is_empty() {
        ErrorKind::NoShell(answer::first_line(output))
    } else {
        ErrorKind::BadAnswer("the answer of the host ended early".to_owned())
    };
    let trace = Trace {
        command: Some("exec /bin/sh".to_owned()),
        status: Some(output.status.clone()),
        stderr: answer::stderr_lines(&output.stderr),
    };
    Err(fail(kind).with_trace(trace))
}

/// Reads an answer. What is missing or malformed is left out: the plan sees what is lacking.
fn parse(answer: &Answer) -> Probe {
    let text = |key| answer.get(key).unwrap_or_default().to_owned();
    let system = System {
        os: text("os"),
        arch: text("arch"),
        libc: text("libc"),
        uid: answer.get("uid").and_then(|uid| uid.parse().ok()),
        home: answer.text("home").unwrap_or_default(),
        shell: answer.text("shell").unwrap_or_default(),
        boot_id: text("boot"),
        clock: answer.get("clock").and_then(|clock| clock.parse().ok()),
        lingering: answer.get("linger").is_some(),
    };
    let daemons = answer
        .all("daemon")
        .filter_map(|line| daemon(line, &system.boot_id))
        .collect();
    Probe {
        workspace: answer.get("workspace").map(workspace),
        home: ["base", "base_real"]
            .iter()
            .filter_map(|key| answer.text(key))
            .filter(|home| !home.is_empty())
            .collect(),
        directory: answer.get("dir").and_then(directory),
        refused: answer.all("refused").filter_map(refused).collect(),
        installed: answer.all("installed").filter_map(installed).collect(),
        parts: answer.all("part").filter_map(part).collect(),
        daemons,
        tools: Tools {
            found: answer.all("tool").map(str::to_owned).collect(),
            hash: answer.get("hash").map(str::to_owned),
        },
        system,
        stderr: Vec::new(),
        carriage: Carriage::default(),
    }
}

fn workspace(line: &str) -> Workspace {
    let (verdict, digits) = line.split_once(' ').unwrap_or((line, ""));
    let Some(path) = unhex(digits) else {
        return Workspace::Unusable("(not UTF-8)".to_owned());
    };
    match verdict {
        "ok" => Workspace::Ready(path),
        "missing" => Workspace::Missing(path),
        "file" => Workspace::NotADirectory(path),
        "denied" => Workspace::Denied(path),
        "dangling" => Workspace::Dangling(path),
        _ => Workspace::Unusable(path),
    }
}

fn directory(line: &str) -> Option<Directory> {
    let (path, free) = line.split_once(' ').unwrap_or((line, ""));
    let free = free.parse::<u64>().ok().map(|kib| kib.saturating_mul(1024));
    Some(Directory {
        path: unhex(path)?,
        free,
    })
}

fn refused(line: &str) -> Option<RefusedDirectory> {
    let (path, reason) = line.split_once(' ').unwrap_or((line, ""));
    Some(RefusedDirectory {
        path: unhex(path)?,
        reason: stdx::bounded::one_line(&unhex(reason)?, 200),
    })
}

fn installed(line: &str) -> Option<Installed> {
    let mut words = line.split(' ');
    let size = words.next()?.parse().ok()?;
    let path = unhex(words.next()?)?;
    let version_output = words.next().and_then(unhex).filter(|text| !text.is_empty());
    Some(Installed {
        path,
        size,
        version_output,
    })
}

fn part(line: &str) -> Option<Part> {
    let (size, name) = line.split_once(' ')?;
    Some(Part {
        size: size.parse().ok()?,
        name: unhex(name)?,
    })
}

/// What a daemon writes beside its socket.
#[derive(Deserialize)]
struct Recorded {
    #[serde(flatten)]
    hello: Hello,
    #[serde(default)]
    home: Option<String>,
}

fn daemon(line: &str, boot_id: &str) -> Option<Daemon> {
    let mut words = line.split(' ');
    let record = unhex(words.next()?)?;
    let stat = words
        .next()
        .and_then(|word| word.strip_prefix(':'))
        .and_then(unhex)
        .unwrap_or_default();
    match serde_json::from_str::<Recorded>(&record) {
        Ok(recorded) => {
            let proof = prove(&recorded.hello.identity, &stat, boot_id);
            Some(Daemon {
                hello: Some(recorded.hello),
                home: recorded.home,
                proof,
            })
        }
        Err(error) => {
            tracing::debug!(%error, file = layout::IDENTITY_FILE, "a daemon's word is not readable");
            Some(Daemon {
                hello: None,
                home: None,
                proof: Proof::Unsure,
            })
        }
    }
}

/// Compares what a daemon says with the line of `/proc/PID/stat`, or with `alive` where there is no `/proc`.
fn prove(identity: &protocol::Identity, stat: &str, boot_id: &str) -> Proof {
    if stat == "alive" {
        return Proof::Unsure;
    }
    // The second field, the name in parentheses, may itself contain spaces and parentheses (proc(5)).
    let (_, rest) = stat.rsplit_once(')').unwrap_or_default();
    let mut fields = rest.split_whitespace();
    // A process that has ended stays listed until its parent asks for its status.
    let has_ended = matches!(fields.next(), Some("Z" | "X"));
    let start = fields.nth(18).and_then(|field| field.parse().ok());
    if !has_ended && start == Some(identity.start_time) && identity.boot_id == boot_id {
        Proof::Runs
    } else {
        Proof::Gone
    }
}

#[cfg(test)]
pub(crate) mod tests;
