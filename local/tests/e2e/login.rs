//! Logging in with the whole program: secrets from Reasonix's `.env`, certificates, and a real host that judges.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use scripted_model::Scenario;
use transport::testing::{
    KeyKind, KeyPair, PamService, RealSshd, SecurityKeyAgent, SecurityKeyKind, SshdOptions, TestAccount,
    Touch, wait_until,
};

use crate::{
    rig::{HostOptions, Ran, Rig, edit},
    secrets::files_with,
};

const TEST: [&str; 3] = ["remote", "test", "box"];

/// Keeps secrets as a person does.
fn keep(rig: &Rig, entries: &str) -> PathBuf {
    let file = rig.laptop().join(".reasonix/.env");
    fs::write(&file, entries).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    file
}

fn ended_with(ran: &Ran, code: i32, words: &[&str]) {
    assert_eq!(ran.code, Some(code), "{ran:#?}");
    for word in words {
        let said = ran.stdout.contains(word) || ran.stderr.contains(word);
        assert!(said, "{word}: {ran:#?}");
    }
}

/// `password_env`, with the host's own password method and with PAM's questions.
#[tokio::test(flavor = "multi_thread")]
async fn a_password_that_is_kept_logs_in_once_and_is_nowhere_else() {
    if !TestAccount::may_be_made() {
        return;
    }
    let rig = Rig::new(Scenario::new(), HostOptions::default()).await;
    let password = format!("kept-{}", protocol::SessionId::fresh());
    let account = TestAccount::create(&password).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let rules = "auth required pam_unix.so nodelay\naccount required pam_unix.so\n\
         password required pam_unix.so\nsession required pam_permit.so\n";
    let service = PamService::create(folder.path(), rules).unwrap();
    let config = rig.laptop().join(".reasonix/config.toml");
    let identity = format!("identity_file = \"{}\"", rig.identity().display());
    let login = format!("user = \"{}\"\npassword_env = \"BOX_PASSWORD\"", account.name());
    edit(&config, &identity, &login);
    let workspace = format!("workspace = \"{}\"", rig.work().display());
    edit(&config, &workspace, "");
    for (method, line) in [
        ("password", "PasswordAuthentication yes"),
        ("keyboard-interactive", "KbdInteractiveAuthentication yes"),
    ] {
        let host = RealSshd::start(SshdOptions {
            config: vec!["UsePAM yes".into(), line.into()],
            program: Some(service.program().to_owned()),
            ..SshdOptions::default()
        })
        .await
        .unwrap();
        rig.proxy.retarget(host.address());
        rig.trust(&host.host_keys()[0]);
        let count = async |verdict: &str, times: usize| {
            let words = format!("{verdict} {method}");
            let log = wait_until(&words, || async {
                let log = host.log();
                (log.matches(&words).count() >= times).then_some(log)
            });
            let log = log
                .await
                .unwrap_or_else(|error| panic!("{error}: {}", host.log()));
            assert_eq!(log.matches(&words).count(), times, "{log}");
        };
        let file = keep(&rig, &format!("BOX_PASSWORD={password}\n"));
        let ran = rig.run(&TEST).await;
        ended_with(&ran, 0, &["log in", method]);
        count("Accepted", 1).await;
        assert!(!host.log().contains("Failed"), "{}", host.log());
        assert!(!ran.stdout.contains(&password) && !ran.stderr.contains(&password));
        assert_eq!(files_with(rig.laptop().parent().unwrap(), &password), [file]);

        // A wrong one is tried once, and nobody is here to give another.
        keep(&rig, "BOX_PASSWORD=wrong\n");
        ended_with(&rig.run(&TEST).await, 4, &["box", "nobody is there to give"]);
        count("Failed", 1).await;
        // One that is missing is told.
        keep(&rig, "OTHER=x\n");
        let ran = rig.run(&TEST).await;
        ended_with(&ran, 4, &["box", "nobody is there to give"]);
        count("Failed", 1).await;
    }
}

/// `passphrase_env`.
#[tokio::test(flavor = "multi_thread")]
async fn a_passphrase_that_is_kept_opens_the_key() {
    let rig = Rig::new(Scenario::new(), HostOptions::default()).await;
    let key = rig.identity();
    let mut command = stdx::process::command("/usr/bin/ssh-keygen");
    command
        .args(["-q", "-p", "-P", "", "-N", "kept passphrase", "-f"])
        .arg(&key);
    assert!(command.status().await.unwrap().success());
    let ran = rig.run(&TEST).await;
    ended_with(&ran, 4, &["the passphrase of", key.to_str().unwrap()]);

    let config = rig.laptop().join(".reasonix/config.toml");
    let identity = format!("identity_file = \"{}\"", key.display());
    edit(
        &config,
        &identity,
        &format!("{identity}\npassphrase_env = \"BOX_PASSPHRASE\""),
    );
    let file = keep(&rig, "BOX_PASSPHRASE=kept passphrase\n");
    ended_with(&rig.run(&TEST).await, 0, &["log in", "publickey"]);
    assert_eq!(
        files_with(rig.laptop().parent().unwrap(), "kept passphrase"),
        [file]
    );
    keep(&rig, "BOX_PASSPHRASE=wrong\n");
    ended_with(&rig.run(&TEST).await, 4, &["the passphrase of"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_beside_the_key_logs_in_and_an_old_one_is_described() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca");
    KeyPair::keygen(&ca, KeyKind::Ed25519, "").await.unwrap();
    let host = HostOptions {
        sshd: vec![
            "AuthorizedKeysFile none".into(),
            format!("TrustedUserCAKeys {}.pub", ca.display()),
        ],
        ..HostOptions::default()
    };
    let rig = Rig::new(Scenario::new(), host).await;
    let key = rig.identity();
    let mut command = stdx::process::command("/usr/bin/ssh-keygen");
    let output = command
        .args(["-y", "-f"])
        .arg(&key)
        .stdout(std::process::Stdio::piped())
        .output()
        .await
        .unwrap();
    let public = PathBuf::from(format!("{}.pub", key.display()));
    fs::write(&public, output.stdout).unwrap();
    let mut command = stdx::process::command("/usr/bin/id");
    let output = command.arg("-un").stdout(std::process::Stdio::piped()).output();
    let user = String::from_utf8(output.await.unwrap().stdout).unwrap();
    let user = user.trim();
    KeyPair::certify(&ca, &key, &["-I", "laptop", "-n", user])
        .await
        .unwrap();
    ended_with(&rig.run(&TEST).await, 0, &["log in", "publickey"]);
    let log = rig.sshd.log();
    assert!(log.contains("ED25519-CERT") && log.contains("ID laptop"), "{log}");

    let old = ["-I", "laptop", "-n", user, "-V", "20200101Z:20200102Z"];
    KeyPair::certify(&ca, &key, &old).await.unwrap();
    ended_with(
        &rig.run(&TEST).await,
        4,
        &["id \"laptop\"", "valid until 2020-01-02T00:00:00Z", "hint: "],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_security_key_asks_to_be_touched_and_ctrl_c_calls_it_off() {
    let rig = Rig::new(Scenario::new(), HostOptions::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let agent = SecurityKeyAgent::start(folder.path(), SecurityKeyKind::Ed25519, Touch::WhenTold)
        .await
        .unwrap();
    let host = RealSshd::start(SshdOptions {
        authorized_keys: vec![agent.public().to_owned()],
        home: Some(rig.host()),
        ..SshdOptions::default()
    })
    .await
    .unwrap();
    rig.proxy.retarget(host.address());
    rig.trust(&host.host_keys()[0]);
    // The public half as key file means the key of the agent.
    fs::write(rig.identity(), agent.public()).unwrap();
    let start = || {
        let mut command = rig.command(&TEST);
        command.env("SSH_AUTH_SOCK", agent.socket()).spawn().unwrap()
    };
    let waits = async |count: usize| {
        let what = format!("{count} logins to wait for a touch");
        wait_until(&what, || async { (agent.waiting() == count).then_some(()) })
            .await
            .unwrap();
    };
    let called_off = start();
    waits(1).await;
    crate::rig::send_signal(called_off.id().unwrap(), rustix::process::Signal::INT);
    let output = called_off.wait_with_output().await.unwrap();
    assert!(!output.status.success(), "{output:?}");
    waits(0).await;
    assert_eq!(agent.signatures(), 0);

    let touched = start();
    waits(1).await;
    agent.touch();
    let output = touched.wait_with_output().await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("touch your security key to log in to box"),
        "{said}"
    );
    assert_eq!(agent.signatures(), 1);
}
