//! A helper program with a deadline, and with everything that it started.

use std::{io, process::Output, process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, kill_process_group};

/// Runs a command in a process group of its own and gives what it printed. The whole group ends with the deadline, or when
/// nobody waits any more: a shell's children would outlive it.
///
/// # Errors
/// The command could not be started; `TimedOut` when the deadline passed.
pub(super) async fn run(command: &mut tokio::process::Command, deadline: Duration) -> io::Result<Output> {
    command
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn()?;
    let pid = child.id().and_then(|id| i32::try_from(id).ok());
    let mut group = Group(pid.and_then(Pid::from_raw));
    let output = tokio::time::timeout(deadline, child.wait_with_output()).await;
    if let Ok(output) = output {
        group.0 = None;
        return output;
    }
    Err(io::Error::new(
        io::ErrorKind::TimedOut,
        format!("no answer within {} s", deadline.as_secs()),
    ))
}

/// Kills a process group when dropped.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            // A group that has ended meanwhile needs no end.
            let _ended = kill_process_group(pid, Signal::KILL);
        }
    }
}
