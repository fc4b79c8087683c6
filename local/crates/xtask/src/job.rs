//! Runs a child process in a group of its own, with a deadline, copying its output to the terminal.
//!
//! Output goes to a log file that is followed here, not to a pipe: a grandchild that outlives the child can then
//! hold nothing open that would be waited for.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::system;

/// How often a running child is looked at.
const POLL: Duration = Duration::from_millis(50);

/// How long a child may take to clean up after it was asked to end. nextest gives its tests 10 s of this.
const GRACE: Duration = Duration::from_secs(20);

/// Set once the user pressed Ctrl-C, or the terminal or CI asked this process to end.
#[derive(Clone)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes over the signals that ask a process to end.
    pub(crate) fn install() -> anyhow::Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&flag)).context("could not watch signals")?;
        }
        Ok(Self(flag))
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Whether a job's output is shown while it runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Echo {
    Live,
    Silent,
}

/// A running child process and the log it writes to.
pub(crate) struct Job {
    child: Child,
    name: String,
    unread: File,
    options: JobOptions,
}

/// Where a job logs, how long it may take and what ends it early.
#[derive(Clone)]
pub(crate) struct JobOptions {
    pub(crate) log: PathBuf,
    pub(crate) echo: Echo,
    pub(crate) deadline: Instant,
    pub(crate) interrupt: Interrupt,
}

impl Job {
    /// Starts `command` with an empty standard input and both outputs going to the log.
    pub(crate) fn start(mut command: Command, options: JobOptions) -> anyhow::Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        if let Some(folder) = options.log.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("could not create {}", folder.display()))?;
        }
        let shown = options.log.display();
        let log = File::create(&options.log).with_context(|| format!("could not write {shown}"))?;
        let unread = File::open(&options.log).with_context(|| format!("could not read {shown}"))?;
        let child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log.try_clone().context("could not share the log")?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("could not start {name}"))?;
        Ok(Self {
            child,
            name,
            unread,
            options,
        })
    }

    /// Waits until the child ends, its deadline passes or the user interrupts, and returns what it printed.
    ///
    /// # Errors
    /// Every end other than success.
    pub(crate) fn finish(mut self) -> anyhow::Result<String> {
        match self.wait()? {
            status if status.success() => self.output(),
            status => bail!("{} ended with {status}", self.name),
        }
    }

    /// Like [`Job::finish`], but leaves it to the caller to judge how the child ended.
    pub(crate) fn finish_any(mut self) -> anyhow::Result<(ExitStatus, String)> {
        let status = self.wait()?;
        Ok((status, self.output()?))
    }

    fn wait(&mut self) -> anyhow::Result<ExitStatus> {
        loop {
            let ended = self
                .child
                .try_wait()
                .with_context(|| format!("could not wait for {}", self.name))?;
            self.show_news();
            if let Some(status) = ended {
                return Ok(status);
            }
            if self.options.interrupt.is_raised() {
                self.kill();
                bail!("interrupted");
            }
            if system::now() >= self.options.deadline {
                self.kill();
                bail!("{} was stopped at its deadline", self.name);
            }
            std::thread::sleep(POLL);
        }
    }

    fn output(&self) -> anyhow::Result<String> {
        let bytes = std::fs::read(&self.options.log)
            .with_context(|| format!("could not read {}", self.options.log.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn show_news(&mut self) {
        if self.options.echo == Echo::Live {
            let mut terminal = io::stdout().lock();
            // A terminal that went away is no reason to give up: the log has everything.
            let _copied = io::copy(&mut self.unread, &mut terminal).and_then(|_| terminal.flush());
        }
    }

    /// Asks the whole group to end, then ends it.
    fn kill(&mut self) {
        let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) else {
            return;
        };
        // Both signals may find nobody left, which is what they are for.
        let _asked = kill_process_group(group, Signal::TERM);
        let patience = system::now() + GRACE;
        while system::now() < patience && matches!(self.child.try_wait(), Ok(None)) {
            self.show_news();
            std::thread::sleep(POLL);
        }
        let _ended = kill_process_group(group, Signal::KILL);
        let _reaped = self.child.wait();
        self.show_news();
    }
}

impl Drop for Job {
    /// Ends a child nobody waited for.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(
        script: &str,
        deadline: Duration,
        interrupt: &Interrupt,
    ) -> anyhow::Result<(ExitStatus, String)> {
        let folder = tempfile::tempdir()?;
        let mut command = system::command("sh");
        command.args(["-c", script]);
        let options = JobOptions {
            log: folder.path().join("log"),
            echo: Echo::Silent,
            deadline: system::now() + deadline,
            interrupt: interrupt.clone(),
        };
        Job::start(command, options)?.finish_any()
    }

    fn quiet() -> Interrupt {
        Interrupt(Arc::new(AtomicBool::new(false)))
    }

    #[test]
    fn keeps_both_outputs_and_the_exit_code() {
        let (status, output) = shell(
            "echo out; echo err >&2; exit 3",
            Duration::from_secs(60),
            &quiet(),
        )
        .unwrap();
        assert_eq!(status.code(), Some(3));
        assert_eq!(output, "out\nerr\n");
    }

    #[test]
    fn a_background_child_that_holds_the_output_is_not_waited_for() {
        let (status, output) = shell("sleep 600 & echo $!", Duration::from_secs(60), &quiet()).unwrap();
        assert!(status.success());
        let sleeper = Pid::from_raw(output.trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(sleeper, Signal::KILL).expect("the background child is still there");
    }

    #[test]
    fn a_child_past_its_deadline_is_stopped() {
        let error = shell("sleep 600 & wait", Duration::from_millis(200), &quiet()).unwrap_err();
        assert!(error.to_string().contains("deadline"), "{error}");
    }

    #[test]
    fn an_interrupt_stops_the_child() {
        let interrupt = quiet();
        interrupt.0.store(true, Ordering::Relaxed);
        let error = shell("sleep 600", Duration::from_secs(60), &interrupt).unwrap_err();
        assert_eq!(error.to_string(), "interrupted");
    }
}
