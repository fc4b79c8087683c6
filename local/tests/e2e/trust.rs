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

fn key_of(rig: &Rig) -> String {
    rig.sshd.host_keys()[0].clone()
}

/// Nobody was let in, nor asked to be.
fn nobody_logged_in(rig: &Rig) {
    let log = rig.sshd.log();
    assert!(!log.contains("Accepted") && !log.contains("Failed"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_key_is_accepted_by_its_fingerprint_and_by_nothing_less() {
    let rig = rig().await;
    let other = other_key().public();
    rig.trust(&other);
    let file = rig.known_hosts();
    let before = fs::read_to_string(&file).unwrap();
    let (listed, presented) = (fingerprint(&other).await, fingerprint(&key_of(&rig)).await);

    // The refusal names the way forward.
    let ran = rig.run(&RUN).await;
    ended_with(&ran, 4, &["host key changed", "reasonix remote trust box"]);
    let piped = rig.run_with_input(&["remote", "trust", "box"], "yes\ny\n").await;
    ended_with(&piped, 4, &["nobody can be asked here", "--fingerprint"]);
    for word in [
        &listed,
        &presented,
        "line 1",
        "a file last changed",
        "+--[ED25519 256]--+",
    ] {
        assert!(piped.stdout.contains(word), "{word}: {}", piped.stdout);
    }
    let wrong = rig
        .run(&["remote", "trust", "box", "--fingerprint", &listed])
        .await;
    ended_with(&wrong, 4, &["not the given fingerprint", &presented]);
    let typo = rig.run(&["remote", "trust", "box", "--fingerprint", "yes"]).await;
    ended_with(&typo, 2, &["no fingerprint"]);
    let json = rig.run(&["remote", "trust", "box", "--json"]).await;
    assert_eq!(json.code, Some(4), "{json:?}");
    let said: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let host = &said["hosts"][0];
    assert_eq!(host["presented"][0]["verdict"], "changed", "{said:#}");
    assert_eq!(
        host["presented"][0]["fingerprint"],
        presented.as_str(),
        "{said:#}"
    );
    assert_eq!(host["known"][0]["fingerprint"], listed.as_str(), "{said:#}");
    assert_eq!(host["known"][0]["file"], file.to_str().unwrap(), "{said:#}");
    assert_eq!(
        (&said["trusted"], &host["written"]),
        (&false.into(), &false.into())
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), before, "nothing is written");
    nobody_logged_in(&rig);

    let right = rig
        .run(&["remote", "trust", "box", "--fingerprint", &presented])
        .await;
    ended_with(&right, 0, &[]);
    assert!(right.stdout.contains("lines removed from it: 1"), "{right:?}");
    let lines = fs::read_to_string(&file).unwrap();
    assert!(
        lines.contains(&key_of(&rig)) && !lines.contains(&other),
        "{lines}"
    );
    nobody_logged_in(&rig);
    let again = rig.run(&["remote", "trust", "box", "--json"]).await;
    ended_with(&again, 0, &[]);
    assert!(again.stdout.contains("\"verdict\":\"known\""), "{again:?}");
    ended_with(&rig.run(&RUN).await, 0, &[]);
}

/// Runs the program at a terminal at which somebody types.
pub(crate) async fn at_terminal(rig: &Rig, args: &[&str], typed: &str) -> Ran {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::io::Write as _;
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let mut options = fs::OpenOptions::new();
    let slave = options.read(true).write(true).open(name).unwrap();
    fs::File::from(master.try_clone().unwrap())
        .write_all(typed.as_bytes())
        .unwrap();
    let mut command = rig.command(args);
    command.stdin(slave.try_clone().unwrap()).stderr(slave);
    let child = command.spawn().unwrap();
    crate::rig::ended(args, child.wait_with_output()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_accepts_a_key_and_is_told_how_to_clean_up_the_old_line() {
    let rig = rig().await;
    fs::remove_file(rig.known_hosts()).unwrap();
    let name = format!("[127.0.0.1]:{}", rig.proxy.address().port());
    let theirs = rig.laptop().join(".ssh/known_hosts");
    fs::create_dir_all(theirs.parent().unwrap()).unwrap();
    let old = format!("{name} {}\n", other_key().public());
    fs::write(&theirs, &old).unwrap();

    let no = at_terminal(&rig, &["remote", "trust", "box"], "n\n").await;
    assert_eq!(no.code, Some(4), "{no:?}");
    assert!(no.stdout.contains("nothing was written"), "{no:?}");
    assert!(!rig.known_hosts().exists());
    let yes = at_terminal(&rig, &["remote", "trust", "box"], "y\n").await;
    assert_eq!(yes.code, Some(0), "{yes:?}");
    assert_eq!(
        fs::read_to_string(rig.known_hosts()).unwrap(),
        format!("{name} {}\n", key_of(&rig))
    );
    assert_eq!(
        fs::read_to_string(&theirs).unwrap(),
        old,
        "the user's file is only read"
    );
    nobody_logged_in(&rig);
    // Our line counts although the old one is still there; the printed command removes that.
    ended_with(&rig.run(&["remote", "test", "box"]).await, 0, &[]);
    let command = yes
        .stdout
        .lines()
        .find_map(|line| line.split_once("to remove it: "));
    let (_, command) = command.unwrap_or_else(|| panic!("{yes:?}"));
    let mut shell = stdx::process::command("/bin/sh");
    shell.args(["-c", command]).env("PATH", "/usr/bin:/bin");
    let cleaned = shell
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .await
        .unwrap();
    assert!(cleaned.status.success(), "{command}: {cleaned:?}");
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "");
    ended_with(&rig.run(&["remote", "test", "box"]).await, 0, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_is_accepted_by_nothing_and_a_missing_host_is_named() {
    let rig = rig().await;
    let lines = format!("@revoked * {}\n", key_of(&rig));
    fs::write(rig.known_hosts(), &lines).unwrap();
    let presented = fingerprint(&key_of(&rig)).await;
    for args in [
        vec!["remote", "trust", "box"],
        vec!["remote", "trust", "box", "--fingerprint", &presented],
    ] {
        let ran = rig.run(&args).await;
        ended_with(&ran, 4, &["revoked", "line 1"]);
    }
    assert_eq!(fs::read_to_string(rig.known_hosts()).unwrap(), lines);
    let ran = rig.run(&["remote", "trust", "me@no-such-host.invalid"]).await;
    ended_with(&ran, 3, &["no-such-host.invalid"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_on_the_way_are_trusted_one_after_the_other() {
    let rig = rig().await;
    let hop = rig.another_sshd().await;
    fs::remove_file(rig.known_hosts()).unwrap();
    // The key for the hop has a usual name, since what is configured for the host is not meant for the hop.
    let ssh = rig.laptop().join(".ssh");
    fs::create_dir_all(&ssh).unwrap();
    fs::copy(rig.identity(), ssh.join("id_ed25519")).unwrap();
    let through = format!("127.0.0.1:{}", hop.address().port());
    let config = rig.laptop().join(".reasonix/config.toml");
    edit(
        &config,
        "name = \"box\"",
        &format!("name = \"box\"\nproxy_jump = \"{through}\""),
    );
    let (first, second) = (
        fingerprint(&hop.host_keys()[0]).await,
        fingerprint(&key_of(&rig)).await,
    );

    let ran = rig
        .run(&["remote", "trust", "box", "--fingerprint", &second])
        .await;
    ended_with(&ran, 4, &[&through, &first, "not the given fingerprint"]);
    let ran = rig.run(&["remote", "trust", "box", "--hop", "elsewhere"]).await;
    ended_with(&ran, 2, &["elsewhere is not on the way", &through]);
    let ran = rig
        .run(&[
            "remote",
            "trust",
            "box",
            "--hop",
            &through,
            "--fingerprint",
            &first,
        ])
        .await;
    ended_with(&ran, 0, &[]);
    let ran = rig
        .run(&["remote", "trust", "box", "--fingerprint", &second])
        .await;
    ended_with(&ran, 0, &[]);
    let lines = fs::read_to_string(rig.known_hosts()).unwrap();
    assert!(
        lines.contains(&hop.host_keys()[0]) && lines.contains(&key_of(&rig)),
        "{lines}"
    );
    ended_with(&rig.run(&RUN).await, 0, &[]);
}
