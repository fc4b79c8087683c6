//! Ends the agent on the throwaway host, on every way out, and makes sure that it is gone.
//!
//! A live link asks it to end. Whatever still runs from the throwaway folder after that, because the link was down or
//! the start was interrupted, is found by the program file it runs and is sent SIGTERM, then SIGKILL.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use link::Link;
use protocol::{Identity, ShutdownRequest};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// How long asking may take.
const ASK: Duration = Duration::from_secs(1);
/// How long each way of ending it has.
const END: Duration = Duration::from_secs(1);
/// How often is looked.
const LOOK: Duration = Duration::from_millis(10);
/// What a daemon leaves in its run directory.
const REMAINS: [&str; 3] = ["s", "lock", "identity.json"];

/// Ends it. `folder` is the throwaway folder with symbolic links resolved. Says what still runs.
pub(crate) async fn stop(link: &Link, folder: &Path) -> Result<(), String> {
    let identity = link.ready().map(|ready| ready.hello.identity);
    if identity.is_some() && link.states().borrow().is_live() {
        let agent = link.agent();
        // Whether it heard shows in whether it ends.
        drop(tokio::time::timeout(ASK, agent.shutdown(ShutdownRequest { force: true })).await);
        if is_gone_within(END, identity.as_ref(), folder).await {
            return forget(identity).await;
        }
    }
    for signal in [Signal::TERM, Signal::KILL] {
        for pid in running_from(folder).await {
            // It may end by itself in this moment.
            let _ = kill_process(pid, signal);
        }
        if is_gone_within(END, identity.as_ref(), folder).await {
            return forget(identity).await;
        }
    }
    let pids: Vec<String> = running_from(folder).await.iter().map(Pid::to_string).collect();
    let known = identity.map(|identity| identity.pid.to_string()).into_iter();
    let pids = if pids.is_empty() { known.collect() } else { pids };
    Err(format!("the agent still runs: process {}", pids.join(", ")))
}

/// Removes the run directory, which is outside of the home.
async fn forget(identity: Option<Identity>) -> Result<(), String> {
    let Some(socket) = identity.map(|identity| identity.socket) else {
        return Ok(());
    };
    stdx::task::blocking(move || remove_run_directory(Path::new(&socket))).await;
    Ok(())
}

/// Removes what a daemon made and the folder if nothing else is in it. What cannot be removed is harmless.
fn remove_run_directory(socket: &Path) {
    let Some(folder) = socket.parent() else { return };
    let is_ours = folder
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("reasonix-"));
    if is_ours {
        for name in REMAINS {
            // The daemon removes the first and the last itself.
            drop(fs::remove_file(folder.join(name)));
        }
        // Not empty: somebody else uses it.
        drop(fs::remove_dir(folder));
    }
}

async fn is_gone_within(limit: Duration, identity: Option<&Identity>, folder: &Path) -> bool {
    let look = async {
        while identity.is_some_and(is_running) || !running_from(folder).await.is_empty() {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(limit, look).await.is_ok()
}

/// Says whether this very process still runs. A number that was given to another process, and a process that is dead
/// and waits for its parent, do not count.
fn is_running(identity: &Identity) -> bool {
    let Some(pid) = i32::try_from(identity.pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    if !Path::new("/proc/self/stat").exists() {
        return test_kill_process(pid).is_ok();
    }
    let Ok(stat) = fs::read_to_string(format!("/proc/{}/stat", identity.pid)) else {
        return false;
    };
    parse(&stat).is_some_and(|(state, start)| {
        state != "Z" && state != "X" && (identity.start_time == 0 || identity.start_time == start)
    })
}

/// Reads state (field 3) and start time (field 22) of `/proc/PID/stat` (proc(5)). The name before them, in
/// parentheses, may contain anything.
fn parse(stat: &str) -> Option<(&str, u64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

/// Finds processes that run a program of the folder. Empty where there is no `/proc`.
async fn running_from(folder: &Path) -> Vec<Pid> {
    let folder = folder.to_owned();
    stdx::task::blocking(move || processes(&folder)).await
}

fn processes(folder: &Path) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pid = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw)?;
        // Unreadable: another user's, a kernel thread, or gone meanwhile. A removed file keeps its path here.
        let program: PathBuf = fs::read_link(entry.path().join("exe")).ok()?;
        program.starts_with(folder).then_some(pid)
    };
    entries.filter_map(Result::ok).filter_map(pid).collect()
}

#[cfg(test)]
mod tests {
    use protocol::InstanceId;

    use super::*;

    #[test]
    fn reads_stat_whatever_the_name_is() {
        let fields: Vec<String> = (4..=52).map(|field| field.to_string()).collect();
        let stat = format!("42 (a) b) c) S {}", fields.join(" "));
        assert_eq!(parse(&stat), Some(("S", 22)));
        assert_eq!(parse("42 (x"), None);
    }

    #[tokio::test]
    async fn a_process_is_found_by_its_file_and_known_by_its_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let sleep = path.join("sleep");
        fs::copy("/bin/sleep", &sleep).unwrap();
        let mut child = stdx::process::command(&sleep).arg("300").spawn().unwrap();
        let pid = child.id().unwrap();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let start_time = parse(&stat).unwrap().1;
        let identity = |start_time| Identity {
            instance: InstanceId::fresh(),
            pid,
            start_time,
            boot_id: String::new(),
            machine: String::new(),
            uid: 0,
            socket: String::new(),
            program: String::new(),
        };
        assert!(is_running(&identity(start_time)) && is_running(&identity(0)));
        assert!(
            !is_running(&identity(start_time + 1)),
            "another process of that number"
        );
        let found: Vec<_> = running_from(&path)
            .await
            .iter()
            .map(|pid| pid.as_raw_pid())
            .collect();
        assert_eq!(found, [i32::try_from(pid).unwrap()]);
        kill_process(running_from(&path).await[0], Signal::KILL).unwrap();
        // Not waited for yet: a dead process that still has its number is gone.
        assert!(is_gone_within(Duration::from_secs(20), Some(&identity(start_time)), &path).await);
        child.wait().await.unwrap();
    }

    #[test]
    fn only_a_run_directory_is_removed_and_only_when_nothing_else_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        for (name, other, stays) in [
            ("reasonix-1-a", None, false),
            ("reasonix-1-b", Some("x"), true),
            ("other", None, true),
        ] {
            let run = folder.path().join(name);
            fs::create_dir(&run).unwrap();
            for file in REMAINS.into_iter().chain(other) {
                fs::write(run.join(file), "").unwrap();
            }
            remove_run_directory(&run.join("s"));
            assert_eq!(run.exists(), stays, "{name}");
        }
    }
}
