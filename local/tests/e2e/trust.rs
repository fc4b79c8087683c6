//! Whom the laptop believes: host keys, logins, and hosts that are not there.

use std::{fs, process::Stdio};

use scripted_model::{Reply, Scenario};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use transport::testing::{KeyKind, KeyPair};

use crate::rig::{HostOptions, Ran, Rig, edit, eventually, session_of};

const RUN: [&str; 4] = ["run", "--remote", "box", "go"];

async fn rig() -> Rig {
    Rig::new(Scenario::new().say("Hello."), HostOptions::installed()).await
}

fn other_key() -> KeyPair {
    KeyPair::generate(KeyKind::Ed25519).unwrap()
}

/// Gives a key's fingerprint as OpenSSH prints it.
pub(crate) async fn fingerprint(public: &str) -> String {
    let mut command = stdx::process::command("/usr/bin/ssh-keygen");
    command
        .args(["-l", "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(public.as_bytes())
        .await
        .unwrap();
    let text = String::from_utf8(child.wait_with_output().await.unwrap().stdout).unwrap();
    let word = text.split_whitespace().find(|word| word.starts_with("SHA256:"));
    word.unwrap().to_owned()
}

/// Asserts that the host saw a connection end before any login was tried.
async fn no_login_was_tried(rig: &Rig) {
    eventually("sshd saw the connection end", || {
        rig.sshd.log().contains("[preauth]")
    })
    .await;
    let log = rig.sshd.log();
    for word in ["publickey", "authenticating", "Accepted", "Failed"] {
        assert!(!log.contains(word), "{word}: {log}");
    }
}

fn ended_with(ran: &Ran, code: i32, words: &[&str]) {
    assert_eq!(ran.code, Some(code), "{}", ran.stderr);
    for word in words {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_host_key_is_refused_before_the_login() {
    let rig = rig().await;
    let other = other_key().public();
    rig.trust(&other);
    let lines = format!("# mine\n{}", fs::read_to_string(rig.known_hosts()).unwrap());
    fs::write(rig.known_hosts(), &lines).unwrap();
    let ran = rig.run(&RUN).await;
    let (listed, presented) = (
        fingerprint(&other).await,
        fingerprint(&rig.sshd.host_keys()[0]).await,
    );
    let file = rig.known_hosts();
    ended_with(
        &ran,
        4,
        &[
            "changed",
            file.to_str().unwrap(),
            "line 2",
            &listed,
            &presented,
            "box",
        ],
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), lines, "nothing is written");
    no_login_was_tried(&rig).await;
    assert_eq!(rig.running_programs(), [0; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_host_key_is_refused_when_nobody_can_be_asked() {
    let rig = rig().await;
    let presented = fingerprint(&rig.sshd.host_keys()[0]).await;
    fs::remove_file(rig.known_hosts()).unwrap();
    let ran = rig.run(&RUN).await;
    ended_with(&ran, 4, &["nobody vouched", &presented, "hint: "]);
    assert!(!rig.known_hosts().exists(), "nothing is written");
    assert!(!rig.laptop().join(".ssh").exists(), "nothing is written");
    no_login_was_tried(&rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_host_key_is_refused_even_if_it_is_listed_too() {
    let rig = rig().await;
    let line = fs::read_to_string(rig.known_hosts()).unwrap();
    let lines = format!("{line}@revoked {line}");
    fs::write(rig.known_hosts(), &lines).unwrap();
    let ran = rig.run(&RUN).await;
    ended_with(&ran, 4, &["revoked", "line 2"]);
    assert_eq!(fs::read_to_string(rig.known_hosts()).unwrap(), lines);
    no_login_was_tried(&rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_machine_behind_the_same_address_ends_the_run_and_not_the_turn() {
    let scenario = Scenario::new().reply(Reply::new().say("Begun. ").gate("end").say("Ended."));
    let rig = Rig::new(scenario, HostOptions::installed()).await;
    let mut run = rig.start(&["run", "--remote", "box", "--output-format", "stream-json", "go"]);
    let mut lines = run.until(|line| line["frame"] == "delta").await;
    let known = fs::read_to_string(rig.known_hosts()).unwrap();
    let other = rig.another_sshd().await;
    rig.proxy.retarget(other.address());
    rig.proxy.cut();
    let (rest, status, stderr) = run.finish().await;
    lines.extend(rest);
    assert_eq!(status.code(), Some(4), "{stderr}");
    let session = session_of(&lines).to_string();
    for word in ["host key changed", "reasonix attach --remote box", &session] {
        assert!(stderr.contains(word), "{word}: {stderr}");
    }
    assert_eq!(fs::read_to_string(rig.known_hosts()).unwrap(), known);
    assert!(!other.log().contains("publickey"), "{}", other.log());

    // On the real host the turn went on.
    rig.proxy.retarget(rig.sshd.address());
    rig.model.gate("end").open();
    let log = rig.session_log(&rig.host(), session.parse().unwrap());
    eventually("the turn ends on the host", || {
        fs::read_to_string(&log).unwrap().contains("Ended.")
    })
    .await;
    rig.model.push(Reply::new().say("Again."));
    let ran = rig
        .run(&["run", "--remote", "box", "--resume", &session, "more"])
        .await;
    ended_with(&ran, 0, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_login_names_what_was_offered() {
    let rig = rig().await;
    let key = rig.laptop().parent().unwrap().join("ssh/key");
    let wrong = other_key();
    wrong.write(&key).unwrap();
    let ran = rig.run(&RUN).await;
    ended_with(&ran, 4, &["box", key.to_str().unwrap(), "publickey"]);
    assert!(rig.sshd.log().contains("Failed publickey"), "{}", rig.sshd.log());
    // One attempt is one attempt: nothing dials again after a refusal.
    assert_eq!(rig.proxy.connections(), 1);

    fs::remove_file(&key).unwrap();
    let ran = rig.run(&RUN).await;
    ended_with(&ran, 4, &["box", "nothing was offered", key.to_str().unwrap()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_not_there_is_named_quickly() {
    let rig = rig().await;
    let config = rig.laptop().join(".reasonix/config.toml");
    // A port that was had and given back has no listener.
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    edit(
        &config,
        &format!("port = {}", rig.proxy.address().port()),
        &format!("port = {port}"),
    );
    let ran = rig.run(&RUN).await;
    ended_with(&ran, 3, &["box", "127.0.0.1", &port.to_string(), "refused"]);

    edit(&config, "host = \"127.0.0.1\"", "host = \"no-such-host.invalid\"");
    let ran = rig.run(&RUN).await;
    ended_with(&ran, 3, &["box", "no-such-host.invalid"]);
    // The same for a host that is configured nowhere.
    let ran = rig
        .run(&["run", "--remote", "me@no-such-host.invalid:2222:/tmp", "go"])
        .await;
    ended_with(&ran, 3, &["no-such-host.invalid"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_does_not_speak_ssh_is_named() {
    for banner in ["", "HTTP/1.1 400 Bad Request\r\n\r\n"] {
        let rig = rig().await;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        rig.proxy.retarget(listener.local_addr().unwrap());
        let serve = async {
            let mut open = Vec::new();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                stream.write_all(banner.as_bytes()).await.unwrap();
                // The mute one keeps the connection; a web server ends it.
                if banner.is_empty() {
                    open.push(stream);
                }
            }
        };
        let ran = tokio::select! {
            () = serve => unreachable!(),
            ran = rig.run(&RUN) => ran,
        };
        ended_with(&ran, 3, &["handshake with box"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_closes_at_once_is_named() {
    let rig = rig().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    rig.proxy.retarget(listener.local_addr().unwrap());
    let serve = async {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut greeting = [0; 4];
            // Whether it said something first is of no interest.
            drop(stream.read(&mut greeting).await);
        }
    };
    let ran = tokio::select! {
        () = serve => unreachable!(),
        ran = rig.run(&RUN) => ran,
    };
    ended_with(&ran, 3, &["box"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_key_is_named_with_the_command_that_stores_it() {
    let rig = rig().await;
    let config = rig.host().join(".reasonix/config.toml");
    let base = format!("base_url = \"{}\"", rig.model.base_url());
    edit(
        &config,
        &base,
        "base_url = \"https://model.invalid/v1\"\napi_key_env = \"RX_TEST_API_KEY\"",
    );
    let ran = rig.run(&RUN).await;
    ended_with(&ran, 6, &["RX_TEST_API_KEY", "reasonix remote key "]);

    let value = format!("marker-{}", protocol::SessionId::fresh());
    let stored = rig
        .run_with_input(
            &["remote", "key", "box", "RX_TEST_API_KEY"],
            &format!("{value}\n"),
        )
        .await;
    ended_with(&stored, 0, &[]);
    let file = rig.host().join(".reasonix/.env");
    assert!(fs::read_to_string(&file).unwrap().contains(&value));
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    // The daemon that runs already uses it, for the endpoint only.
    edit(&config, "base_url = \"https://model.invalid/v1\"", &base);
    let ran = rig.run(&RUN).await;
    ended_with(&ran, 0, &[]);
    let wanted: String = Sha256::digest(format!("Bearer {value}"))
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(rig.model.requests().last().unwrap().authorization, Some(wanted));
    let elsewhere = crate::secrets::files_with(rig.laptop().parent().unwrap(), &value);
    assert_eq!(elsewhere, [file]);
    for ran in [&stored, &ran] {
        assert!(!ran.stdout.contains(&value) && !ran.stderr.contains(&value));
    }
}
