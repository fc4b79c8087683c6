//! Hosts that end what a login leaves behind: a unit of the user's service manager, else an agent that lives on the
//! connection and ends with it.

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, net::UnixListener},
    path::Path,
};

use scripted_model::{Reply, Scenario};
use serde_json::json;

use crate::{
    faults::{effects, held, streaming},
    rig::{HostOptions, Ran, Rig, eventually, numbers, session_of},
};

/// Says that processes are ended with their login, and does as it is told about lingering.
const LOGINCTL: &str = "case \"$*\" in *enable-linger*) echo asked >> \"$HOME/linger\"; exit \"$(cat \"$HOME/refuses\" 2>/dev/null || echo 0)\" ;; esac\n\
                        printf 'KillUserProcesses=yes\\nKillOnlyUsers=\\nKillExcludeUsers=\\n'";
/// Writes down what it was asked, and carries it out as the real one does with `--scope`: in its own place.
const SYSTEMD_RUN: &str =
    "echo \"$*\" >> \"$HOME/units\"; while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"";

fn fake(folder: &Path, name: &str, script: &str) {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A host whose logins are sessions of a login manager, which the programs in `folder` play.
fn host(folder: &Path, more: &str) -> HostOptions {
    let noise = format!(
        "export XDG_SESSION_ID=7 PATH='{}':\"$PATH\"; unset XDG_RUNTIME_DIR; echo welcome\n{more}",
        folder.display()
    );
    HostOptions {
        shell: Some(("/bin/sh".to_owned(), noise)),
        ..HostOptions::installed()
    }
}

pub(crate) fn ending_processes(folder: &Path) -> HostOptions {
    fake(folder, "loginctl", LOGINCTL);
    host(folder, "")
}

fn succeeded(ran: &Ran) {
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
}

async fn nothing_stays(rig: &Rig) {
    eventually("nothing of ours runs on the host", || {
        rig.running_programs().is_empty()
    })
    .await;
    assert!(rig.daemon().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_may_stay_the_agent_lives_on_the_connection() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = Scenario::new()
        .call("bash", &json!({"command": "echo one >> effects"}))
        .say("First done.");
    let rig = Rig::new(scenario, ending_processes(folder.path())).await;
    let first = rig.run(&["run", "--remote", "box", "first"]).await;
    succeeded(&first);
    assert!(first.stdout.contains("First done."), "{}", first.stdout);
    assert!(
        first.stderr.contains("it ends with this connection"),
        "{}",
        first.stderr
    );
    nothing_stays(&rig).await;
    assert_eq!(effects(&rig.work()), ["one"]);

    // What looks after an agent is honest about it.
    let status = rig.run(&["remote", "status", "box"]).await;
    succeeded(&status);
    assert!(
        status.stdout.contains("no agent stays on box"),
        "{}",
        status.stdout
    );
    assert!(status.stdout.contains("1 stored"), "{}", status.stdout);
    let stop = rig.run(&["remote", "stop", "box"]).await;
    succeeded(&stop);
    assert!(stop.stdout.contains("nothing to stop"), "{}", stop.stdout);
    let list = rig.run(&["sessions", "--remote", "box", "--json"]).await;
    succeeded(&list);
    let list: serde_json::Value = serde_json::from_str(&list.stdout).unwrap();
    let session = list["sessions"][0]["session"].as_str().unwrap().to_owned();

    rig.model.push(Reply::new().say("Second done."));
    let second = rig
        .run(&["run", "--remote", "box", "--resume", &session, "second"])
        .await;
    succeeded(&second);
    assert!(second.stdout.contains("Second done."), "{}", second.stdout);
    nothing_stays(&rig).await;
    assert_eq!(rig.model.refusals(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_ends_the_agent_and_the_next_connection_takes_the_session_up_again() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = Scenario::new()
        .call("bash", &json!({"command": "echo one >> effects"}))
        .reply(held("held", "never"));
    let rig = Rig::new(scenario, ending_processes(folder.path())).await;
    let mut run = streaming(&rig, &["go"]);
    run.reading_until("the turn", rig.model.gate("held").reached(1))
        .await;
    run.read_some_text().await;
    let before = rig.running_programs();
    assert!(!before.is_empty());
    rig.proxy.cut();
    let (lines, code, stderr) = run.finish().await;
    assert_eq!(code, Some(1), "{stderr}\n{lines:#?}");
    assert_eq!(
        lines.last().unwrap()["outcome"]["outcome"],
        "interrupted",
        "{stderr}"
    );
    let printed = numbers(&lines);
    let all: Vec<u64> = (1..=printed.len() as u64).collect();
    assert_eq!(printed, all, "no event is missing and none came twice");
    nothing_stays(&rig).await;

    rig.model.gate("held").open();
    rig.model.push(Reply::new().say("Taken up again."));
    let session = session_of(&lines).to_string();
    let more = rig
        .run(&["run", "--remote", "box", "--resume", &session, "go on"])
        .await;
    succeeded(&more);
    assert!(more.stdout.contains("Taken up again."), "{}", more.stdout);
    assert_eq!(effects(&rig.work()), ["one"], "nothing ran twice");
    nothing_stays(&rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_of_the_service_manager_is_used_where_there_is_one() {
    for (refuses, says) in [
        ("0", "runs as a unit of your service manager"),
        ("1", "ends when your last session there does"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let _bus = UnixListener::bind(folder.path().join("bus")).unwrap();
        fake(folder.path(), "loginctl", LOGINCTL);
        fake(folder.path(), "systemd-run", SYSTEMD_RUN);
        let runtime = format!("export XDG_RUNTIME_DIR='{}'", folder.path().display());
        let rig = Rig::new(Scenario::new().say("Done."), host(folder.path(), &runtime)).await;
        fs::write(rig.host().join("refuses"), refuses).unwrap();
        let ran = rig.run(&["run", "--remote", "box", "go"]).await;
        succeeded(&ran);
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
        assert_eq!(fs::read_to_string(rig.host().join("linger")).unwrap(), "asked\n");
        let units = fs::read_to_string(rig.host().join("units")).unwrap();
        assert!(units.starts_with("--user --scope "), "{units}");
        assert_eq!(units.lines().count(), 1, "{units}");
        let daemon = rig.daemon_pid().expect("the daemon stays");

        rig.model.push(Reply::new().say("Again."));
        let again = rig.run(&["run", "--remote", "box", "again"]).await;
        succeeded(&again);
        assert!(!again.stderr.contains("note:"), "{}", again.stderr);
        assert_eq!(rig.daemon_pid(), Some(daemon));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_killed_right_after_its_start_ends_in_an_agent_on_the_connection() {
    let folder = tempfile::tempdir().unwrap();
    // Nobody says so, but every command's end is the end of what it started.
    let kills = "case $SSH_ORIGINAL_COMMAND in ?*)\n\
                 /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"; rx=$?\n\
                 for f in /tmp/reasonix-*/identity.json; do if grep -q \"$HOME/.reasonix\" \"$f\"; then\n\
                 kill -9 \"$(sed -n 's/.*\"pid\":\\([0-9]*\\).*/\\1/p' \"$f\")\"; fi; done 2>/dev/null\n\
                 exit $rx ;; esac";
    let rig = Rig::new(Scenario::new().say("Done."), host(folder.path(), kills)).await;
    let ran = rig.run(&["run", "--remote", "box", "go"]).await;
    succeeded(&ran);
    assert!(ran.stdout.contains("Done."), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("it ends with this connection"),
        "{}",
        ran.stderr
    );
}
