//! `reasonix remote show|test|status|logs|connect`: what they find, what they leave alone, how they end.

use std::{fs, process::Stdio};

use rustix::process::Signal;
use scripted_model::Scenario;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use transport::testing::{KeyKind, KeyPair};

use crate::{
    local_rig::only_line,
    rig::{DEADLINE, HostOptions, Ran, Rig, edit, eventually, send_signal},
};

async fn rig(host: HostOptions) -> Rig {
    Rig::new(Scenario::new().say("Hello."), host).await
}

fn ok(ran: &Ran) -> &Ran {
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran
}

/// Lists what lies below a folder.
fn everything(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(everything(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

/// Runs a turn on the host, so that an agent runs there.
async fn one_turn(rig: &Rig) {
    ok(&rig.run(&["run", "--remote", "box", "go"]).await);
}

/// Finds a value in a list of `{key, value, origin}`.
fn row<'a>(list: &'a Value, key: &str) -> &'a Value {
    let rows = list.as_array().unwrap();
    let found = rows.iter().find(|row| row["key"] == key);
    found.unwrap_or_else(|| panic!("no {key} in {list:#}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn show_says_what_is_configured_and_where_each_value_comes_from() {
    let rig = rig(HostOptions::default()).await;
    let config = rig.laptop().join(".reasonix/config.toml");
    let forward = "[[remote.hosts.forwards]]\nbind = \"18080\"\ntarget = \"8080\"\n";
    fs::write(&config, fs::read_to_string(&config).unwrap() + forward).unwrap();
    let port = rig.proxy.address().port().to_string();

    let shown = rig.run(&["remote", "show", "box"]).await;
    for part in [
        "config.toml:",
        "workspace",
        "127.0.0.1",
        &port,
        "L:18080:127.0.0.1:8080",
    ] {
        assert!(ok(&shown).stdout.contains(part), "{part}: {shown:#?}");
    }
    assert!(
        !shown.stdout.contains("idle_exit"),
        "a default is not shown: {shown:#?}"
    );
    let explained = rig.run(&["remote", "show", "box", "--explain"]).await;
    for part in [
        "idle_exit",
        "(default)",
        "config.toml:",
        "this program's own file",
    ] {
        assert!(ok(&explained).stdout.contains(part), "{part}: {explained:#?}");
    }
    let all = only_line(ok(&rig.run(&["remote", "show", "box", "--json"]).await));
    assert_eq!((&all["configured"], &all["name"]), (&json!(true), &json!("box")));
    for (list, key, value) in [("settings", "port", &port), ("ssh", "port", &port)] {
        let row = row(&all[list], key);
        assert_eq!(row["value"], *value, "{row}");
        assert!(row["origin"].as_str().unwrap().contains("config.toml:"), "{row}");
    }
    assert_eq!(
        row(&all["ssh"], "identity")["value"],
        json!(rig.laptop().parent().unwrap().join("ssh/key"))
    );
    assert_eq!(all["forwards"].as_array().unwrap().len(), 1);
    assert_eq!(rig.proxy.connections(), 0, "nothing was dialled");
}

#[tokio::test(flavor = "multi_thread")]
async fn show_tells_what_an_ssh_config_says_from_what_is_a_default() {
    let rig = rig(HostOptions::default()).await;
    let file = rig.laptop().join("ssh_config");
    let lines = "Host alias\n  HostName 192.0.2.7\n  User someone\n  AddressFamily inet\n  CertificateFile /c\n\
                 PasswordAuthentication no\nUpdateHostKeys no\n";
    fs::write(&file, lines).unwrap();
    let mut command = rig.command(&["remote", "show", "alias", "--json"]);
    command.env("REASONIX_SSH_CONFIG", &file);
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(all["configured"], false);
    for (key, value, from_file) in [
        ("address", "192.0.2.7", true),
        ("user", "someone", true),
        ("port", "22", false),
        ("family", "IPv4 only", true),
        ("certificates", "/c", true),
        ("methods", "publickey, keyboard-interactive", true),
        ("announced", "are not learned", true),
        ("timeout", "", false),
    ] {
        let row = row(&all["ssh"], key);
        assert_eq!(row["value"], value, "{row}");
        let origin = row["origin"].as_str().unwrap();
        assert_eq!(origin.contains(file.to_str().unwrap()), from_file, "{row}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn test_goes_the_way_and_changes_nothing() {
    let rig = rig(HostOptions::default()).await;
    let before = everything(&rig.host());
    let ran = rig.run(&["remote", "test", "box"]).await;
    for part in [
        "resolve",
        "connect",
        "host key",
        "log in",
        "publickey",
        "probe",
        " ms",
        "connecting uploads it",
        "none runs",
    ] {
        assert!(ok(&ran).stdout.contains(part), "{part}: {ran:#?}");
    }
    let work = fs::canonicalize(rig.work()).unwrap();
    assert!(ran.stdout.contains(work.to_str().unwrap()), "{ran:#?}");
    assert_eq!(everything(&rig.host()), before);
    assert!(!rig.programs().exists() && rig.daemon_pid().is_none());
    assert_eq!(rig.proxy.connections(), 1, "one login");
}

#[tokio::test(flavor = "multi_thread")]
async fn test_finds_the_agent_and_how_its_socket_is_reached() {
    for (line, reached) in [
        ("AllowStreamLocalForwarding yes", "direct"),
        ("AllowStreamLocalForwarding no", "bridge"),
    ] {
        let host = HostOptions {
            sshd: vec![line.to_owned(), "MaxSessions 1".to_owned()],
            ..HostOptions::installed()
        };
        let rig = rig(host).await;
        one_turn(&rig).await;
        let ran = rig.run(&["remote", "test", "box", "--json"]).await;
        let found = only_line(ok(&ran));
        assert_eq!(found["agent"]["reached"], reached, "{found:#}");
        assert_eq!(found["agent"]["pid"], rig.daemon_pid().unwrap(), "{found:#}");
        assert_eq!(found["programs"].as_array().unwrap().len(), 1, "{found:#}");
        assert_eq!(found["system"]["os"], "Linux");
        let stages: Vec<&str> = found["stages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|stage| stage["stage"].as_str().unwrap())
            .collect();
        assert_eq!(
            stages,
            [
                "resolve",
                "connect",
                "host key",
                "log in",
                "probe",
                "program",
                "model",
                "agent",
                "socket",
                "home",
                "workspace"
            ]
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn test_ends_with_the_code_of_the_stage_that_failed() {
    let rig = rig(HostOptions::default()).await;
    let failed = async |args: &[&str]| {
        let ran = rig.run(&[&["remote", "test", "--json"], args].concat()).await;
        let error = only_line(&ran)["error"].clone();
        let stage = error["stage"].as_str().unwrap_or_default().to_owned();
        assert_eq!(error["code"], json!(ran.code), "{ran:#?}");
        (ran.code.unwrap(), stage)
    };
    assert_eq!(
        failed(&["box:/no/such/folder"]).await,
        (2, "workspace".to_owned())
    );
    assert_eq!(failed(&["127.0.0.1:1"]).await, (3, "connect".to_owned()));
    KeyPair::generate(KeyKind::Ed25519)
        .unwrap()
        .write(&rig.laptop().parent().unwrap().join("ssh/key"))
        .unwrap();
    assert_eq!(failed(&["box"]).await, (4, "log in".to_owned()));
    rig.trust(&KeyPair::generate(KeyKind::Ed25519).unwrap().public());
    assert_eq!(failed(&["box"]).await, (4, "host key".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn status_says_whether_an_agent_runs_and_starts_none() {
    let rig = rig(HostOptions::installed()).await;
    let none = only_line(ok(&rig.run(&["remote", "status", "box", "--json"]).await));
    assert_eq!(none["running"], false);
    let text = rig.run(&["remote", "status", "box"]).await;
    assert!(ok(&text).stdout.contains("no agent runs on box"), "{text:#?}");
    assert_eq!(rig.daemon_pid(), None);

    one_turn(&rig).await;
    let status = only_line(ok(&rig.run(&["remote", "status", "box", "--json"]).await));
    for (key, value) in [
        ("running", json!(true)),
        ("pid", json!(rig.daemon_pid())),
        ("sessions", json!(1)),
        ("running_turns", json!([])),
    ] {
        assert_eq!(status[key], value, "{key}: {status:#}");
    }
    assert!(
        status["uptime_seconds"].as_u64().is_some_and(|up| up < 3600),
        "{status:#}"
    );
    let text = rig.run(&["remote", "status", "box"]).await;
    assert!(ok(&text).stdout.contains(", up "), "{text:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_asked_of_a_running_agent_and_start_none() {
    let rig = rig(HostOptions::default()).await;
    let before = everything(&rig.host());
    let text = rig.run(&["sessions", "--remote", "box"]).await;
    for part in ["no agent runs on box", "`reasonix --remote box`"] {
        assert!(ok(&text).stdout.contains(part), "{part}: {text:#?}");
    }
    let none = only_line(ok(&rig.run(&["sessions", "--remote", "box", "--json"]).await));
    assert_eq!((&none["running"], &none["sessions"]), (&json!(false), &json!([])));
    assert_eq!(rig.daemon_pid(), None);
    assert_eq!(everything(&rig.host()), before, "nothing was uploaded");

    one_turn(&rig).await;
    let list = only_line(ok(&rig.run(&["sessions", "--remote", "box", "--json"]).await));
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1, "{list:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_shown_from_their_end_and_cannot_steer_the_terminal() {
    let rig = rig(HostOptions::installed()).await;
    let none = rig.run(&["remote", "logs", "box"]).await;
    assert_eq!(none.code, Some(1), "{none:#?}");
    assert!(none.stderr.contains("no agent has run there"), "{none:#?}");

    one_turn(&rig).await;
    let log = rig.host().join(".reasonix/logs/daemon.log");
    let mut text = fs::read_to_string(&log).unwrap();
    text.push_str("one\n\u{1b}[2Jtwo\u{202e}\n");
    fs::write(&log, text).unwrap();
    let ran = rig.run(&["remote", "logs", "box", "-n", "2"]).await;
    assert_eq!(ok(&ran).stdout, "one\n\u{fffd}[2Jtwo\u{fffd}\n");
    let place = fs::canonicalize(&log).unwrap();
    assert!(
        ran.stderr.contains(".reasonix/logs/daemon.log") && place.exists(),
        "{ran:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_followed_log_goes_on_until_ctrl_c_and_leaves_nothing_on_the_host() {
    let rig = rig(HostOptions::installed()).await;
    one_turn(&rig).await;
    let log = rig.host().join(".reasonix/logs/daemon.log");
    let mut command = rig.command(&["remote", "logs", "box", "-f", "-n", "0"]);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    eventually("tail runs", || !tails(&log).is_empty()).await;
    fs::write(&log, fs::read_to_string(&log).unwrap() + "news\n").unwrap();
    assert_eq!(next(&mut lines).await.as_deref(), Some("news"));
    send_signal(child.id().unwrap(), Signal::INT);
    let status = tokio::time::timeout(DEADLINE, child.wait())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(status.code(), Some(130));
    eventually("tail has ended", || tails(&log).is_empty()).await;
}

async fn next<R: tokio::io::AsyncBufRead + Unpin>(lines: &mut Lines<R>) -> Option<String> {
    tokio::time::timeout(DEADLINE, lines.next_line())
        .await
        .unwrap()
        .unwrap()
}

/// Lists the processes that show a file.
fn tails(log: &std::path::Path) -> Vec<String> {
    let name = log.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
    lines
        .filter(|line| line.starts_with("tail") && line.contains(name))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn connect_starts_the_agent_and_holds_the_connection_until_ctrl_c() {
    let rig = rig(HostOptions::installed()).await;
    let config = rig.laptop().join(".reasonix/config.toml");
    let near = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let target = rig.model.address().port();
    let forward = format!("[[remote.hosts.forwards]]\nbind = \"{near}\"\ntarget = \"{target}\"\n");
    fs::write(&config, fs::read_to_string(&config).unwrap() + &forward).unwrap();
    let asked = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let rule = format!("{}:127.0.0.1:{target}", asked.local_addr().unwrap().port());
    drop(asked);
    let mut command = rig.command(&["remote", "connect", "-L", &rule, "box", "--no-screen"]);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = String::new();
    while !said.contains("Ctrl-C hangs up") {
        said.push_str(&next(&mut lines).await.unwrap_or_else(|| panic!("ended: {said}")));
        said.push('\n');
    }
    for part in ["was started", "reached directly", &format!("{near}")] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(tokio::net::TcpStream::connect(("127.0.0.1", near)).await.is_ok());
    let pid = rig.daemon_pid().unwrap();

    // A cut is mended and said.
    rig.proxy.cut();
    while !said.contains("connected again") {
        said.push_str(&next(&mut lines).await.unwrap_or_else(|| panic!("ended: {said}")));
        said.push('\n');
    }
    send_signal(child.id().unwrap(), Signal::INT);
    let status = tokio::time::timeout(DEADLINE, child.wait())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(status.code(), Some(130), "{said}");
    assert_eq!(said.matches("Ctrl-C hangs up").count(), 1, "{said}");
    assert!(said.contains(&rule), "{said}");
    assert_eq!(rig.daemon_pid(), Some(pid), "the agent goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn connect_says_what_failed_with_the_usual_code() {
    let rig = rig(HostOptions::installed()).await;
    let config = rig.laptop().join(".reasonix/config.toml");
    edit(
        &config,
        &format!("port = {}", rig.proxy.address().port()),
        "port = 1",
    );
    let ran = rig.run(&["remote", "connect", "box", "--no-screen"]).await;
    assert_eq!(ran.code, Some(3), "{ran:#?}");
    let ran = rig.run(&["remote", "connect", ""]).await;
    assert_eq!(ran.code, Some(2), "{ran:#?}");
}
