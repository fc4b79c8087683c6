//! Neither the key nor anything that works in its place is on the host: not in files, arguments, environments, logs,
//! session logs, memory or a core.
//!
//! Host and laptop are one machine here. What belongs to the host is found from the daemon down, by process id and by
//! folder; the laptop's own process and folder are never looked at.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufWriter, ErrorKind, Write as _},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    process::Stdio,
};

use base64::Engine as _;
use scripted_model::{Reply, Scenario};
use serde_json::json;

use super::Brokered;
use crate::{
    faults::{children, streaming},
    rig::{HostOptions, eventually},
};

/// What is searched for: the key, and each way in which base64 shows it, wherever in a longer text it begins.
fn needles(key: &str) -> Vec<String> {
    let mut needles = vec![key.to_owned()];
    for before in ["", "x", "xx"] {
        let text = base64::engine::general_purpose::STANDARD.encode(format!("{before}{key}"));
        // The first and the last characters depend on what stands around it.
        needles.push(text[4..text.len() - 4].to_owned());
    }
    needles
}

/// Says whether a file holds one of the needles, with grep(1), which is fast also where this test is not.
fn holds(path: &Path, needles: &[String]) -> bool {
    let mut grep = stdx::process::blocking_command("grep");
    grep.args(["-q", "-a", "-F"]);
    for needle in needles {
        grep.arg("-e").arg(needle);
    }
    let status = grep.arg(path).stdin(Stdio::null()).stderr(Stdio::null()).status();
    // 1 is for nothing found; a file that is gone holds nothing.
    status.unwrap().success()
}

/// Lists the files below a folder that hold a needle. Names count as content.
fn files_with(folder: &Path, needles: &[String]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().filter_map(Result::ok) {
            let path = entry.path();
            let name = path.to_string_lossy().into_owned();
            let kind = entry.file_type().unwrap();
            let is_named = needles.iter().any(|needle| name.contains(needle));
            if is_named || (kind.is_file() && holds(&path, needles)) {
                found.push(path);
            } else if kind.is_dir() {
                folders.push(path);
            }
        }
    }
    found
}

/// Gives a process and all below it.
fn family(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut next = 0;
    while let Some(&parent) = all.get(next) {
        all.extend(children(parent));
        next += 1;
    }
    all
}

/// Writes down what a process has in memory, as a core would: every mapping that can be read, save for what is the
/// program's own file anyway. Gives how many bytes; `None` for a process that has ended.
fn dump(pid: u32, file: &Path) -> Option<u64> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))
        .ok()
        .filter(|maps| !maps.is_empty())?;
    let memory = match File::open(format!("/proc/{pid}/mem")) {
        Ok(memory) => memory,
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => panic!("the memory of {pid} cannot be read ({error}): run as root, or allow ptrace"),
    };
    let mut core = BufWriter::new(File::create(file).unwrap());
    let mut written = 0;
    for line in maps.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (range, mode, inode) = (words[0], words[1], words[4]);
        let is_file_as_it_is = inode != "0" && !mode.contains('w');
        if !mode.starts_with('r') || is_file_as_it_is || line.ends_with("[vvar]") {
            continue;
        }
        let (start, end) = range.split_once('-').unwrap();
        let at = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let (mut at, end) = (at(start), at(end));
        let mut buffer = vec![0; 1 << 20];
        while at < end {
            let want = usize::try_from(end - at).unwrap().min(buffer.len());
            match memory.read_at(&mut buffer[..want], at) {
                Ok(count) if count > 0 => {
                    core.write_all(&buffer[..count]).unwrap();
                    at += count as u64;
                    written += count as u64;
                }
                // A mapping that went away, or of a device.
                _ => break,
            }
        }
    }
    core.flush().unwrap();
    Some(written)
}

/// What of a process shows a needle: arguments, environment, memory. `None` for a process that has ended.
fn process_shows(pid: u32, needles: &[String], core: &Path) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for file in ["cmdline", "environ"] {
        let path = PathBuf::from(format!("/proc/{pid}/{file}"));
        if holds(&path, needles) {
            found.push(path.display().to_string());
        }
    }
    let bytes = dump(pid, core)?;
    if holds(core, needles) {
        found.push(format!("memory of {pid}"));
    }
    // One that ends while it is read gives little.
    (bytes > 64 * 1024).then_some(found)
}

/// Looks everywhere on the host, in any case at the daemon and at these processes.
fn host_shows(brokered: &Brokered, needles: &[String], living: &[u32]) -> Vec<String> {
    let rig = &brokered.rig;
    let daemon = rig.daemon().unwrap();
    let pid = rig.daemon_pid().unwrap();
    let socket = daemon["identity"]["socket"].as_str().unwrap().to_owned();
    let run_dir = Path::new(&socket).parent().unwrap();
    let cores = tempfile::tempdir().unwrap();
    let mut found: Vec<String> = [rig.host().as_path(), run_dir]
        .into_iter()
        .flat_map(|folder| files_with(folder, needles))
        .map(|path| path.display().to_string())
        .collect();
    let processes = family(pid);
    assert!(!processes.contains(&std::process::id()));
    let core = cores.path().join("core");
    let shown: BTreeMap<u32, Vec<String>> = processes
        .into_iter()
        .filter_map(|pid| Some((pid, process_shows(pid, needles, &core)?)))
        .collect();
    for pid in living.iter().chain([&pid]) {
        assert!(shown.contains_key(pid), "{pid} was not looked at: {shown:?}");
    }
    found.extend(shown.into_values().flatten());
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_never_has_the_key_nor_anything_that_works_in_its_place() {
    let work = "echo $$ > child; touch started; while [ ! -e go ]; do sleep 0.05; done";
    let scenario = Scenario::new()
        .reply(
            Reply::new()
                .say("It begins. ".repeat(20))
                .gate("held")
                .say("It ends. ".repeat(20))
                .call("bash", &json!({"command": work})),
        )
        .say("Done.");
    let noise = "export REASONIX_LOG=debug TMPDIR=\"$HOME/tmp\"; mkdir -p \"$TMPDIR\"".to_owned();
    let host = HostOptions {
        shell: Some(("/bin/bash".into(), noise)),
        ..HostOptions::installed()
    };
    let brokered = Brokered::new(scenario, host).await;
    let rig = &brokered.rig;
    let needles = needles(&brokered.key);
    let mut run = streaming(rig, &["go"]);
    // While an answer streams, while a command runs, and after the turn.
    run.reading_until("the answer", rig.model.gate("held").reached(1))
        .await;
    run.read_some_text().await;
    assert_eq!(host_shows(&brokered, &needles, &[]), [""; 0]);
    rig.model.gate("held").open();
    run.reading_until("the command", async {
        eventually("the command runs", || rig.work().join("started").exists()).await;
    })
    .await;
    let command: u32 = fs::read_to_string(rig.work().join("child"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert_eq!(host_shows(&brokered, &needles, &[command]), [""; 0]);
    fs::write(rig.work().join("go"), "").unwrap();
    let (lines, code, stderr) = run.finish().await;
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(host_shows(&brokered, &needles, &[]), [""; 0]);
    // What the laptop prints goes elsewhere as well.
    for needle in &needles {
        assert!(!stderr.contains(needle.as_str()), "{stderr}");
        assert!(
            !lines
                .iter()
                .any(|line| line.to_string().contains(needle.as_str()))
        );
    }
    // The vendor did get it.
    brokered.asked(2);
    let log = fs::read_to_string(rig.host().join(".reasonix/logs/daemon.log")).unwrap();
    assert!(log.contains("DEBUG"), "the log is at its most talkative: {log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_search_would_find_a_key_anywhere() {
    let secret = format!("sk-rx-{}", protocol::SessionId::fresh());
    let needles = needles(&secret);
    let folder = tempfile::tempdir().unwrap();
    let core = folder.path().join("core");
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("Bearer {secret}"));
    fs::create_dir_all(folder.path().join("a/b")).unwrap();
    fs::write(folder.path().join("a/b/plain"), format!("x{secret}y")).unwrap();
    fs::write(folder.path().join("a/encoded"), &encoded).unwrap();
    fs::write(folder.path().join("a/harmless"), "sk-rx-").unwrap();
    let found = files_with(folder.path(), &needles);
    assert_eq!(found.len(), 2, "{found:?}");
    // A child that has it in its arguments, its environment, or only in its memory.
    let holding = |script: &str, argument: &str, variable: &str| {
        let mut command = stdx::process::command("/bin/bash");
        command
            .args(["-c", script, "bash", argument])
            .env("RX_PLANTED", variable)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        command.spawn().unwrap()
    };
    let wait = "echo ready; read -r line; kept=\"$line\"; echo kept; read -r line; echo \"$kept\"";
    for (argument, variable, typed) in [
        (secret.as_str(), "", "nothing"),
        ("", secret.as_str(), "nothing"),
        ("", "", secret.as_str()),
        ("", "", encoded.as_str()),
        ("", "", "nothing"),
    ] {
        let mut child = holding(wait, argument, variable);
        let mut stdin = child.stdin.take().unwrap();
        let stdout = child.stdout.take().unwrap();
        let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(stdout));
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("ready"));
        tokio::io::AsyncWriteExt::write_all(&mut stdin, format!("{typed}\n").as_bytes())
            .await
            .unwrap();
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("kept"));
        let found = process_shows(child.id().unwrap(), &needles, &core).unwrap();
        let is_planted = (argument, variable, typed) != ("", "", "nothing");
        assert_eq!(!found.is_empty(), is_planted, "{found:?}");
        child.kill().await.unwrap();
    }
}
