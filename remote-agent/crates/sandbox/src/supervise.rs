//! Watching one command from its start to its end.

use std::{
    io,
    os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
    time::{Duration, Instant},
};

use process_wrap::tokio::ChildWrapper;
use stdx::clock::monotonic;
use tokio::{io::AsyncReadExt as _, net::unix::pipe, time::timeout};

use crate::{
    Background, End, LiveOutput, Outcome, ProcessInfo, RunOptions,
    capture::{Capture, OutputLimits},
    kill::Group,
};

/// How long output is read after the shell has exited while somebody else still holds it.
const DRAIN: Duration = Duration::from_millis(150);
/// How long a process may take to be gone before it counts as left behind.
const SETTLE: Duration = Duration::from_millis(60);
/// The same for bubblewrap's own helper, which outlives its last child by a moment.
const SETTLE_HELPER: Duration = Duration::from_secs(1);
/// How long the system may take to end a process after SIGKILL; only a process stuck in the kernel needs longer.
const KILL_LIMIT: Duration = Duration::from_secs(5);
/// How often a dying group is looked at.
const POLL: Duration = Duration::from_millis(10);
/// How much is read at once, in bytes.
const READ: usize = 64 * 1024;

/// What is left of a command after its end.
pub(crate) struct Finished {
    pub(crate) outcome: Outcome,
    /// The group, when it still has members.
    pub(crate) left: Option<Group>,
    /// The output, when somebody still holds it.
    pub(crate) pipe: Option<pipe::Receiver>,
}

/// Watches `child`, the leader of `group`, until it ends, is cancelled or runs out of time.
pub(crate) async fn supervise(
    child: Box<dyn ChildWrapper>,
    group: Group,
    pipe: pipe::Receiver,
    options: RunOptions,
) -> io::Result<Finished> {
    let started = monotonic();
    let RunOptions {
        token,
        timeout,
        grace,
        live,
        limits,
    } = options;
    let mut running = Running::new(child, group, pipe, live, limits);
    let time_is_up = async {
        match timeout {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(time_is_up);
    let end = loop {
        tokio::select! {
            biased;
            () = token.cancelled() => break End::Cancelled,
            () = &mut time_is_up => break End::TimedOut(timeout.unwrap_or_default()),
            progress = running.progress() => {
                progress?;
                if let Some(status) = running.status {
                    break exit(status);
                }
            }
        }
    };
    let background = match end {
        End::Exited(_) | End::Signaled(_) => running.drain().await,
        End::TimedOut(_) | End::Cancelled => {
            running.end_group(grace).await;
            None
        }
    };
    Ok(running.finish(end, background, started).await)
}

fn exit(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(code),
        (None, signal) => End::Signaled(signal.unwrap_or(0)),
    }
}

/// A command under way. Dropping it kills its group.
struct Running {
    child: Box<dyn ChildWrapper>,
    group: Group,
    pipe: Option<pipe::Receiver>,
    status: Option<ExitStatus>,
    capture: Option<Capture>,
    live: Option<LiveOutput>,
    buffer: Vec<u8>,
    /// Whether nothing of the group is known to run, or what runs may go on.
    released: bool,
}

impl Running {
    fn new(
        child: Box<dyn ChildWrapper>,
        group: Group,
        pipe: pipe::Receiver,
        live: Option<LiveOutput>,
        limits: OutputLimits,
    ) -> Self {
        Self {
            child,
            group,
            pipe: Some(pipe),
            status: None,
            capture: Some(Capture::new(limits)),
            live,
            buffer: vec![0; READ],
            released: false,
        }
    }

    /// Waits for the next thing to happen: the shell exits, output arrives or ends, live text finds room.
    ///
    /// Dropping the wait loses nothing.
    async fn progress(&mut self) -> io::Result<()> {
        let Self {
            child,
            pipe,
            status,
            live,
            buffer,
            ..
        } = self;
        let waiting_text = live.as_mut().filter(|live| live.has_pending());
        let read = tokio::select! {
            biased;
            exited = child.wait(), if status.is_none() => {
                *status = Some(exited?);
                return Ok(());
            }
            read = read_some(pipe, buffer), if pipe.is_some() => read?,
            () = flush(waiting_text), if waiting_text.is_some() => return Ok(()),
            else => std::future::pending().await,
        };
        if read == 0 {
            self.pipe = None;
            return Ok(());
        }
        let bytes = &self.buffer[..read];
        if let Some(capture) = &mut self.capture {
            capture.push(bytes);
        }
        if let Some(live) = &mut self.live {
            live.push(bytes);
        }
        Ok(())
    }

    /// Reads what was printed before the shell exited and looks at what runs on.
    async fn drain(&mut self) -> Option<Background> {
        // Reading goes on to the end of the output unless something in the background keeps it open.
        self.progress_until(monotonic() + DRAIN, |running| running.pipe.is_none())
            .await;
        let exited = monotonic();
        let mut processes = self.group.members();
        while !processes.is_empty() && monotonic() < exited + settle_time(&processes) {
            self.progress_until(monotonic() + POLL, |_| false).await;
            processes = self.group.members();
        }
        if processes.is_empty() && self.pipe.is_some() {
            // bubblewrap's helper held the output; it is gone now.
            self.progress_until(monotonic() + POLL, |running| running.pipe.is_none())
                .await;
        }
        self.released = true;
        let holds_output = self.pipe.is_some();
        if processes.is_empty() && !holds_output {
            return None;
        }
        processes.retain(|process| !is_helper(process));
        Some(Background {
            group: self.group.number(),
            processes,
            holds_output,
        })
    }

    /// Ends the whole group: SIGTERM, `grace`, SIGKILL. Output is read all the while.
    async fn end_group(&mut self, grace: Duration) {
        self.group.terminate();
        let deadline = monotonic() + grace;
        while monotonic() < deadline && !(self.status.is_some() && self.group.members().is_empty()) {
            self.progress_until(monotonic() + POLL, |running| running.status.is_some())
                .await;
            if self.status.is_some() {
                self.progress_until(monotonic() + POLL, |running| running.pipe.is_none())
                    .await;
                tokio::time::sleep(POLL).await;
            }
        }
        self.group.kill();
        self.progress_until(monotonic() + KILL_LIMIT, |running| running.status.is_some())
            .await;
        self.progress_until(monotonic() + DRAIN, |running| running.pipe.is_none())
            .await;
        self.released = true;
    }

    /// Makes progress until `done`, an error or the deadline.
    async fn progress_until(&mut self, deadline: Instant, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            let left = deadline.saturating_duration_since(monotonic());
            if left.is_zero() {
                return;
            }
            match timeout(left, self.progress()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::warn!(%error, "could not read the rest of a command's output");
                    self.pipe = None;
                    return;
                }
                Err(_) => return,
            }
        }
    }

    async fn finish(mut self, end: End, background: Option<Background>, started: Instant) -> Finished {
        if let Some(live) = &mut self.live {
            live.finish();
            if live.has_pending() {
                // A reader that does not read misses the end; the outcome has it.
                let _late = timeout(DRAIN, live.flush()).await;
            }
        }
        let capture = self
            .capture
            .take()
            .unwrap_or_else(|| Capture::new(OutputLimits::default()));
        let left = background
            .as_ref()
            .filter(|_| !self.group.members().is_empty())
            .map(|_| self.group);
        let pipe = self.pipe.take().filter(|_| background.is_some());
        let elapsed = monotonic().saturating_duration_since(started);
        Finished {
            outcome: Outcome {
                end,
                output: capture.finish(),
                background,
                elapsed,
            },
            left,
            pipe,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.released {
            self.group.kill();
        }
    }
}

async fn read_some(pipe: &mut Option<pipe::Receiver>, buffer: &mut [u8]) -> io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.read(buffer).await,
        None => Ok(0),
    }
}

async fn flush(live: Option<&mut LiveOutput>) {
    if let Some(live) = live {
        live.flush().await;
    }
}

/// Gives the time after which these processes count as left behind.
fn settle_time(processes: &[ProcessInfo]) -> Duration {
    if processes.iter().all(is_helper) {
        SETTLE_HELPER
    } else {
        SETTLE
    }
}

/// Recognises the process that bubblewrap leaves as the first one of a process namespace.
fn is_helper(process: &ProcessInfo) -> bool {
    process.name == "bwrap"
}

/// Reads and discards output until nobody holds it any more, so that its writers are not stopped by a closed pipe.
pub(crate) async fn discard(mut pipe: pipe::Receiver) {
    let mut buffer = vec![0; 4096];
    while pipe.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
}
