//! The order of offers as OpenSSH's client has it, and security keys in an agent.

use std::{path::PathBuf, time::Duration};

use transport::{
    Connection, ErrorKind, Identity, Prompter,
    testing::{
        KeyAgent, KeyKind, KeyPair, RealSshd, SecurityKeyAgent, SecurityKeyKind, SshdOptions, Touch,
        wait_until,
    },
};

use crate::support::{Client, Scripted, current_user, sshd_options};

/// What a host saw: verdict, kind and fingerprint of each offer.
fn offers(log: &str) -> Vec<String> {
    log.lines()
        .filter(|line| line.contains(" publickey for "))
        .filter_map(|line| {
            let (verdict, _) = line.split_once(' ')?;
            let (_, key) = line.split_once(" ssh2: ")?;
            let words: Vec<_> = key.split_whitespace().take(2).collect();
            Some(format!("{verdict} {}", words.join(" ")))
        })
        .collect()
}

/// Logs in with OpenSSH's client, which may fail.
async fn with_openssh(client: &Client, host: &RealSshd, identity: &Identity) {
    let mut command = stdx::process::command("/usr/bin/ssh");
    command
        .args(["-F", "none", "-o", "BatchMode=yes", "-o"])
        .arg(format!(
            "UserKnownHostsFile={}",
            client.path("known_hosts").display()
        ));
    for file in &identity.files {
        command.arg("-o").arg(format!("IdentityFile={}", file.display()));
    }
    for file in &identity.certificates {
        command
            .arg("-o")
            .arg(format!("CertificateFile={}", file.display()));
    }
    if identity.only_files {
        command.args(["-o", "IdentitiesOnly=yes"]);
    }
    let agent = identity.agent.as_ref();
    command
        .arg("-o")
        .arg(agent.map_or("IdentityAgent=none".to_owned(), |socket| {
            format!("IdentityAgent={}", socket.display())
        }));
    command
        .arg("-p")
        .arg(host.address().port().to_string())
        .arg(format!("{}@127.0.0.1", current_user()))
        .arg("true")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    command.output().await.unwrap();
}

/// Waits until the host has written everything about a connection.
async fn log_after(host: &RealSshd, before: usize) -> String {
    wait_until("the host's log of the connection", || async {
        let log = host.log().split_off(before);
        let ended = [
            "Connection closed by",
            "Connection reset by",
            "Disconnected from",
            "Disconnecting ",
            "Accepted publickey",
        ];
        ended.iter().any(|end| log.contains(end)).then_some(log)
    })
    .await
    .unwrap()
}

/// Compares what OpenSSH's client and ours offer.
async fn same_offers(client: &Client, host: &RealSshd, identity: Identity) -> Vec<String> {
    let before = host.log().len();
    with_openssh(client, host, &identity).await;
    let theirs = offers(&log_after(host, before).await);
    let before = host.log().len();
    let mut resolved = client.resolved(host.address());
    resolved.identity = identity;
    if let Ok(connection) = client.connect(&resolved).await {
        connection.disconnect().await;
    }
    let ours = offers(&log_after(host, before).await);
    assert_eq!(ours, theirs, "{:?}", resolved.identity);
    ours
}

#[tokio::test]
async fn keys_and_certificates_are_offered_in_the_order_of_openssh() {
    let client = Client::new();
    let ca = client.path("ca");
    KeyPair::keygen(&ca, KeyKind::Ed25519, "").await.unwrap();
    let agent = KeyAgent::start(client.folder.path()).await.unwrap();
    // Kinds differ so that a wrong order is easy to read.
    for (name, kind) in [
        ("stranger", KeyKind::Ed25519),
        ("held", KeyKind::EcdsaP256),
        ("file", KeyKind::Ed25519),
        ("certified", KeyKind::EcdsaP256),
        ("both", KeyKind::Ed25519),
    ] {
        KeyPair::keygen(&client.path(name), kind, "").await.unwrap();
    }
    for name in ["certified", "both"] {
        KeyPair::certify(&ca, &client.path(name), &["-I", name, "-n", &current_user()])
            .await
            .unwrap();
    }
    for name in ["stranger", "both", "held"] {
        agent.add(&client.path(name)).await.unwrap();
    }
    // Only the public half is there; the agent has the other.
    std::fs::remove_file(client.path("held")).unwrap();
    let host = RealSshd::start(SshdOptions {
        config: vec!["MaxAuthTries 30".into()],
        ..SshdOptions::default()
    })
    .await
    .unwrap();
    client.trust(&host.known_hosts());
    let paths = |names: &[&str]| -> Vec<PathBuf> { names.iter().map(|name| client.path(name)).collect() };
    let socket = Some(agent.socket().to_owned());
    let all = Identity {
        files: paths(&["file", "certified", "held", "both"]),
        agent: socket.clone(),
        ..Identity::default()
    };
    let seen = same_offers(&client, &host, all.clone()).await;
    assert_eq!(seen.len(), 7, "{seen:?}");
    let only = Identity {
        only_files: true,
        ..all.clone()
    };
    same_offers(&client, &host, only.clone()).await;
    // Where certificates are named, those beside the files do not count.
    let named = Identity {
        certificates: paths(&["both-cert.pub"]),
        ..only
    };
    let seen = same_offers(&client, &host, named).await;
    assert!(seen[0].contains("ED25519-CERT"), "{seen:?}");
    let no_agent = Identity {
        files: paths(&["file", "certified", "both"]),
        agent: None,
        ..all
    };
    same_offers(&client, &host, no_agent).await;
    let no_files = Identity {
        agent: socket,
        ..Identity::default()
    };
    same_offers(&client, &host, no_files).await;
}

/// RA-06 and `MaxAuthTries`.
#[tokio::test]
async fn as_many_attempts_are_made_as_openssh_makes() {
    let client = Client::new();
    let agent = KeyAgent::start(client.folder.path()).await.unwrap();
    for index in 0..4 {
        let file = client.path(&format!("unrelated{index}"));
        KeyPair::generate(KeyKind::Ed25519).unwrap().write(&file).unwrap();
        agent.add(&file).await.unwrap();
    }
    let mut options = sshd_options(&client);
    options.config.push("MaxAuthTries 3".into());
    let host = RealSshd::start(options).await.unwrap();
    client.trust(&host.known_hosts());
    let identity = Identity {
        files: vec![client.path("id")],
        agent: Some(agent.socket().to_owned()),
        ..Identity::default()
    };
    let seen = same_offers(&client, &host, identity.clone()).await;
    assert_eq!(seen.len(), 3, "{seen:?}");
    let named = Identity {
        only_files: true,
        ..identity.clone()
    };
    let seen = same_offers(&client, &host, named).await;
    assert!(seen.len() == 1 && seen[0].starts_with("Accepted"), "{seen:?}");

    // The named key goes first once the agent holds it.
    agent.add(&client.path("id")).await.unwrap();
    let seen = same_offers(&client, &host, identity.clone()).await;
    assert!(seen.len() == 1 && seen[0].starts_with("Accepted"), "{seen:?}");

    let mut resolved = client.resolved(host.address());
    resolved.identity = Identity {
        files: Vec::new(),
        ..identity
    };
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AuthRefused, "{error}");
    let text = error.to_string();
    assert!(text.contains("Too many authentication failures"), "{text}");
    assert!(
        text.matches("agent key ssh-ed25519 SHA256:").count() >= 3,
        "{text}"
    );
    let hint = error.hint().unwrap();
    assert!(
        hint.contains("keys of the agent") && hint.contains("IdentitiesOnly"),
        "{hint}"
    );
}

async fn with_security_key(kind: SecurityKeyKind, touch: Touch) -> (Client, SecurityKeyAgent, RealSshd) {
    let client = Client::new();
    let agent = SecurityKeyAgent::start(client.folder.path(), kind, touch)
        .await
        .unwrap();
    let host = RealSshd::start(SshdOptions {
        authorized_keys: vec![agent.public().to_owned(), client.key.public()],
        ..SshdOptions::default()
    })
    .await
    .unwrap();
    client.trust(&host.known_hosts());
    (client, agent, host)
}

fn held_by(agent: &SecurityKeyAgent) -> Identity {
    Identity {
        agent: Some(agent.socket().to_owned()),
        ..Identity::default()
    }
}

#[tokio::test]
async fn security_keys_of_both_kinds_log_in_and_count_as_a_one_time_factor() {
    for kind in [SecurityKeyKind::Ed25519, SecurityKeyKind::EcdsaP256] {
        let (client, agent, host) = with_security_key(kind, Touch::AtOnce).await;
        let mut resolved = client.resolved(host.address());
        resolved.identity = held_by(&agent);
        let person = Scripted::default();
        let connection = client.connect_with(&resolved, person.clone()).await.unwrap();
        let login = connection.login();
        assert_eq!(login.methods, ["publickey"]);
        assert!(login.one_time_factor, "it was touched for this login only");
        assert_eq!(agent.signatures(), 1);
        let notices = person.notices();
        assert!(
            matches!(&notices[..], [text] if text.contains("touch your security key") && text.contains("testhost")),
            "{notices:?}"
        );
        assert!(host.log().contains("Accepted publickey"), "{}", host.log());

        // An ordinary key needs no touch and no word.
        resolved.identity.files = vec![client.path("id")];
        resolved.identity.only_files = true;
        let person = Scripted::default();
        let connection = client.connect_with(&resolved, person.clone()).await.unwrap();
        assert!(!connection.login().one_time_factor && person.notices().is_empty());
    }
}

#[tokio::test]
async fn a_security_key_is_waited_for_and_the_wait_can_be_called_off() {
    let (client, agent, host) = with_security_key(SecurityKeyKind::Ed25519, Touch::WhenTold).await;
    let mut resolved = client.resolved(host.address());
    resolved.identity = held_by(&agent);
    let person = Scripted::default();
    let prompter: std::sync::Arc<dyn Prompter> = std::sync::Arc::new(person.clone());
    let waits = |count| {
        let agent = &agent;
        async move {
            let what = format!("{count} clients to wait for a touch");
            wait_until(&what, || async move { (agent.waiting() == count).then_some(()) })
                .await
                .unwrap();
        }
    };
    let connect = || Connection::connect(&resolved, &client.options, &prompter, &client.scope);
    tokio::select! {
        biased;
        connected = connect() => panic!("nobody touched it: {connected:?}"),
        () = waits(1) => {}
    }
    // The attempt was dropped, as Ctrl-C drops it.
    waits(0).await;
    assert_eq!(agent.signatures(), 0);

    let touch = async {
        waits(1).await;
        assert!(
            person
                .notices()
                .last()
                .unwrap()
                .contains("touch your security key")
        );
        agent.touch();
    };
    let (connected, ()) = tokio::join!(connect(), touch);
    assert!(connected.unwrap().login().one_time_factor);
}

#[tokio::test]
async fn a_security_key_that_nobody_touches_is_given_up_and_the_next_key_is_tried() {
    for touch in [Touch::WhenTold, Touch::Declined] {
        let (mut client, agent, host) = with_security_key(SecurityKeyKind::Ed25519, touch).await;
        client.options.deadlines.agent = Duration::from_millis(300);
        let mut resolved = client.resolved(host.address());
        resolved.identity = held_by(&agent);
        let error = client.connect(&resolved).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AuthRefused, "{error}");
        let why = match touch {
            Touch::Declined => "the agent did not sign: it declined",
            _ => "the agent did not sign: it did not answer within 0.3 s",
        };
        assert!(error.to_string().contains(why), "{error}");

        resolved.identity.files = vec![client.path("id")];
        let connection = client.connect(&resolved).await.unwrap();
        assert!(!connection.login().one_time_factor, "another key logged in");
        assert_eq!(agent.signatures(), 0);
    }
}
