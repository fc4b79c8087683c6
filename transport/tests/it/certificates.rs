//! Host certificates: what counts for OpenSSH's client counts for us, and nothing else.

use transport::{
    ErrorKind,
    testing::{KeyKind, KeyPair, RealSshd, SshdOptions},
};

use crate::{
    openssh,
    support::{Client, sshd_options},
};

/// A certificate for the host: the authority, arguments of `ssh-keygen`, and what is said when it does not count.
struct Case {
    name: &'static str,
    authority: &'static str,
    args: &'static [&'static str],
    refused: Option<&'static str>,
}

const fn case(
    name: &'static str,
    authority: &'static str,
    args: &'static [&'static str],
    refused: Option<&'static str>,
) -> Case {
    Case {
        name,
        authority,
        args,
        refused,
    }
}

const CASES: [Case; 11] = [
    case("good", "ca", &["-h", "-n", "other,127.0.0.1"], None),
    case("anywhere", "ca", &["-h"], None),
    case("rsa2", "ca_rsa", &["-h", "-n", "127.0.0.1"], None),
    case("ecdsa", "ca_ecdsa", &["-h", "-n", "127.0.0.1"], None),
    case(
        "sha1",
        "ca_rsa",
        &["-h", "-n", "127.0.0.1", "-t", "ssh-rsa"],
        Some("SHA-1"),
    ),
    case(
        "elsewhere",
        "ca",
        &["-h", "-n", "other"],
        Some("made for other and not for 127.0.0.1"),
    ),
    case(
        "pattern",
        "ca",
        &["-h", "-n", "127.0.0.*"],
        Some("made for 127.0.0.*"),
    ),
    case(
        "expired",
        "ca",
        &["-h", "-n", "127.0.0.1", "-V", "20200101:20210101"],
        Some("expired"),
    ),
    case(
        "early",
        "ca",
        &["-h", "-n", "127.0.0.1", "-V", "20990101:21000101"],
        Some("not valid yet"),
    ),
    case("user", "ca", &["-n", "127.0.0.1"], Some("for a user")),
    case(
        "stranger",
        "ca_other",
        &["-h", "-n", "127.0.0.1"],
        Some("no authority"),
    ),
];

/// Makes the authorities and gives their public keys.
async fn authorities(client: &Client) -> [(&'static str, String); 4] {
    let key = async |name, kind| {
        let public = KeyPair::keygen(&client.path(name), kind, "").await.unwrap();
        (name, public)
    };
    [
        key("ca", KeyKind::Ed25519).await,
        key("ca_rsa", KeyKind::Rsa2048).await,
        key("ca_ecdsa", KeyKind::EcdsaP256).await,
        key("ca_other", KeyKind::Ed25519).await,
    ]
}

async fn host(client: &Client, certificate: Option<&str>) -> RealSshd {
    let mut config = vec![format!("HostKey {}", client.path("host").display())];
    config.extend(certificate.map(|file| format!("HostCertificate {file}")));
    let options = SshdOptions {
        host_keys: Vec::new(),
        config,
        ..sshd_options(client)
    };
    RealSshd::start(options).await.unwrap()
}

#[tokio::test]
async fn certificates_count_as_for_openssh() {
    let client = Client::new();
    let authorities = authorities(&client).await;
    let plain = KeyPair::keygen(&client.path("host"), KeyKind::Ed25519, "")
        .await
        .unwrap();
    for case in &CASES {
        let Case { name, .. } = case;
        let certificate = openssh::sign(&client, case.authority, case.args, &plain, name).await;
        let sshd = host(&client, Some(&certificate)).await;
        let listed = format!("[127.0.0.1]:{}", sshd.address().port());
        // A stranger is no authority; somebody else is one, so that certificates are asked for.
        let authority = if case.authority == "ca_other" {
            "ca"
        } else {
            case.authority
        };
        let (_, key) = authorities.iter().find(|(name, _)| *name == authority).unwrap();
        let resolved = client.resolved(sshd.address());
        // An authority may be listed for the name with its port, or without.
        let names = [listed.as_str(), "127.0.0.1"];
        let names = if *name == "good" { &names[..] } else { &names[..1] };
        for hosts in names {
            client.trust(&format!("@cert-authority {hosts} {key}\n"));
            let (theirs, ours) = tokio::join!(
                openssh::connects(&client, sshd.address(), &[]),
                client.connect(&resolved)
            );
            assert_eq!(ours.is_ok(), theirs, "{name} {hosts}: {ours:?}\n{}", sshd.log());
            assert_eq!(theirs, case.refused.is_none(), "{name} {hosts}");
            if let (Err(error), Some(why)) = (ours, case.refused) {
                assert_eq!(error.kind(), ErrorKind::HostKeyUnknown, "{name}");
                assert!(error.to_string().contains(why), "{name}: {error}");
            }
        }
        if case.refused.is_some() {
            // What is left of a certificate that does not count is the key.
            client.trust(&format!("@cert-authority {listed} {key}\n{listed} {plain}\n"));
            let (theirs, ours) = tokio::join!(
                openssh::connects(&client, sshd.address(), &[]),
                client.connect(&resolved)
            );
            assert!(theirs && ours.is_ok(), "{name}: {ours:?}");
        }
    }
    assert!(
        !client.path("own_known_hosts").exists(),
        "a host with an authority teaches nothing"
    );
}

#[tokio::test]
async fn revoked_keys_and_authorities_are_refused_as_by_openssh() {
    let client = Client::new();
    let [(_, ca), ..] = authorities(&client).await;
    let plain = KeyPair::keygen(&client.path("host"), KeyKind::Ed25519, "")
        .await
        .unwrap();
    let certificate = openssh::sign(&client, "ca", &["-h"], &plain, "good").await;
    let sshd = host(&client, Some(&certificate)).await;
    let trusted = format!("@cert-authority 127.0.0.1 {ca}\n");
    let mut resolved = client.resolved(sshd.address());
    for revoked in [&ca, &plain] {
        client.trust(&format!("{trusted}@revoked * {revoked}\n"));
        assert!(!openssh::connects(&client, sshd.address(), &[]).await);
        let error = client.connect(&resolved).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::HostKeyRevoked, "{error}");
        assert!(error.to_string().contains("line 2"), "{error}");
    }
    client.trust(&trusted);
    let list = client.path("revoked");
    let option = format!("RevokedHostKeys={}", list.display());
    resolved.trust.revoked = vec![list.clone()];
    let other = KeyPair::generate(KeyKind::Ed25519).unwrap().public();
    let inside = std::fs::read_to_string(&certificate).unwrap();
    let tables = [
        (Some(format!("# nothing\n\n{other}\n")), None),
        (
            Some(format!("{other}\n  {ca} the authority\n")),
            Some(ErrorKind::HostKeyRevoked),
        ),
        (Some(plain.clone()), Some(ErrorKind::HostKeyRevoked)),
        (Some(inside), Some(ErrorKind::HostKeyRevoked)),
        (Some(format!("{other}\nno key\n")), Some(ErrorKind::Config)),
        (None, Some(ErrorKind::Config)),
    ];
    for (text, refused) in tables {
        match &text {
            Some(text) => std::fs::write(&list, text).unwrap(),
            None => std::fs::remove_file(&list).unwrap(),
        }
        let theirs = openssh::connects(&client, sshd.address(), &[&option]).await;
        assert_eq!(theirs, refused.is_none(), "{text:?}");
        let ours = client.connect(&resolved).await;
        assert_eq!(
            ours.as_ref().err().map(transport::Error::kind),
            refused,
            "{text:?}: {ours:?}"
        );
    }
    // A binary list is refused as a whole, whatever it holds.
    let made = crate::support::run(
        "ssh-keygen",
        &["-q", "-k", "-f", "revoked", "host.pub"],
        client.folder.path(),
    );
    assert!(made.await.0);
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("KRL") && cause.contains("revoked"), "{cause}");
}

#[tokio::test]
async fn an_alias_is_the_name_that_a_certificate_is_made_for() {
    let client = Client::new();
    let [(_, ca), ..] = authorities(&client).await;
    for (index, (kind, principal, works)) in [
        (KeyKind::Rsa2048, "box.example", true),
        (KeyKind::EcdsaP256, "127.0.0.1", false),
    ]
    .into_iter()
    .enumerate()
    {
        let _none = std::fs::remove_file(client.path("host"));
        let plain = KeyPair::keygen(&client.path("host"), kind, "").await.unwrap();
        let name = format!("alias{index}");
        let certificate = openssh::sign(&client, "ca", &["-h", "-n", principal], &plain, &name).await;
        let sshd = host(&client, Some(&certificate)).await;
        client.trust(&format!("@cert-authority *.example {ca}\n"));
        let mut resolved = client.resolved(sshd.address());
        resolved.trust.key_alias = Some("box.example".into());
        let theirs = openssh::connects(&client, sshd.address(), &["HostKeyAlias=box.example"]).await;
        let ours = client.connect(&resolved).await;
        assert_eq!((ours.is_ok(), theirs), (works, works), "{principal}: {ours:?}");
    }
}
