//! `reasonix remote import`, `upgrade` and `uninstall`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use scripted_model::{Reply, Scenario};
use serde_json::json;

use crate::{
    local_rig::only_line,
    rig::{HostOptions, Rig, eventually},
    trust::at_terminal,
};

/// Lists what lies below a folder.
fn everything(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(everything(&path));
        }
        found.insert(path);
    }
    found
}

/// Lists the processes whose program or working folder lies in a folder.
fn processes(folder: &Path) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let uses = |entry: &fs::DirEntry| {
        ["exe", "cwd"]
            .iter()
            .any(|link| fs::read_link(entry.path().join(link)).is_ok_and(|path| path.starts_with(folder)))
    };
    all.filter(uses)
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

/// Lists the run directories of agents whose home lies in a folder.
fn run_directories(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir("/tmp")
        .unwrap()
        .filter_map(Result::ok)
        .map(|entry| entry.path());
    let ours = |path: &PathBuf| {
        let word = fs::read_to_string(path.join("identity.json")).unwrap_or_default();
        word.contains(folder.to_str().unwrap())
    };
    all.filter(ours).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_after_uninstall_as_it_was_before_the_first_connect() {
    let rig = Rig::new(Scenario::new().say("Hello."), HostOptions::default()).await;
    let config = rig.host().join(".reasonix/config.toml");
    let text = fs::read(&config).unwrap();
    fs::remove_dir_all(rig.host().join(".reasonix")).unwrap();
    let before = everything(&rig.host());

    // The configuration comes with the first visit, as a person would bring it.
    fs::create_dir(rig.host().join(".reasonix")).unwrap();
    fs::write(&config, text).unwrap();
    let ran = rig.run(&["run", "--remote", "box", "go"]).await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(rig.daemon_pid().is_some() && everything(&rig.host()).len() > before.len() + 5);
    let visits = rig.laptop().join(".reasonix/hosts");
    assert_ne!(fs::read_dir(&visits).unwrap().count(), 0);

    let nobody = rig.run(&["remote", "uninstall", "box"]).await;
    assert_eq!(nobody.code, Some(2), "{nobody:#?}");
    assert!(rig.daemon_pid().is_some(), "nothing happens without a decision");
    let ran = rig.run(&["remote", "uninstall", "box", "--yes", "--purge"]).await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    for part in [
        "the agent on box is stopped",
        "program",
        "sessions",
        "removed from box",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {ran:#?}");
    }
    assert_eq!(everything(&rig.host()), before, "{ran:#?}");
    assert!(run_directories(&rig.host()).is_empty());
    eventually("no process is left", || processes(&rig.host()).is_empty()).await;
    assert_eq!(
        fs::read_dir(&visits).unwrap().count(),
        0,
        "the visit is forgotten"
    );
    assert!(rig.known_hosts().exists(), "the host key is not");

    let again = rig.run(&["remote", "uninstall", "box", "--yes"]).await;
    assert!(
        again.code == Some(0) && again.stdout.contains("nothing of ours is on box"),
        "{again:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_turn_and_the_sessions_are_not_lost_to_a_yes() {
    let scenario = Scenario::new().reply(Reply::new().say("One. ").gate("one").say("Two."));
    let rig = Rig::new(scenario, HostOptions::installed()).await;
    let mut run = rig.start(&["run", "--remote", "box", "--output-format", "stream-json", "go"]);
    run.until(|line| line["frame"] == "delta").await;
    let ran = rig.run(&["remote", "uninstall", "box", "--yes", "--purge"]).await;
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.stderr.contains("1 turn(s) are running"), "{ran:#?}");
    rig.model.gate("one").open();
    let (lines, status, stderr) = run.finish().await;
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert_eq!(lines.last().unwrap()["result"], "One. Two.");

    let ran = rig.run(&["remote", "uninstall", "box", "--yes"]).await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.stdout.contains("sessions and configuration stay"), "{ran:#?}");
    let home = rig.host().join(".reasonix");
    assert!(home.join("config.toml").exists() && home.join("sessions").exists());
    assert!(!home.join("bin").exists() && !home.join("logs").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_leaves_a_running_turn_to_the_agent_of_before() {
    let scenario = Scenario::new().reply(Reply::new().say("One. ").gate("one").say("Two."));
    let rig = Rig::new(scenario, HostOptions::installed()).await;
    // Another build of this version: the same program with a byte more.
    let current = fs::read_dir(rig.programs())
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let old = rig
        .programs()
        .join(format!("reasonix-{}-0123456789ab", env!("CARGO_PKG_VERSION")));
    fs::copy(&current, &old).unwrap();
    fs::write(&old, [fs::read(&old).unwrap(), vec![0]].concat()).unwrap();
    let mut command = stdx::process::command(&old);
    command
        .args(["serve", "--detach"])
        .env("HOME", rig.host())
        .env("PATH", "/usr/bin:/bin")
        .current_dir(rig.host());
    let started = command.output().await.unwrap();
    assert!(started.status.success(), "{started:?}");
    let before = rig.daemon_pid().unwrap();

    let mut run = rig.start(&["run", "--remote", "box", "--output-format", "stream-json", "go"]);
    run.until(|line| line["frame"] == "delta").await;
    let ran = rig.run(&["remote", "upgrade", "box", "--json"]).await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let done = only_line(&ran);
    assert_eq!(done["arrival"], "launched", "{done:#}");
    assert_ne!(done["pid"], json!(before), "{done:#}");
    let others = done["others"].as_array().unwrap();
    assert_eq!(others.len(), 1, "{done:#}");
    assert_eq!(
        (&others[0]["pid"], &others[0]["drain"]),
        (&json!(before), &json!("running")),
        "{done:#}"
    );

    rig.model.gate("one").open();
    let (lines, status, stderr) = run.finish().await;
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert_eq!(
        lines.last().unwrap()["result"],
        "One. Two.",
        "the turn was not stopped"
    );
    let gone = || !Path::new(&format!("/proc/{before}")).exists();
    eventually("the agent of before ends", gone).await;

    let again = rig.run(&["remote", "upgrade", "box"]).await;
    assert!(
        again.code == Some(0) && again.stdout.contains("runs already"),
        "{again:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_are_taken_over_from_the_openssh_configuration_by_name() {
    let rig = Rig::new(Scenario::new(), HostOptions::default()).await;
    let folder = rig.laptop().join("ssh");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("config");
    let more = folder.join("more");
    let text = format!(
        "Include {}\nHost box lab *.wild !not\n  User me\nMatch originalhost bastion,*.x\n  Port 2222\nHost *\n  User x\n",
        more.display()
    );
    fs::write(&file, text).unwrap();
    fs::write(&more, "Host inner\n  HostName 192.0.2.9\n").unwrap();
    let import = async |args: &[&str]| {
        let mut command = rig.command(&[&["remote", "import"], args].concat());
        command.env("REASONIX_SSH_CONFIG", &file);
        crate::rig::ended(args, command.output()).await
    };
    let config = rig.laptop().join(".reasonix/config.toml");
    let before = fs::read_to_string(&config).unwrap();

    let shown = import(&[]).await;
    assert_eq!(shown.code, Some(0), "{shown:#?}");
    for part in [
        "inner  can be taken over",
        "lab  can be",
        "bastion  can be",
        "box  is configured already",
        "more:1",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {shown:#?}");
    }
    for part in ["wild", "not  ", "*"] {
        assert!(!shown.stdout.contains(part), "{part}: {shown:#?}");
    }
    assert_eq!(
        fs::read_to_string(&config).unwrap(),
        before,
        "nothing was changed"
    );
    let unknown = import(&["nosuch"]).await;
    assert_eq!(unknown.code, Some(2), "{unknown:#?}");

    assert_eq!(import(&["lab"]).await.code, Some(0));
    let after = fs::read_to_string(&config).unwrap();
    assert!(
        after.starts_with(&before) && after.contains("name = \"lab\""),
        "{after}"
    );
    assert!(
        !after[before.len()..].contains("user"),
        "only the name is written: {after}"
    );
    let all = import(&["--all"]).await;
    assert!(
        all.code == Some(0) && all.stdout.contains("lab  is configured already"),
        "{all:#?}"
    );
    let listed = only_line(&rig.run(&["remote", "list", "--json"]).await);
    let names: Vec<&str> = listed["hosts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|host| host["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["box", "lab", "inner", "bastion"], "{listed:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_without_a_workspace_is_told_before_anything_is_dialled() {
    let rig = Rig::new(Scenario::new(), HostOptions::default()).await;
    let place = format!("127.0.0.1:{}", rig.proxy.address().port());
    for args in [vec!["run", "--remote", &place, "go"], vec!["--remote", &place]] {
        let ran = rig.run(&args).await;
        assert_eq!(ran.code, Some(2), "{ran:#?}");
        for part in ["no workspace is named", ":~/project"] {
            assert!(ran.stderr.contains(part), "{part}: {ran:#?}");
        }
    }
    assert_eq!(rig.proxy.connections(), 0, "nothing was dialled");
    let add = ["remote", "add", "lab", &place];
    let added = rig.run(&add).await;
    assert_eq!(added.code, Some(0), "{added:#?}");
    for part in ["no workspace is set", "--remote lab:~/project"] {
        assert!(added.stdout.contains(part), "{part}: {added:#?}");
    }
    let again = rig.run(&add).await;
    assert_eq!(again.code, Some(2), "{again:#?}");
    assert!(again.stderr.contains("hint: choose another name"), "{again:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_stops_at_the_same_time_all_find_it_stopped() {
    let rig = Rig::new(Scenario::new().say("Hello."), HostOptions::installed()).await;
    let ran = rig.run(&["run", "--remote", "box", "go"]).await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let stop = ["remote", "stop", "box"];
    let all = tokio::join!(rig.run(&stop), rig.run(&stop), rig.run(&stop));
    for ran in [all.0, all.1, all.2] {
        assert_eq!(ran.code, Some(0), "{ran:#?}");
    }
    assert!(rig.daemon_pid().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_runs_on_when_the_person_keeps_it() {
    let rig = Rig::new(Scenario::new().say("Hello."), HostOptions::installed()).await;
    let ran = rig.run(&["run", "--remote", "box", "go"]).await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let pid = rig.daemon_pid();
    let uninstall = ["remote", "uninstall", "box"];
    let no = at_terminal(&rig, &uninstall, "n\n").await;
    assert!(
        no.code == Some(0) && no.stdout.contains("nothing was removed"),
        "{no:#?}"
    );
    assert!(pid.is_some() && rig.daemon_pid() == pid, "{no:#?}");
    let yes = at_terminal(&rig, &uninstall, "y\nn\n").await;
    assert!(
        yes.code == Some(0) && yes.stdout.contains("sessions and configuration stay"),
        "{yes:#?}"
    );
    assert!(rig.daemon_pid().is_none());
}
