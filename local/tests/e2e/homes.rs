//! Homes that cannot run programs or keep sessions, with the whole program. The mounts are those of one command each, so
//! they are gone with it; only root can make them, and CI is root.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt as _};

use scripted_model::{Reply, Scenario};
use serde_json::json;

use crate::rig::{HostOptions, Rig, ended};

const RUN: [&str; 4] = ["run", "--remote", "box", "go"];

/// A host on which every command sees mounts of its own, made by `setup`.
fn with_mounts(setup: &str) -> HostOptions {
    assert!(rustix::process::getuid().is_root(), "mounts need root");
    let noise = format!(
        "if [ -z \"$RX_OWN\" ]; then RX_OWN=1; export RX_OWN; exec unshare -m \"$0\"; fi\n{{ {setup}; }} || exit 98\ncd \"$HOME\""
    );
    HostOptions {
        shell: Some(("/bin/sh".into(), noise)),
        ..HostOptions::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_home_that_runs_no_programs_keeps_sessions_and_the_program_goes_elsewhere() {
    let host = with_mounts(
        "mkdir -p ../var && chmod 1777 ../var && mount --bind ../var /var/tmp && mount --bind \"$HOME\" \"$HOME\" && mount -o remount,bind,noexec \"$HOME\"",
    );
    let scenario = Scenario::new()
        .call("bash", &json!({"command": "echo here > made.txt"}))
        .say("Made.");
    let rig = Rig::new(scenario, host).await;
    let ran = rig.run(&RUN).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("Made.") && rig.work().join("made.txt").exists(),
        "{ran:?}"
    );
    let elsewhere = rig.host().join("../var/reasonix-0");
    let names: Vec<_> = fs::read_dir(elsewhere)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        names.len() == 1 && names[0].to_string_lossy().starts_with("reasonix-"),
        "{names:?}"
    );
    assert!(rig.host().join(".reasonix/sessions").exists());

    // Without what is remembered the program is found again.
    let stopped = rig.run(&["remote", "stop", "box"]).await;
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    rig.model.push(Reply::new().say("Again."));
    let ran = rig.run(&RUN).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("Again.") && !ran.stderr.contains("uploading"),
        "{ran:?}"
    );
    let stopped = rig.run(&["remote", "stop", "box"]).await;
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_home_that_keeps_no_sessions_is_named_before_a_turn() {
    for (label, setup, words) in [
        (
            "read-only",
            "mount --bind \"$HOME/.reasonix\" \"$HOME/.reasonix\" && mount -o remount,bind,ro \"$HOME/.reasonix\"",
            "Read-only file system",
        ),
        (
            "full",
            "mount -t tmpfs -o size=64k none \"$HOME/.reasonix\" && { dd if=/dev/zero of=\"$HOME/.reasonix/x\" 2>/dev/null || :; }",
            "No space left",
        ),
    ] {
        let rig = Rig::new(Scenario::new().say("Not to be asked."), with_mounts(setup)).await;
        let ran = rig.run(&RUN).await;
        assert_eq!(ran.code, Some(5), "{label}: {}", ran.stderr);
        let folder = rig.host().join(".reasonix").display().to_string();
        for word in [
            "sessions cannot be kept",
            folder.as_str(),
            words,
            "hint: ",
            "REASONIX_HOME",
        ] {
            assert!(ran.stderr.contains(word), "{label}: {word}: {}", ran.stderr);
        }
        assert!(!ran.stderr.contains("uploading"), "{label}: {}", ran.stderr);
        assert!(rig.model.requests().is_empty(), "{label}");
        assert_eq!(rig.running_programs(), [0; 0], "{label}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_whose_name_is_no_text_is_refused() {
    let rig = Rig::new(Scenario::new(), HostOptions::installed()).await;
    let mut command = rig.command(&["run", "--remote"]);
    command.arg(OsStr::from_bytes(b"box:/srv/caf\xe9")).arg("go");
    let ran = ended(&["run"], command.output()).await;
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("UTF-8"), "{}", ran.stderr);

    // A link to such a folder is found out on the host.
    let odd = rig.host().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&odd).unwrap();
    std::os::unix::fs::symlink(&odd, rig.host().join("link")).unwrap();
    let ran = rig.run(&["run", "--remote", "box:~/link", "go"]).await;
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("not UTF-8") && ran.stderr.contains("hint: "),
        "{}",
        ran.stderr
    );
    assert!(rig.model.requests().is_empty());
}
