//! A login shell, or a command of it, on a terminal of its own. For the user who is at the other end: not confined.

use std::{
    ffi::OsString,
    io,
    os::fd::{AsFd as _, OwnedFd},
    path::PathBuf,
    process::ExitStatus,
    sync::Arc,
    time::Duration,
};

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use tokio::io::{Interest, unix::AsyncFd};

use crate::kill::Group;

/// How long what runs on a terminal has to end when the terminal goes.
const GRACE: Duration = Duration::from_secs(2);

/// Opens the terminal as the leader of a session that has none, which makes it the controlling terminal (Linux), and becomes
/// the program.
const TAKE: &str = "t=$1; shift; exec \"$@\" <>\"$t\" >&0 2>&0";

/// Whose shell runs.
#[derive(Debug, Clone)]
pub struct LoginShell {
    /// The shell's program.
    pub program: PathBuf,
    /// The environment that a login gives, without secrets.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it begins unless another folder is named.
    pub home: PathBuf,
}

/// What a terminal begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalOptions<'a> {
    /// The kind of terminal, as in `TERM`.
    pub term: &'a str,
    /// Width in characters.
    pub columns: u16,
    /// Height in characters.
    pub rows: u16,
    /// The folder to begin in.
    pub folder: Option<&'a std::path::Path>,
    /// A command for the shell; the shell itself, as at a login, when absent.
    pub command: Option<&'a str>,
}

/// A terminal and what runs on it.
///
/// Dropping it kills the shell and hangs up; [`Terminal::close`] gives the shell time to end. What made itself deaf to
/// `SIGHUP`, as with nohup(1), goes on either way, as after a login over SSH.
#[derive(Debug)]
pub struct Terminal {
    master: Master,
    child: Box<dyn ChildWrapper>,
    group: Option<Group>,
}

impl LoginShell {
    /// Opens a terminal.
    ///
    /// # Errors
    /// The system has no terminal to give, or the shell cannot be started.
    pub fn open(&self, options: &TerminalOptions<'_>) -> io::Result<Terminal> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        resize(&master, options.columns, options.rows)?;
        fcntl_setfl(&master, fcntl_getfl(&master)? | OFlags::NONBLOCK)?;
        let mut command = stdx::process::command("/bin/sh");
        command
            .args(["-c", TAKE, "sh"])
            .arg(name.to_str().map_err(io::Error::other)?)
            .arg(&self.program)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("TERM", options.term)
            .env("SHELL", &self.program)
            .env("HOME", &self.home)
            .current_dir(options.folder.unwrap_or(&self.home));
        match options.command {
            Some(text) => command.args(["-c", text]),
            None => command.arg("-l"),
        };
        let mut command = CommandWrap::from(command);
        command.wrap(ProcessSession);
        let child = command.spawn()?;
        let group = child.id().and_then(Group::of_leader);
        Ok(Terminal {
            master: Master(Arc::new(register(master)?)),
            child,
            group,
        })
    }
}

#[expect(
    deprecated,
    reason = "its successor is unsafe for descriptors that somebody else may close; this one is owned"
)]
fn register(master: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(master)
}

fn resize(master: &OwnedFd, columns: u16, rows: u16) -> io::Result<()> {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    Ok(tcsetwinsize(master, size)?)
}

/// The near side of a terminal: what is printed is read, what is typed is written. Clones share it.
#[derive(Debug, Clone)]
pub struct Master(Arc<AsyncFd<OwnedFd>>);

impl Master {
    /// Reads what is printed; 0 once nothing can print any more.
    ///
    /// # Errors
    /// The terminal broke.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self
            .0
            .async_io(Interest::READABLE, |master| {
                Ok(rustix::io::read(master, &mut *buffer)?)
            })
            .await;
        match read {
            // Linux says so once nobody has the other side open.
            Err(error) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => Ok(0),
            other => other,
        }
    }

    /// Types. Waits while what runs there takes no input.
    ///
    /// # Errors
    /// The terminal broke.
    pub async fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let count = self
                .0
                .async_io(Interest::WRITABLE, |master| Ok(rustix::io::write(master, rest)?))
                .await?;
            rest = rest.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    /// Changes its size; what runs on it is told by `SIGWINCH`.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn resize(&self, columns: u16, rows: u16) -> io::Result<()> {
        resize(self.0.get_ref(), columns, rows)
    }

    /// Sends a signal to what runs in the foreground, by its name without `SIG`. Names that mean nothing here do nothing.
    pub fn signal(&self, name: &str) {
        use rustix::process::{Signal, kill_process_group};
        let signal = match name {
            "HUP" => Signal::HUP,
            "INT" => Signal::INT,
            "QUIT" => Signal::QUIT,
            "TERM" => Signal::TERM,
            "KILL" => Signal::KILL,
            "USR1" => Signal::USR1,
            "USR2" => Signal::USR2,
            _ => return,
        };
        if let Ok(foreground) = rustix::termios::tcgetpgrp(self.0.get_ref().as_fd()) {
            // One that has just ended needs none.
            kill_process_group(foreground, signal).unwrap_or_default();
        }
    }

    /// Reads what is there already, without waiting; empty when nothing is.
    #[must_use]
    pub fn rest(&self) -> Vec<u8> {
        let mut rest = Vec::new();
        let mut buffer = [0; 4096];
        // A background process may go on printing: no more than a screen holds is its last word.
        while rest.len() < 256 * 1024
            && let Ok(count) = rustix::io::read(self.0.get_ref(), &mut buffer)
            && count > 0
        {
            rest.extend_from_slice(buffer.get(..count).unwrap_or_default());
        }
        rest
    }
}

impl Terminal {
    /// Gives its near side.
    #[must_use]
    pub fn master(&self) -> Master {
        self.master.clone()
    }

    /// Waits until what runs on it ends. What it printed last may still be there to read.
    ///
    /// # Errors
    /// The system cannot tell.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Hangs up: `SIGHUP` to the shell, which passes it on to its jobs, and its end after a grace.
    pub async fn close(mut self) {
        if let Some(group) = self.group {
            group.hang_up();
            if tokio::time::timeout(GRACE, self.child.wait()).await.is_err() {
                group.kill();
                // It is dead; only its number is collected.
                drop(self.child.wait().await);
            }
        }
    }
}
