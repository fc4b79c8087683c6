//! OpenSSH user certificates, judged by a real `sshd` with `TrustedUserCAKeys`.

use std::path::{Path, PathBuf};

use transport::{
    ErrorKind, Identity, SecretKind,
    testing::{KeyAgent, KeyKind, KeyPair, RealSshd, SshdOptions},
};

use crate::support::{Client, Scripted, current_user};

/// An authority, a client that trusts the host, and a host that trusts nothing but the authority.
struct World {
    client: Client,
    host: RealSshd,
    ca: PathBuf,
}

impl World {
    async fn new() -> Self {
        let client = Client::new();
        let ca = client.path("ca");
        KeyPair::keygen(&ca, KeyKind::Ed25519, "").await.unwrap();
        let options = SshdOptions {
            config: vec![
                format!("TrustedUserCAKeys {}.pub", ca.display()),
                "LogLevel DEBUG2".into(),
            ],
            ..SshdOptions::default()
        };
        let host = RealSshd::start(options).await.unwrap();
        client.trust(&host.known_hosts());
        Self { client, host, ca }
    }

    /// Makes a key with a certificate beside it.
    async fn certified(&self, name: &str, kind: KeyKind, passphrase: &str, args: &[&str]) -> PathBuf {
        let key = self.client.path(name);
        KeyPair::keygen(&key, kind, passphrase).await.unwrap();
        KeyPair::certify(&self.ca, &key, args).await.unwrap();
        key
    }

    async fn mine(&self, name: &str, kind: KeyKind) -> PathBuf {
        self.certified(name, kind, "", &["-I", "laptop", "-n", &current_user()])
            .await
    }

    async fn login(&self, identity: Identity) -> Result<transport::Login, transport::Error> {
        let mut resolved = self.client.resolved(self.host.address());
        resolved.identity = identity;
        let connection = self.client.connect(&resolved).await?;
        Ok(connection.login().clone())
    }
}

fn files(files: &[&Path]) -> Identity {
    Identity {
        files: files.iter().map(|&file| file.to_owned()).collect(),
        only_files: true,
        ..Identity::default()
    }
}

fn certificate_of(key: &Path) -> PathBuf {
    PathBuf::from(format!("{}-cert.pub", key.display()))
}

#[tokio::test]
async fn a_certificate_beside_a_key_file_logs_in_and_rsa_signs_with_sha_512() {
    let world = World::new().await;
    for (kind, algorithm) in [
        (KeyKind::Ed25519, "ssh-ed25519-cert-v01@openssh.com"),
        (KeyKind::EcdsaP256, "ecdsa-sha2-nistp256-cert-v01@openssh.com"),
        (KeyKind::Rsa2048, "rsa-sha2-512-cert-v01@openssh.com"),
    ] {
        let key = world.mine(&format!("{kind:?}"), kind).await;
        let login = world.login(files(&[&key])).await.unwrap();
        assert_eq!(login.methods, ["publickey"]);
        assert!(!login.one_time_factor);
        assert!(
            login
                .key
                .is_some_and(|key| key.contains("-cert-v01@openssh.com "))
        );
        let log = world.host.log();
        assert!(log.contains(&format!("public key {algorithm}")), "{log}");
    }
    let log = world.host.log();
    for kind in ["ED25519-CERT", "ECDSA-CERT", "RSA-CERT"] {
        let accepted = |line: &str| line.starts_with("Accepted publickey") && line.contains(kind);
        assert!(log.lines().any(accepted), "{kind}: {log}");
    }
}

#[tokio::test]
async fn a_named_certificate_finds_its_key_in_a_file_with_a_passphrase() {
    let world = World::new().await;
    let args = ["-I", "laptop", "-n", &current_user()];
    let key = world
        .certified("locked", KeyKind::Ed25519, "open sesame", &args)
        .await;
    let certificate = world.client.path("elsewhere.pub");
    std::fs::rename(certificate_of(&key), &certificate).unwrap();
    let other = world.client.path("id");
    let mut resolved = world.client.resolved(world.host.address());
    resolved.identity = Identity {
        certificates: vec![certificate],
        ..files(&[&other, &key])
    };
    let person = Scripted::secrets(&["wrong", "open sesame"]);
    let connection = world
        .client
        .connect_with(&resolved, person.clone())
        .await
        .unwrap();
    assert_eq!(connection.login().methods, ["publickey"]);
    let asked: Vec<_> = person.asked().into_iter().map(|asked| asked.kind).collect();
    let kind = SecretKind::Passphrase { file: key };
    assert_eq!(asked, [kind.clone(), kind]);
    assert!(
        !world.host.log().contains("Failed publickey"),
        "certificates come first"
    );
}

#[tokio::test]
async fn a_certificate_is_signed_for_by_the_agent() {
    let world = World::new().await;
    let key = world.mine("key", KeyKind::Rsa2048).await;
    let agent = KeyAgent::start(world.client.folder.path()).await.unwrap();
    // ssh-add takes key and certificate.
    agent.add(&key).await.unwrap();
    let certificate = world.client.path("kept-cert.pub");
    std::fs::rename(certificate_of(&key), &certificate).unwrap();
    std::fs::remove_file(&key).unwrap();
    std::fs::remove_file(world.client.path("key.pub")).unwrap();
    let held = Identity {
        agent: Some(agent.socket().to_owned()),
        ..Identity::default()
    };
    let login = world.login(held.clone()).await.unwrap();
    assert_eq!(login.methods, ["publickey"]);

    // The agent has only the key, and the certificate is a file.
    let again = world.mine("again", KeyKind::Ed25519).await;
    std::fs::rename(certificate_of(&again), &certificate).unwrap();
    agent.add(&again).await.unwrap();
    std::fs::remove_file(&again).unwrap();
    let identity = Identity {
        certificates: vec![certificate],
        only_files: true,
        ..held
    };
    let before = world.host.log().len();
    world.login(identity).await.unwrap();
    let log = world.host.log().split_off(before);
    assert!(!log.contains("Failed publickey"), "{log}");
    assert!(log.contains("ED25519-CERT"), "{log}");
}

#[tokio::test]
async fn a_refused_certificate_is_described_with_what_may_be_wrong() {
    let world = World::new().await;
    let user = current_user();
    let stranger = world.client.path("stranger");
    KeyPair::keygen(&stranger, KeyKind::Ed25519, "").await.unwrap();
    let cases: [(&str, &[&str], &str); 3] = [
        (
            "old",
            &["-n", &user, "-V", "20200101Z:20200102Z"],
            "was valid until 2020-01-02T00:00:00Z",
        ),
        (
            "young",
            &["-n", &user, "-V", "20400101Z:20410101Z"],
            "is not valid before 2040-01-01T00:00:00Z",
        ),
        ("other", &["-n", "nobody-here"], "is for nobody-here and not for"),
    ];
    for (name, args, hint) in cases {
        let args = [&["-I", "laptop of me"], args].concat();
        let key = world.certified(name, KeyKind::Ed25519, "", &args).await;
        let error = world.login(files(&[&key])).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AuthRefused, "{error}");
        let text = error.to_string();
        for word in [
            &format!("{name}-cert.pub"),
            "id \"laptop of me\"",
            "valid ",
            "signed by SHA256:",
        ] {
            assert!(text.contains(word), "{word} in {text}");
        }
        assert!(error.hint().unwrap().contains(hint), "{error:?}");
    }
    let key = world.client.path("id");
    std::fs::write(world.client.path("id.pub"), world.client.key.public()).unwrap();
    KeyPair::certify(&stranger, &key, &["-I", "x", "-n", &user])
        .await
        .unwrap();
    let error = world.login(files(&[&key])).await.unwrap_err();
    assert!(error.hint().unwrap().contains("TrustedUserCAKeys"), "{error:?}");
}

#[tokio::test]
async fn certificates_that_cannot_be_used_are_named_and_not_offered() {
    let world = World::new().await;
    let key = world.client.path("id");
    std::fs::write(world.client.path("id.pub"), world.client.key.public()).unwrap();
    KeyPair::certify(&world.ca, &key, &["-h", "-I", "host", "-n", "x"])
        .await
        .unwrap();
    let lonely = world.mine("lonely", KeyKind::Ed25519).await;
    std::fs::remove_file(&lonely).unwrap();
    std::fs::write(world.client.path("garbage"), "no certificate").unwrap();
    let identity = Identity {
        certificates: vec![
            certificate_of(&key),
            certificate_of(&lonely),
            world.client.path("garbage"),
            world.client.path("missing"),
        ],
        ..files(&[&key])
    };
    let error = world.login(identity).await.unwrap_err().to_string();
    for word in [
        "id-cert.pub is a host's certificate",
        "there is no private key for it",
        "garbage is no certificate",
        "missing (no such file)",
    ] {
        assert!(error.contains(word), "{word} in {error}");
    }
    let log = world.host.log();
    assert!(!log.contains("-CERT"), "{log}");
}
