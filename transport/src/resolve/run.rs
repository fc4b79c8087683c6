//! A helper program with a deadline, and with everything that it started.

use std::{io, process::Output, process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The most that is kept of each output, in bytes.
const MOST: u64 = 16 << 20;

/// Runs a command in a process group of its own and gives what it printed, where its outputs are pipes. The whole group
/// ends with the command, with the deadline, or when nobody waits any more: a shell's children would outlive it.
///
/// # Errors
/// The command could not be started; `TimedOut` when the deadline passed.
pub(super) async fn run(command: &mut tokio::process::Command, deadline: Duration) -> io::Result<Output> {
    let mut child = command.process_group(0).stdin(Stdio::null()).spawn()?;
    let pid = child.id().and_then(|id| i32::try_from(id).ok());
    let group = Group(pid.and_then(Pid::from_raw));
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let ended = async move {
        let status = child.wait().await;
        // What it left behind would keep its outputs open.
        drop(group);
        status
    };
    let work = async { tokio::join!(ended, all_of(stdout), all_of(stderr)) };
    match tokio::time::timeout(deadline, work).await {
        Ok((status, stdout, stderr)) => Ok(Output {
            status: status?,
            stdout: stdout?,
            stderr: stderr?,
        }),
        Err(_) => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("no answer within {} s", deadline.as_secs()),
        )),
    }
}

async fn all_of(output: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(output) = output {
        output.take(MOST).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_deadline_is_an_error() {
        let mut command = stdx::process::command("/bin/sh");
        command.arg("-c").arg("exec /bin/sleep 1000");
        let error = run(&mut command, Duration::from_millis(50)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn nothing_that_a_command_started_outlives_the_wait() {
        let folder = tempfile::tempdir().unwrap();
        let pid_file = folder.path().join("pid");
        let mut command = stdx::process::command("/bin/sh");
        // The child's child would outlive a kill of the child alone.
        command
            .arg("-c")
            .arg("/bin/sleep 1000 & echo $! > new; /bin/mv new pid; wait")
            .current_dir(folder.path());
        let exists = until(|| pid_file.exists());
        tokio::select! {
            biased;
            () = exists => {}
            output = run(&mut command, Duration::from_secs(1000)) => panic!("{output:?}"),
        }
        ends(&std::fs::read_to_string(&pid_file).unwrap()).await;
    }

    #[tokio::test]
    async fn nothing_that_a_command_started_outlives_its_end() {
        let mut command = stdx::process::command("/bin/sh");
        // The child in the background holds the output.
        command
            .arg("-c")
            .arg("/bin/sleep 1000 & echo $!; exit 1")
            .stdout(Stdio::piped());
        let output = run(&mut command, Duration::from_secs(60)).await.unwrap();
        assert_eq!(output.status.code(), Some(1));
        ends(&String::from_utf8(output.stdout).unwrap()).await;
    }

    async fn ends(pid: &str) {
        until(|| {
            let status = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
            status.is_empty() || status.contains(") Z ")
        })
        .await;
    }

    async fn until(holds: impl Fn() -> bool) {
        let wait = async {
            while !holds() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), wait).await.unwrap();
    }
}
