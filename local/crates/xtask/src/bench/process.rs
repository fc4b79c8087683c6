//! Child processes of a measurement: timed to a line or to their end, and gone afterwards.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::job::Interrupt;
use crate::system;
use faultnet::Namespace;

/// How long anything that is measured may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A child whose lines are read as they come.
#[derive(Debug)]
pub(super) struct Watched {
    child: Child,
    name: String,
    started: Instant,
    lines: Receiver<(Instant, String)>,
    seen: Vec<String>,
}

impl Watched {
    /// Starts `command`, in `namespace` if one is given, with an empty standard input.
    pub(super) fn start(mut command: Command, namespace: Option<&Namespace>) -> anyhow::Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let started = system::now();
        let mut child = match namespace {
            Some(namespace) => namespace.spawn(&mut command)?,
            None => command
                .spawn()
                .with_context(|| format!("could not start {name}"))?,
        };
        let (sender, lines) = channel();
        let pipes: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|pipe| Box::new(pipe) as _),
            child.stderr.take().map(|pipe| Box::new(pipe) as _),
        ];
        for pipe in pipes.into_iter().flatten() {
            let sender = sender.clone();
            std::thread::Builder::new()
                .name("lines".to_owned())
                .spawn(move || {
                    for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                        // Nobody listens any more once the child was dropped.
                        if sender.send((system::now(), line)).is_err() {
                            return;
                        }
                    }
                })
                .context("could not start a reading thread")?;
        }
        Ok(Self {
            child,
            name,
            started,
            lines,
            seen: Vec::new(),
        })
    }

    /// Waits for a line that contains `part`, and gives when it came.
    pub(super) fn line(&mut self, part: &str, interrupt: &Interrupt) -> anyhow::Result<Instant> {
        let deadline = system::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(Duration::from_millis(100)) {
                Ok((at, line)) => {
                    let found = line.contains(part);
                    self.seen.push(line);
                    if found {
                        return Ok(at);
                    }
                }
                Err(RecvTimeoutError::Timeout) if system::now() < deadline => check(interrupt)?,
                Err(_) => {
                    let name = &self.name;
                    let said = self.seen.join("\n  ");
                    bail!("{name} did not say {part:?}, but:\n  {said}");
                }
            }
        }
    }

    /// Gives the milliseconds from its start to a line.
    pub(super) fn until_line(&mut self, part: &str, interrupt: &Interrupt) -> anyhow::Result<f64> {
        let at = self.line(part, interrupt)?;
        Ok(millis(at - self.started))
    }

    /// Gives the milliseconds to its successful end, and what it printed.
    pub(super) fn until_end(mut self, interrupt: &Interrupt) -> anyhow::Result<(f64, String)> {
        let deadline = self.started + PATIENCE;
        loop {
            match self.lines.recv_timeout(Duration::from_millis(100)) {
                Ok((_, line)) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if system::now() >= deadline => {
                    bail!("{} does not end", self.name);
                }
                Err(RecvTimeoutError::Timeout) => check(interrupt)?,
            }
        }
        // Its streams are closed: the end is a moment away.
        let status = self.child.wait()?;
        let took = millis(self.started.elapsed());
        let said = self.seen.join("\n");
        if !status.success() {
            return Err(anyhow!("{} ended with {status}: {said}", self.name));
        }
        Ok((took, said))
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }
}

/// A child on a terminal of its own, 120 by 40, whose output is thrown away.
#[derive(Debug)]
pub(super) struct OnTerminal {
    child: Child,
    /// Closing it hangs up.
    _terminal: File,
}

impl OnTerminal {
    /// Starts `program` as the leader of a session with that terminal.
    pub(super) fn start(mut setsid: Command, namespace: &Namespace) -> anyhow::Result<Self> {
        let terminal =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).context("could not open a terminal")?;
        grantpt(&terminal)?;
        unlockpt(&terminal)?;
        let size = Winsize {
            ws_row: 40,
            ws_col: 120,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&terminal, size)?;
        let name = ptsname(&terminal, Vec::new())?;
        let path = Path::new(OsStr::from_bytes(name.as_bytes()));
        let end = File::options().read(true).write(true).open(path)?;
        setsid
            .env("TERM", "xterm-256color")
            .stdin(end.try_clone()?)
            .stdout(end.try_clone()?)
            .stderr(end);
        let child = namespace.spawn(&mut setsid)?;
        let terminal = File::from(terminal);
        let mut output = terminal.try_clone()?;
        std::thread::Builder::new()
            .name("terminal".to_owned())
            // Ends with an error once nobody has the terminal open any more.
            .spawn(move || drop(std::io::copy(&mut output, &mut std::io::sink())))
            .context("could not start a reading thread")?;
        Ok(Self {
            child,
            _terminal: terminal,
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        // It may have ended; it is our child.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // It may have ended; it is our child, so its pid is certainly it until it is waited for.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Ends the measurement when the user wants it to end.
pub(super) fn check(interrupt: &Interrupt) -> anyhow::Result<()> {
    if interrupt.is_raised() {
        bail!("interrupted");
    }
    Ok(())
}

/// Waits `time`, unless the user wants an end.
pub(super) fn pause(time: Duration, interrupt: &Interrupt) -> anyhow::Result<()> {
    let end = system::now() + time;
    while system::now() < end {
        check(interrupt)?;
        std::thread::sleep(Duration::from_millis(50).min(end.saturating_duration_since(system::now())));
    }
    Ok(())
}

pub(super) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Lists the processes whose program is in `folder`.
pub(super) fn running_from(folder: &Path) -> Vec<u32> {
    processes()
        .filter(|pid| {
            std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|file| file.starts_with(folder))
        })
        .collect()
}

/// Lists the children of a process, and theirs.
pub(super) fn descendants(of: u32) -> Vec<u32> {
    let mut found = vec![of];
    let all: Vec<(u32, u32)> = processes().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(all.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}

fn processes() -> impl Iterator<Item = u32> {
    std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn parent(pid: u32) -> Option<u32> {
    status(pid, "PPid").and_then(|value| value.parse().ok())
}

/// Gives a value of `/proc/PID/status` without its unit.
pub(super) fn status(pid: u32, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.split_whitespace().next().map(str::to_owned)
}

/// Ends a process by force and waits until it is gone.
pub(super) fn kill(pid: u32) {
    let Some(raw) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return;
    };
    // It may be gone already.
    let _killed = kill_process(raw, Signal::KILL);
}

/// Kills processes and waits until none of them runs any more.
pub(super) fn kill_all(pids: &[u32]) {
    pids.iter().copied().for_each(kill);
    let deadline = system::now() + Duration::from_secs(5);
    let runs = |pid: &u32| status(*pid, "State").is_some_and(|state| state != "Z");
    while pids.iter().any(runs) && system::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
}
