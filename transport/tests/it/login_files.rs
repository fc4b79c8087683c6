//! Key files: formats, passphrases, permissions, and files that are no keys.

use std::{os::unix::fs::PermissionsExt as _, path::Path};

use transport::{
    ErrorKind, SecretKind,
    testing::{KeyAgent, KeyKind, KeyPair, LoginStep, RealSshd, SshdOptions, TestServer, TestServerOptions},
};

use crate::support::{Client, Scripted, run, server_options};

/// Makes a key in one of OpenSSH's formats and gives its public half.
async fn make(client: &Client, name: &str, kind: &[&str], passphrase: &str) -> String {
    let file = client.path(name);
    let text = file.to_string_lossy().into_owned();
    let args = [&["-q", "-C", "", "-N", passphrase, "-f", &text][..], kind].concat();
    let (ok, said) = run("/usr/bin/ssh-keygen", &args, client.folder.path()).await;
    assert!(ok, "{said}");
    std::fs::read_to_string(client.path(&format!("{name}.pub"))).unwrap()
}

#[tokio::test]
async fn keys_in_every_format_open_with_and_without_a_passphrase() {
    let client = Client::new();
    let kinds: [(&str, &[&str]); 5] = [
        ("openssh-ecdsa", &["-t", "ecdsa", "-b", "384"]),
        ("pem-rsa", &["-t", "rsa", "-b", "2048", "-m", "PEM"]),
        ("pkcs8-rsa", &["-t", "rsa", "-b", "2048", "-m", "PKCS8"]),
        ("pem-ecdsa", &["-t", "ecdsa", "-m", "PEM"]),
        ("pkcs8-ecdsa", &["-t", "ecdsa", "-m", "PKCS8"]),
    ];
    let mut authorized_keys = Vec::new();
    for (name, kind) in kinds {
        for (suffix, passphrase) in [("", ""), ("-locked", "open sesame")] {
            authorized_keys.push(make(&client, &format!("{name}{suffix}"), kind, passphrase).await);
        }
    }
    let host = RealSshd::start(SshdOptions {
        authorized_keys,
        ..SshdOptions::default()
    })
    .await
    .unwrap();
    client.trust(&host.known_hosts());
    for (name, _) in kinds {
        let mut resolved = client.resolved(host.address());
        resolved.identity.files = vec![client.path(name)];
        std::fs::remove_file(client.path(&format!("{name}.pub"))).unwrap();
        client.connect(&resolved).await.unwrap();

        let locked = client.path(&format!("{name}-locked"));
        if name != "pem-rsa" {
            // With `.pub` beside it, and without: then it is opened before it can be offered.
            std::fs::remove_file(client.path(&format!("{name}-locked.pub"))).unwrap();
        }
        resolved.identity.files = vec![locked.clone()];
        let person = Scripted::secrets(&["wrong", "open sesame"]);
        let outcome = client.connect_with(&resolved, person.clone()).await;
        if name == "pem-ecdsa" {
            let error = outcome.unwrap_err().to_string();
            assert!(error.contains("old PEM encryption is not supported"), "{error}");
            assert!(person.asked().is_empty());
            continue;
        }
        outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
        let asked: Vec<_> = person
            .asked()
            .into_iter()
            .map(|asked| (asked.kind, asked.round, asked.label))
            .collect();
        let kind = SecretKind::Passphrase { file: locked.clone() };
        let label = format!("Passphrase for {}", locked.display());
        assert_eq!(
            asked,
            [(kind.clone(), 1, label.clone()), (kind, 2, label)],
            "{name}"
        );
        // Nobody can be asked, and nobody need be.
        client.connect(&resolved).await.unwrap();
    }
}

#[tokio::test]
async fn a_key_of_openssl_logs_in() {
    let client = Client::new();
    let file = client.path("openssl");
    let text = file.to_string_lossy().into_owned();
    let args = ["genpkey", "-algorithm", "ed25519", "-out", &text];
    assert!(run("/usr/bin/openssl", &args, client.folder.path()).await.0);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let error = {
        let server = TestServer::start(server_options(&client)).await.unwrap();
        client.trust(&server.known_hosts());
        let mut resolved = client.resolved(server.address());
        resolved.identity.files = vec![file];
        let error = client.connect(&resolved).await.unwrap_err();
        assert_eq!(server.attempts().len(), 1, "{error}");
        error
    };
    assert!(error.to_string().contains("offered: key file"), "{error}");
}

#[tokio::test]
async fn a_locked_key_that_the_host_does_not_take_asks_nothing() {
    let client = Client::new();
    make(
        &client,
        "useless",
        &["-t", "rsa", "-b", "2048", "-m", "PEM"],
        "open sesame",
    )
    .await;
    let options = TestServerOptions {
        authorized_keys: Vec::new(),
        ..server_options(&client)
    };
    let server = TestServer::start(options).await.unwrap();
    client.trust(&server.known_hosts());
    let mut resolved = client.resolved(server.address());
    resolved.identity.files = vec![client.path("useless")];
    let person = Scripted::secrets(&["open sesame"]);
    let error = client.connect_with(&resolved, person.clone()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AuthRefused, "{error}");
    assert!(person.asked().is_empty());
    assert_eq!(server.attempts().len(), 1);
}

#[tokio::test]
async fn a_key_that_others_can_read_is_ignored_as_openssh_does() {
    let client = Client::new();
    let host = RealSshd::start(crate::support::sshd_options(&client))
        .await
        .unwrap();
    client.trust(&host.known_hosts());
    let key = client.path("id");
    let agent = KeyAgent::start(client.folder.path()).await.unwrap();
    agent.add(&key).await.unwrap();
    let mut resolved = client.resolved(host.address());
    for mode in [0o644, 0o640, 0o604] {
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
        resolved.identity.agent = None;
        let error = client.connect(&resolved).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AuthRefused, "{error}");
        for word in [
            key.to_str().unwrap(),
            &format!("0{mode:o}"),
            "too open",
            "chmod 600",
        ] {
            assert!(error.to_string().contains(word), "{word} in {error}");
        }
        assert!(openssh_says(&client, &host, &key).await.contains("are too open"));
        // What the file says about its public half is still good for the agent.
        resolved.identity.agent = Some(agent.socket().to_owned());
        client.connect(&resolved).await.unwrap();
    }
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o400)).unwrap();
    resolved.identity.agent = None;
    client.connect(&resolved).await.unwrap();
}

async fn openssh_says(client: &Client, host: &RealSshd, key: &Path) -> String {
    let mut command = stdx::process::command("/usr/bin/ssh");
    command
        .args([
            "-F",
            "none",
            "-o",
            "BatchMode=yes",
            "-o",
            "IdentityAgent=none",
            "-o",
        ])
        .arg(format!(
            "UserKnownHostsFile={}",
            client.path("known_hosts").display()
        ))
        .arg("-i")
        .arg(key)
        .arg("-p")
        .arg(host.address().port().to_string())
        .args(["127.0.0.1", "true"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let output = command.output().await.unwrap();
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Writes what `ssh-keygen -t ed25519-sk` writes: a handle, with which only the security key can sign.
fn security_key_file(file: &Path) {
    use russh::keys::{
        PrivateKey,
        ssh_key::{LineEnding, private, public},
    };
    let public = public::Ed25519PublicKey([7; 32]);
    let private = private::SkEd25519::new(public::SkEd25519::from(public), 1, [1; 16]).unwrap();
    let key = PrivateKey::new(private::KeypairData::SkEd25519(private), "").unwrap();
    std::fs::write(file, key.to_openssh(LineEnding::LF).unwrap().as_bytes()).unwrap();
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[tokio::test]
async fn files_that_are_no_keys_are_named_with_the_reason() {
    let client = Client::new();
    let server = TestServer::start(server_options(&client)).await.unwrap();
    client.trust(&server.known_hosts());
    std::fs::write(client.path("binary"), [0xff, 0xfe, 0, 1]).unwrap();
    std::fs::write(client.path("text"), "hello\n").unwrap();
    std::fs::write(
        client.path("broken"),
        "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n",
    )
    .unwrap();
    std::fs::create_dir(client.path("folder")).unwrap();
    std::fs::write(client.path("public"), client.key.public()).unwrap();
    let security_key = "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIA8Y3OUfBYbB7p3ck3OPYtuVc8vWnJ1ubTDbJZIjTGg2AAAABHNzaDo=";
    std::fs::write(client.path("token.pub"), security_key).unwrap();
    let mut resolved = client.resolved(server.address());
    security_key_file(&client.path("handle"));
    let names = ["binary", "text", "broken", "folder", "public", "token", "handle"];
    resolved.identity.files = names.map(|name| client.path(name)).to_vec();
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AuthRefused);
    let text = error.to_string();
    for word in [
        "binary (it is no key)",
        "text (it is no key)",
        "broken (its private key cannot be used",
        "folder (it could not be read",
        "public (it is only the public half, and no agent has the other)",
        "token (it is only the public half",
        "handle (it belongs to a security key, which only an agent can use",
        "nothing was offered",
    ] {
        assert!(text.contains(word), "{word} in {text}");
    }
    assert!(server.attempts().is_empty());

    // A public key as `IdentityFile` means the agent's key.
    let agent = KeyAgent::start(client.folder.path()).await.unwrap();
    agent.add(&client.path("id")).await.unwrap();
    KeyPair::generate(KeyKind::Ed25519)
        .unwrap()
        .write(&client.path("other"))
        .unwrap();
    agent.add(&client.path("other")).await.unwrap();
    resolved.identity.agent = Some(agent.socket().to_owned());
    resolved.identity.files = vec![client.path("public")];
    client.connect(&resolved).await.unwrap();
    assert_eq!(server.attempts().len(), 1, "only the named one");
}

#[tokio::test]
async fn a_locked_key_that_nobody_opens_does_not_hide_another_way_in() {
    let client = Client::new();
    let public = make(&client, "locked", &["-t", "ed25519"], "open sesame").await;
    let options = TestServerOptions {
        authorized_keys: vec![public, client.key.public()],
        ..server_options(&client)
    };
    let server = TestServer::start(options).await.unwrap();
    client.trust(&server.known_hosts());
    let mut resolved = client.resolved(server.address());
    resolved.identity.files = vec![client.path("locked"), client.path("id")];
    client.connect(&resolved).await.unwrap();

    let server = TestServer::start(TestServerOptions {
        login: vec![LoginStep::PublicKey],
        authorized_keys: vec![std::fs::read_to_string(client.path("locked.pub")).unwrap()],
        ..server_options(&client)
    })
    .await
    .unwrap();
    client.trust(&server.known_hosts());
    let mut resolved = client.resolved(server.address());
    resolved.identity.files = vec![client.path("locked"), client.path("id")];
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NeedsPerson, "a person could have helped");
    assert!(error.to_string().contains("the passphrase of"), "{error}");
}
