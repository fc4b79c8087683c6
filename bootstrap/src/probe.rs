//! One round trip that tells what a host is and what it has.

mod facts;
mod read;

use std::time::Duration;

pub use facts::{
    Daemon, Directory, Exchange, Installed, Isolation, Part, Probe, Proof, Quota, RefusedDirectory, Storage,
    System, Tools, Workspace,
};
pub(crate) use read::parse;

use crate::{
    answer,
    asking::{self, Asking},
    error::{Error, ErrorKind, Stage},
    fence::Fence,
    remote::{Deadline, Remote, RemoteError, Status},
    script::{Carriage, Script},
};

const SCRIPT: &str = include_str!("scripts/probe.sh");
/// A slow start-up may take the total. A host to which input does not get says nothing at all, and every step of the
/// script ends and speaks within the idle time.
const DEADLINE: Deadline = Deadline {
    idle: Duration::from_secs(15),
    total: Duration::from_secs(60),
};
/// Start-up noise may be long; answers are a few KiB.
const KEEP: usize = 1024 * 1024;

/// Asks a host everything, about `workspace` if given. With `write`, folders for programs are made and tried; without,
/// nothing is written.
///
/// # Errors
/// [`Stage::Probe`]: the command was not carried out, the login shell does not run commands, or the answer is cut.
pub async fn probe(remote: &dyn Remote, ask: &Ask<'_>) -> Result<Probe, Error> {
    let begun = stdx::clock::monotonic();
    let failed = match once(remote, ask, (Carriage::Input, DEADLINE)).await {
        Ok(probe) => return Ok(probe),
        Err(error) => error,
    };
    if is_transfer_only(&failed) && remote.takes_files().await {
        let kind = ErrorKind::Remote(RemoteError::FilesOnly);
        return Err(Error::new(Stage::Probe, remote.host(), kind));
    }
    if !is_silence(&failed) {
        return Err(failed);
    }
    tracing::info!(error = %failed, "the script did not arrive; it goes into the command line now");
    match once(remote, ask, (Carriage::CommandLine, after(begun.elapsed()))).await {
        Err(error) if matches!(error.kind(), ErrorKind::NoShell(_)) => Err(failed),
        Err(error) => Err(error.of_all(DEADLINE.total)),
        result => result,
    }
}

/// Gives what is left for the second way. There is no third that a shorter wait could leave time for.
fn after(waited: Duration) -> Deadline {
    Deadline::total(DEADLINE.total.saturating_sub(waited))
}

/// Says whether a command ran, or may have run, that was given no input. One that spoke until the time was over did not
/// wait for it.
fn is_silence(error: &Error) -> bool {
    let kind = error.kind();
    match kind {
        ErrorKind::Remote(RemoteError::TimedOut { limit, .. }) => *limit < DEADLINE.total,
        ErrorKind::Remote(RemoteError::NoInput) => true,
        _ => false,
    }
}

/// Says whether an SFTP server may have been run in place of the command: it says so, or takes the script for a broken
/// packet and ends with an error.
fn is_transfer_only(error: &Error) -> bool {
    let ErrorKind::NoShell(said) = error.kind() else {
        return false;
    };
    said.as_ref().is_none_or(|said| speaks_of_sftp(said)) && error.status() != Some(&Status::Exited(0))
}

/// OpenSSH's `internal-sftp` answers a command with "This service allows sftp connections only."
fn speaks_of_sftp(said: &str) -> bool {
    said.contains("sftp")
}

async fn once(remote: &dyn Remote, ask: &Ask<'_>, way: (Carriage, Deadline)) -> Result<Probe, Error> {
    let (carriage, deadline) = way;
    let fence = Fence::random();
    let call = Script::new(&fence)
        .text("rx_home", ask.home.unwrap_or_default())
        .text("rx_work", ask.workspace.unwrap_or_default())
        .number("rx_write", u64::from(ask.write != Write::Forbidden))
        .number("rx_room", ask.write.room().div_ceil(1024))
        .text("rx_random", &uuid::Uuid::new_v4().simple().to_string())
        .finish_by(carriage, SCRIPT);
    let asking = Asking {
        stage: Stage::Probe,
        fence: &fence,
        call,
        deadline,
        keep: KEEP,
    };
    let (sent, begun) = (stdx::clock::unix_millis(), stdx::clock::monotonic());
    let (answer, output) = asking::ask(remote, asking).await?;
    let took = begun.elapsed();
    let (before, after) = answer::around_mark(&fence, &output.stderr);
    let probe = parse(&answer);
    let exchange = Exchange {
        took,
        skew: probe.system.clock.map(|host| skew(host, sent, took)),
        noise: answer::stderr_lines(answer::before_answer(&fence, &output.stdout)),
        stderr_noise: answer::stderr_lines(before),
    };
    Ok(Probe {
        stderr: answer::stderr_lines(after),
        exchange,
        carriage,
        ..probe
    })
}

/// Computes by how many seconds a clock of whole seconds is ahead that was read at some time after `sent` (milliseconds)
/// and within `took`.
fn skew(host: u64, sent: u64, took: Duration) -> i64 {
    let since = |from: u64| {
        i64::try_from(host)
            .unwrap_or(i64::MAX)
            .saturating_sub(i64::try_from(from).unwrap_or(0))
    };
    let earliest = sent / 1000;
    let latest = (sent + u64::try_from(took.as_millis()).unwrap_or(0)) / 1000 + 1;
    since(earliest).min(0) + since(latest).max(0)
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
    Allowed {
        /// Bytes that a program needs: a folder with less is only taken where no other has more. 0 where not known.
        room: u64,
    },
    /// Nothing is written.
    Forbidden,
}

impl Write {
    fn room(self) -> u64 {
        match self {
            Self::Allowed { room } => room,
            Self::Forbidden => 0,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
