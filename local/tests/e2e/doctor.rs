//! `reasonix remote doctor` on a good host and on hosts with one thing wrong each: the verdict, the exit code, and that
//! nothing stays there.

use std::{fs, path::PathBuf, process::Stdio};

use rustix::process::Signal;
use scripted_model::Scenario;
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt as _, process::Child};
use transport::testing::{KeyKind, KeyPair};

use crate::{
    local_rig::only_line,
    rig::{HostOptions, Ran, Rig, edit, send_signal},
};

/// The account of these hosts.
const USER: u32 = 1000;

/// The disks of a host: a mount namespace that lasts as long as the value, with the account's home `/home/me` on a disk
/// of its own.
struct Disks(Child);

impl Disks {
    /// Makes them. `home` are mount options of the home; `setup` runs once everything is mounted.
    async fn new(home: &str, setup: &str) -> Self {
        assert!(
            rustix::process::getuid().is_root(),
            "mounting takes root: run these tests as root"
        );
        let script = format!(
            "set -e\nmount -t tmpfs -o mode=755 none /home\nmkdir /home/me\nmount -t tmpfs -o {home} none /home/me\n\
             mkdir /home/me/work\nchown -R {USER}:{USER} /home/me\n{setup}\necho ready\nexec cat"
        );
        let mut process = stdx::process::command("unshare");
        process
            .args(["--mount", "sh", "-c", &script])
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut child = process.spawn().unwrap();
        let mut word = [0; 6];
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut word)
            .await
            .unwrap();
        assert_eq!(&word, b"ready\n");
        Self(child)
    }

    /// A host on these disks.
    async fn host(&self, sshd: &[&str]) -> Rig {
        let enter = format!(
            "/usr/bin/nsenter --mount --target={} /usr/bin/setpriv --reuid={USER} --regid={USER} --clear-groups /bin/sh",
            self.0.id().unwrap()
        );
        let options = HostOptions {
            sshd: sshd.iter().map(ToString::to_string).collect(),
            shell: Some((
                enter,
                "HOME=/home/me; SHELL=/bin/bash; export HOME SHELL; unset XDG_RUNTIME_DIR".to_owned(),
            )),
            ..HostOptions::default()
        };
        Rig::new(Scenario::new(), options).await
    }

    /// Lists what lies in the home.
    fn home(&self) -> Vec<String> {
        let home = PathBuf::from(format!("/proc/{}/root/home/me", self.0.id().unwrap()));
        let entries = fs::read_dir(home).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// Asks the doctor, in words for the eye and as JSON, and gives both.
#[expect(clippy::print_stdout, reason = "docs/REMOTE.md shows what these tests print")]
async fn doctor(rig: &Rig, host: &str) -> (Ran, Value) {
    let text = rig.run(&["remote", "doctor", host]).await;
    println!("{}", text.stdout);
    let ran = rig.run(&["remote", "doctor", host, "--json"]).await;
    assert_eq!(text.code, ran.code, "{text:#?}\n{ran:#?}");
    let all = only_line(&ran);
    assert_eq!(all["code"], json!(ran.code), "{all:#}");
    // As docs/REMOTE.md states it.
    assert_eq!(
        keys(&all),
        ["code", "findings", "host", "schema", "verdict"],
        "{all:#}"
    );
    assert_eq!(all["schema"], 1);
    for finding in all["findings"].as_array().unwrap() {
        assert_eq!(
            keys(finding),
            ["check", "fix", "text", "verdict", "why"],
            "{finding:#}"
        );
        let verdict = finding["verdict"].as_str().unwrap();
        assert!(
            ["ok", "note", "warning", "problem"].contains(&verdict),
            "{finding:#}"
        );
        let words = finding["text"].as_str().unwrap();
        assert!(
            text.stdout.contains(finding["check"].as_str().unwrap()),
            "{words}: {}",
            text.stdout
        );
        if finding["verdict"] == "problem" {
            assert!(finding["fix"].is_string(), "{finding:#}");
        }
    }
    (text, all)
}

/// Names the entries of an object, sorted.
fn keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// Gives the first finding of a check with a verdict.
fn finding<'a>(all: &'a Value, check: &str, verdict: &str) -> &'a Value {
    let found = all["findings"].as_array().unwrap();
    let fits = |finding: &&Value| finding["check"] == check && finding["verdict"] == verdict;
    found
        .iter()
        .find(fits)
        .unwrap_or_else(|| panic!("no {verdict} of {check} in {all:#}"))
}

/// Lists the checks that stand in the way.
fn problems(all: &Value) -> Vec<&str> {
    let found = all["findings"].as_array().unwrap();
    let problems = found.iter().filter(|finding| finding["verdict"] == "problem");
    problems
        .map(|finding| finding["check"].as_str().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_good_host_is_good_in_every_respect_and_stays_as_it_is() {
    let disks = Disks::new("size=1g", "").await;
    let rig = disks.host(&[]).await;
    let (ran, all) = doctor(&rig, "box:/home/me/work").await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(problems(&all), [""; 0], "{all:#}");
    for check in [
        "resolve",
        "connect",
        "host key",
        "log in",
        "system",
        "commands",
        "clock",
        "tools",
        "home",
        "folder",
        "program",
        "agent",
        "workspace",
        "forwarding",
        "sftp",
        "sessions",
    ] {
        finding(&all, check, "ok");
    }
    assert!(ran.stdout.contains("one can work on box"), "{}", ran.stdout);
    assert_eq!(disks.home(), ["work"], "nothing stays");
    assert_eq!(rig.proxy.connections(), 2, "one login each");
    let quiet = rig
        .run(&["remote", "doctor", "--read-only", "box:/home/me/work"])
        .await;
    assert!(
        quiet.stdout.contains("not tried: /home/me/.reasonix/bin"),
        "{quiet:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_on_which_nothing_may_run_is_told_folder_by_folder() {
    let disks = Disks::new(
        "size=1g,noexec",
        "mount -t tmpfs -o noexec,mode=1777 none /var/tmp",
    )
    .await;
    let rig = disks.host(&[]).await;
    let (ran, all) = doctor(&rig, "box:/home/me/work").await;
    assert_eq!((ran.code, problems(&all)), (Some(5), vec!["folder"]), "{ran:#?}");
    for folder in [
        "/home/me/.reasonix/bin",
        "/home/me/.cache/reasonix/bin",
        "/var/tmp/reasonix-1000",
    ] {
        assert!(
            ran.stdout.contains(&format!("programs do not run in {folder}")),
            "{}",
            ran.stdout
        );
    }
    assert!(ran.stdout.contains("remount,exec"), "{}", ran.stdout);
    assert_eq!(disks.home(), ["work"], "nothing stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_noexec_home_alone_is_no_problem() {
    let disks = Disks::new("size=1g,noexec", "mount -t tmpfs -o mode=1777 none /var/tmp").await;
    let rig = disks.host(&[]).await;
    let (ran, all) = doctor(&rig, "box:/home/me/work").await;
    assert_eq!((ran.code, problems(&all)), (Some(0), Vec::new()), "{ran:#?}");
    let text = finding(&all, "folder", "ok")["text"].as_str().unwrap();
    assert!(
        text.starts_with("programs run in /var/tmp/reasonix-1000"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_named_with_what_is_missing() {
    let fill = "dd if=/dev/zero of=/home/me/fill bs=4k 2>/dev/null || :\nmount -t tmpfs -o size=64k,mode=1777 none /var/tmp";
    let disks = Disks::new("size=1m", fill).await;
    let rig = disks.host(&[]).await;
    let (ran, all) = doctor(&rig, "box:/home/me/work").await;
    assert_eq!(ran.code, Some(5), "{ran:#?}");
    assert_eq!(problems(&all), ["home", "folder"], "{all:#}");
    assert!(ran.stdout.contains("more than there is"), "{}", ran.stdout);
    let test = rig.run(&["remote", "test", "box:/home/me/work"]).await;
    assert_eq!(test.code, ran.code, "{test:#?}");
    let text = finding(&all, "home", "problem")["text"].as_str().unwrap();
    assert!(test.stderr.contains(text), "{text}: {test:#?}");
    assert_eq!(disks.home(), ["fill", "work"], "nothing stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn forbidden_forwarding_and_missing_sftp_are_notes() {
    let disks = Disks::new("size=1g", "").await;
    let rig = disks
        .host(&[
            "DisableForwarding yes",
            "Subsystem sftp /bin/false",
            "MaxSessions 1",
        ])
        .await;
    let (ran, all) = doctor(&rig, "box:/home/me/work").await;
    assert_eq!((ran.code, problems(&all)), (Some(0), Vec::new()), "{ran:#?}");
    for check in ["forwarding", "sftp", "sessions"] {
        finding(&all, check, "note");
    }
    // Where a forward is configured, it is more than a note.
    let config = rig.laptop().join(".reasonix/config.toml");
    let forward = "[[remote.hosts.forwards]]\nbind = \"18080\"\ntarget = \"8080\"\n";
    fs::write(&config, fs::read_to_string(&config).unwrap() + forward).unwrap();
    let (_, all) = doctor(&rig, "box:/home/me/work").await;
    finding(&all, "forwarding", "warning");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_without_a_shell_is_told_in_its_words() {
    let options = HostOptions {
        shell: Some(("/usr/sbin/nologin".to_owned(), String::new())),
        ..HostOptions::default()
    };
    let rig = Rig::new(Scenario::new(), options).await;
    let (ran, all) = doctor(&rig, "box").await;
    assert_eq!(
        (ran.code, problems(&all)),
        (Some(5), vec!["commands"]),
        "{ran:#?}"
    );
    assert!(
        ran.stdout.contains("This account is currently not available"),
        "{}",
        ran.stdout
    );
    finding(&all, "log in", "ok");
    finding(&all, "sftp", "note");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stops_the_way_is_told_after_what_went_well() {
    let rig = Rig::new(Scenario::new(), HostOptions::default()).await;
    let (ran, all) = doctor(&rig, "127.0.0.1:1").await;
    assert_eq!((ran.code, problems(&all)), (Some(3), vec!["connect"]), "{ran:#?}");

    KeyPair::generate(KeyKind::Ed25519)
        .unwrap()
        .write(&rig.identity())
        .unwrap();
    let (ran, all) = doctor(&rig, "box").await;
    assert_eq!((ran.code, problems(&all)), (Some(4), vec!["log in"]), "{ran:#?}");
    for check in ["resolve", "connect", "host key"] {
        finding(&all, check, "ok");
    }
    rig.trust(&KeyPair::generate(KeyKind::Ed25519).unwrap().public());
    let (ran, all) = doctor(&rig, "box").await;
    assert_eq!(
        (ran.code, problems(&all)),
        (Some(4), vec!["host key"]),
        "{ran:#?}"
    );
    assert!(ran.stdout.contains("known_hosts"), "{}", ran.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_agent_and_the_model_behind_it_are_looked_at() {
    let rig = Rig::new(Scenario::new().say("Hello."), HostOptions::installed()).await;
    let ran = rig.run(&["run", "--remote", "box", "go"]).await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let (ran, all) = doctor(&rig, "box").await;
    assert_eq!((ran.code, problems(&all)), (Some(0), Vec::new()), "{ran:#?}");
    for check in ["program", "agent", "socket", "model", "workspace", "used"] {
        finding(&all, check, "ok");
    }
    edit(
        &rig.host().join(".reasonix/config.toml"),
        "default_model = \"scripted\"",
        "default_model = \"nobody\"",
    );
    let (ran, all) = doctor(&rig, "box").await;
    assert_eq!((ran.code, problems(&all)), (Some(6), vec!["model"]), "{ran:#?}");
    let missing = rig.host().join("missing");
    let (ran, all) = doctor(&rig, &format!("box:{}", missing.display())).await;
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    let fix = finding(&all, "workspace", "problem")["fix"].as_str().unwrap();
    assert_eq!(fix, format!("ssh box mkdir -p {}", missing.display()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_another_key_is_not_called_the_expected_one() {
    let rig = Rig::new(Scenario::new(), HostOptions::default()).await;
    let name = format!("[127.0.0.1]:{}", rig.proxy.address().port());
    let theirs = rig.laptop().join(".ssh/known_hosts");
    fs::create_dir_all(theirs.parent().unwrap()).unwrap();
    let old = KeyPair::generate(KeyKind::Ed25519).unwrap().public();
    fs::write(&theirs, format!("{name} {old}\n")).unwrap();
    let (_, all) = doctor(&rig, "box").await;
    let good = finding(&all, "host key", "ok")["text"].as_str().unwrap();
    let theirs = theirs.to_str().unwrap();
    assert!(
        good.contains(rig.known_hosts().to_str().unwrap()) && !good.contains(theirs),
        "{good}"
    );
    let stale = finding(&all, "host key", "note");
    assert_eq!(stale["fix"], format!("ssh-keygen -R '{name}' -f '{theirs}'"));
    assert!(stale["text"].as_str().unwrap().contains(theirs), "{stale}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_hangs_is_named_with_what_ends_it() {
    let rig = Rig::new(Scenario::new().say("Hello."), HostOptions::installed()).await;
    let ran = rig.run(&["run", "--remote", "box", "go"]).await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let pid = rig.daemon_pid().unwrap();
    send_signal(pid, Signal::STOP);
    let (args, stop) = (["remote", "doctor", "box", "--json"], ["remote", "stop", "box"]);
    let (ran, stop) = tokio::join!(rig.run(&args), rig.run(&stop));
    let command = format!("ssh box kill -KILL {pid}");
    let all = only_line(&ran);
    assert_eq!((ran.code, problems(&all)), (Some(5), vec!["socket"]), "{all:#}");
    let socket = finding(&all, "socket", "problem");
    assert!(
        socket["text"].as_str().unwrap().contains(&pid.to_string()),
        "{socket}"
    );
    assert!(socket["fix"].as_str().unwrap().contains(&command), "{socket}");
    assert_eq!(stop.code, Some(3), "{stop:#?}");
    assert!(stop.stderr.contains(&command), "{stop:#?}");
    send_signal(pid, Signal::KILL);
    let gone = rig.run(&["remote", "stop", "box"]).await;
    assert_eq!(gone.code, Some(0), "{gone:#?}");
}
