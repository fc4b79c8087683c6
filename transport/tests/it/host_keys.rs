//! Host keys: refused before authentication, asked about, remembered in our own file only.

use transport::{
    ErrorKind, HostKeyAnswer, UnknownKeys,
    testing::{KeyKind, KeyPair, RealSshd, SshdOptions, TestServer},
};

use crate::{
    openssh,
    support::{Client, Scripted, Server, both_servers, run, server_options, sshd_options},
};

fn other_key() -> String {
    KeyPair::generate(KeyKind::Ed25519).unwrap().public()
}

fn name(server: &Server) -> String {
    format!("[127.0.0.1]:{}", server.address().port())
}

/// No login was tried on the server.
fn assert_no_login(server: &Server) {
    match server {
        Server::Real(server) => assert!(!server.log().contains("publickey"), "{}", server.log()),
        Server::Embedded(server) => assert!(server.attempts().is_empty(), "{:?}", server.attempts()),
    }
}

#[tokio::test]
async fn a_changed_key_is_refused_before_authentication_and_nothing_is_written() {
    for (server, client) in both_servers().await {
        let lines = format!("# comment\n{} {}\n", name(&server), other_key());
        client.trust(&lines);
        let prompter = Scripted::host_key_answer(HostKeyAnswer::Remember);
        let error = client
            .connect_with(&client.resolved(server.address()), prompter.clone())
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::HostKeyChanged);
        let text = error.to_string();
        assert!(
            text.contains(client.path("known_hosts").to_str().unwrap()) && text.contains("line 2"),
            "{text}"
        );
        assert_eq!(text.matches("SHA256:").count(), 2, "{text}");
        assert!(
            prompter.host_keys().is_empty(),
            "nobody may be asked about a changed key"
        );
        assert_eq!(
            std::fs::read_to_string(client.path("known_hosts")).unwrap(),
            lines
        );
        assert!(!client.path("own_known_hosts").exists());
        assert_no_login(&server);
    }
}

#[tokio::test]
async fn an_unknown_key_is_refused_without_a_person() {
    for (server, client) in both_servers().await {
        client.trust("");
        let error = client
            .connect(&client.resolved(server.address()))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::HostKeyUnknown);
        assert!(error.to_string().contains("SHA256:"), "{error}");
        assert!(!client.path("own_known_hosts").exists());
        assert_no_login(&server);
    }
}

#[tokio::test]
async fn an_accepted_key_goes_to_our_file_and_is_known_afterwards() {
    for (server, client) in both_servers().await {
        client.trust("");
        let resolved = client.resolved(server.address());
        let once = Scripted::host_key_answer(HostKeyAnswer::Once);
        client.connect_with(&resolved, once.clone()).await.unwrap();
        assert_eq!(once.host_keys()[0].algorithm, "ssh-ed25519");
        assert!(once.host_keys()[0].known_otherwise.is_empty());
        assert!(!client.path("own_known_hosts").exists());

        client
            .connect_with(&resolved, Scripted::host_key_answer(HostKeyAnswer::Remember))
            .await
            .unwrap();
        let own = std::fs::read_to_string(client.path("own_known_hosts")).unwrap();
        assert!(
            own.starts_with(&format!("{} ssh-ed25519 ", name(&server))),
            "{own}"
        );
        client.connect(&resolved).await.unwrap();
        assert_eq!(std::fs::read_to_string(client.path("known_hosts")).unwrap(), "");
    }
}

#[tokio::test]
async fn the_policy_for_unknown_keys_is_kept() {
    for (server, client) in both_servers().await {
        client.trust("");
        let mut resolved = client.resolved(server.address());
        resolved.trust.unknown_keys = UnknownKeys::Refuse;
        let prompter = Scripted::host_key_answer(HostKeyAnswer::Once);
        let error = client
            .connect_with(&resolved, prompter.clone())
            .await
            .unwrap_err();
        assert_eq!(
            (error.kind(), prompter.host_keys().len()),
            (ErrorKind::HostKeyUnknown, 0)
        );
        resolved.trust.unknown_keys = UnknownKeys::Accept;
        client.connect(&resolved).await.unwrap();
        assert!(client.path("own_known_hosts").exists());
    }
}

#[tokio::test]
async fn hashed_wildcard_and_revoked_lines() {
    for (server, client) in both_servers().await {
        let resolved = client.resolved(server.address());
        let lines = server.known_hosts();
        let key = lines.split_once(' ').unwrap().1.trim().to_owned();

        client.trust(&lines);
        assert!(
            run("ssh-keygen", &["-H", "-f", "known_hosts"], client.folder.path())
                .await
                .0
        );
        let hashed = std::fs::read_to_string(client.path("known_hosts")).unwrap();
        assert!(hashed.starts_with("|1|"), "{hashed}");
        client.connect(&resolved).await.unwrap();

        client.trust(&format!("[127.0.0.*]:* {key}\n"));
        client.connect(&resolved).await.unwrap();

        client.trust(&format!("[127.0.0.*]:*,!{} {key}\n", name(&server)));
        assert_eq!(
            client.connect(&resolved).await.unwrap_err().kind(),
            ErrorKind::HostKeyUnknown
        );

        client.trust(&format!("{lines}@revoked * {key}\n"));
        let prompter = Scripted::host_key_answer(HostKeyAnswer::Once);
        let error = client
            .connect_with(&resolved, prompter.clone())
            .await
            .unwrap_err();
        assert_eq!(
            (error.kind(), prompter.host_keys().len()),
            (ErrorKind::HostKeyRevoked, 0)
        );
        assert!(error.to_string().contains("line 2"), "{error}");

        client.trust(&format!("@cert-authority * {key}\n"));
        assert_eq!(
            client.connect(&resolved).await.unwrap_err().kind(),
            ErrorKind::HostKeyUnknown
        );
    }
}

/// RA-03.
#[tokio::test]
async fn the_port_qualified_line_decides() {
    for (server, client) in both_servers().await {
        let resolved = client.resolved(server.address());
        client.trust(&format!("{}127.0.0.1 {}\n", server.known_hosts(), other_key()));
        client.connect(&resolved).await.unwrap();
        let key = server.known_hosts().split_once(' ').unwrap().1.to_owned();
        let swapped = format!("{} {}\n127.0.0.1 {key}", name(&server), other_key());
        client.trust(&swapped);
        assert_eq!(
            client.connect(&resolved).await.unwrap_err().kind(),
            ErrorKind::HostKeyChanged
        );
        assert_eq!(
            std::fs::read_to_string(client.path("known_hosts")).unwrap(),
            swapped
        );
    }
}

/// RA-04.
#[tokio::test]
async fn an_algorithm_that_is_known_is_asked_for_first() {
    let client = Client::new();
    let options = SshdOptions {
        host_keys: vec![KeyKind::Ed25519, KeyKind::Rsa2048, KeyKind::EcdsaP256],
        ..sshd_options(&client)
    };
    let server = RealSshd::start(options).await.unwrap();
    let listed = format!("[127.0.0.1]:{}", server.address().port());
    for index in [1, 2] {
        client.trust(&format!("{listed} {}\n", server.host_keys()[index]));
        client.connect(&client.resolved(server.address())).await.unwrap();
    }
    // Another key of the known algorithm stays a hard refusal.
    KeyPair::keygen(&client.path("other_rsa"), KeyKind::Rsa2048, "")
        .await
        .unwrap();
    client.trust(&format!(
        "{listed} {}",
        std::fs::read_to_string(client.path("other_rsa.pub")).unwrap()
    ));
    let error = client
        .connect(&client.resolved(server.address()))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::HostKeyChanged, "{error}");
}

/// RA-04.
#[tokio::test]
async fn a_host_known_by_another_algorithm_is_never_accepted_silently() {
    let client = Client::new();
    let server = TestServer::start(server_options(&client)).await.unwrap();
    let ecdsa = KeyPair::generate(KeyKind::EcdsaP256).unwrap().public();
    let lines = format!("[127.0.0.1]:{} {ecdsa}\n", server.address().port());
    client.trust(&lines);
    let mut resolved = client.resolved(server.address());
    for policy in [UnknownKeys::Refuse, UnknownKeys::Accept, UnknownKeys::Ask] {
        resolved.trust.unknown_keys = policy;
        let error = client.connect(&resolved).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::HostKeyUnknown);
        let text = error.to_string();
        assert!(
            text.contains("ecdsa-sha2-nistp256") && text.contains("ssh-ed25519"),
            "{text}"
        );
    }
    assert_eq!(
        std::fs::read_to_string(client.path("known_hosts")).unwrap(),
        lines
    );
    assert!(!client.path("own_known_hosts").exists() && server.attempts().is_empty());
    let person = Scripted::host_key_answer(HostKeyAnswer::Once);
    client.connect_with(&resolved, person.clone()).await.unwrap();
    assert_eq!(
        person.host_keys()[0].known_otherwise[0].algorithm,
        "ecdsa-sha2-nistp256"
    );
}

/// What stands in known-hosts files, judged by OpenSSH's client and by us. `{name}` is the host with its port, `{key}` its
/// key, `{other}` another of the same algorithm, and `{ecdsa}` one of another.
#[tokio::test]
async fn files_are_judged_as_by_openssh() {
    let client = Client::new();
    let sshd = RealSshd::start(sshd_options(&client)).await.unwrap();
    let name = format!("[127.0.0.1]:{}", sshd.address().port());
    let (key, other) = (sshd.host_keys()[0].clone(), other_key());
    let ecdsa = KeyPair::generate(KeyKind::EcdsaP256).unwrap().public();
    let table = [
        ("{name} {key}", None, true),
        ("\t {name}\t{key} some words\r", None, true),
        ("{name} {other}\n{name} {key}", None, true),
        ("{name} {other}", None, false),
        ("{name} {ecdsa}", None, false),
        ("127.0.0.1 {key}", None, true),
        ("127.0.0.1 {key}\n{name} {other}", None, false),
        ("[127.0.0.1]:* {key}", None, true),
        ("[127.0.0.*]:*,!{name} {key}", None, false),
        ("broken\n@odd {name} {key}\n{name} {key}", None, true),
        ("@cert-authority {name} {key}", None, false),
        ("@revoked * {other}\n{name} {key}", None, true),
        ("@revoked * {key}\n{name} {key}", None, false),
        ("box {key}", Some("BOX"), true),
        ("Box,x {key}", Some("box"), true),
        ("{name} {key}", Some("box"), false),
        ("[box]:22 {key}", Some("box"), false),
    ];
    for (lines, alias, works) in table {
        let text = lines
            .replace("{name}", &name)
            .replace("{key}", &key)
            .replace("{other}", &other)
            .replace("{ecdsa}", &ecdsa);
        client.trust(&format!("{text}\n"));
        let mut resolved = client.resolved(sshd.address());
        resolved.trust.unknown_keys = UnknownKeys::Refuse;
        resolved.trust.key_alias = alias.map(str::to_owned);
        let option = alias.map(|alias| format!("HostKeyAlias={alias}"));
        let options: Vec<_> = option.iter().map(String::as_str).collect();
        let (theirs, ours) = tokio::join!(
            openssh::connects(&client, sshd.address(), &options),
            client.connect(&resolved)
        );
        assert_eq!(
            (ours.is_ok(), theirs),
            (works, works),
            "{lines} {alias:?}: {ours:?}"
        );
    }
}

#[tokio::test]
async fn all_files_count_and_one_that_cannot_be_read_is_named() {
    let client = Client::new();
    let sshd = RealSshd::start(sshd_options(&client)).await.unwrap();
    let mut resolved = client.resolved(sshd.address());
    resolved.trust.known_hosts = ["known_hosts", "second", "missing", "global"]
        .map(|name| client.path(name))
        .to_vec();
    client.trust("# nothing\n");
    std::fs::write(client.path("second"), "broken\n").unwrap();
    std::fs::write(client.path("global"), sshd.known_hosts()).unwrap();
    client.connect(&resolved).await.unwrap();
    // What one file revokes, no other vouches for.
    let revoked = format!("@revoked * {}\n", sshd.host_keys()[0]);
    std::fs::write(client.path("second"), &revoked).unwrap();
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::HostKeyRevoked);
    assert!(error.to_string().contains("second line 1"), "{error}");
    // A folder cannot be read as a file, not even by root.
    std::fs::remove_file(client.path("second")).unwrap();
    std::fs::create_dir(client.path("second")).unwrap();
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("second"), "{error}");
}

#[tokio::test]
async fn every_line_with_another_key_is_named() {
    let client = Client::new();
    let sshd = RealSshd::start(sshd_options(&client)).await.unwrap();
    let name = format!("[127.0.0.1]:{}", sshd.address().port());
    client.trust(&format!("{name} {}\n\n[*]:* {}\n", other_key(), other_key()));
    let mut resolved = client.resolved(sshd.address());
    // `no` connects with OpenSSH, without passwords; here a changed key is refused in every case.
    resolved.trust.unknown_keys = UnknownKeys::Accept;
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::HostKeyChanged);
    let text = error.to_string();
    assert!(text.contains("line 1") && text.contains("line 3"), "{text}");
    assert_eq!(text.matches("SHA256:").count(), 3, "{text}");
}
