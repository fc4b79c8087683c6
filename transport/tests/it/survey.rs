//! Looking at the keys of a host without logging in, and accepting one.

use std::sync::Arc;

use transport::{
    DenyAll, Error, ErrorKind, Prompter, Proxy, Resolved, Survey,
    host_key::Verdict,
    testing::{KeyKind, KeyPair, RealSshd, SshdOptions},
};

use crate::support::{Client, run, sshd_options};

async fn survey(client: &Client, resolved: &Resolved) -> Result<Survey, Error> {
    let nobody: Arc<dyn Prompter> = Arc::new(DenyAll);
    Survey::make(resolved, &client.options, &nobody, &client.scope).await
}

async fn three_keys(client: &Client) -> RealSshd {
    let options = SshdOptions {
        host_keys: vec![KeyKind::Ed25519, KeyKind::EcdsaP256, KeyKind::Rsa2048],
        ..sshd_options(client)
    };
    RealSshd::start(options).await.unwrap()
}

#[tokio::test]
async fn the_presented_keys_are_shown_as_ssh_keygen_does_and_nobody_logs_in() {
    let client = Client::new();
    let sshd = three_keys(&client).await;
    client.trust("broken line\n");
    let seen = survey(&client, &client.resolved(sshd.address())).await.unwrap();
    assert_eq!((seen.presented.len(), seen.broken_lines), (3, 1));
    for public in sshd.host_keys() {
        std::fs::write(client.path("one.pub"), public).unwrap();
        let (ok, said) = run("ssh-keygen", &["-lv", "-f", "one.pub"], client.folder.path()).await;
        assert!(ok);
        let key = seen
            .presented
            .iter()
            .find(|key| said.contains(&key.fingerprint()))
            .unwrap();
        let (_, picture) = said.split_once('\n').unwrap();
        assert_eq!(key.picture().trim(), picture.trim());
        assert_eq!(key.judged.verdict, Verdict::Unknown);
    }
    assert!(!sshd.log().contains("Accepted"), "{}", sshd.log());
    assert!(!client.path("own_known_hosts").exists());
}

#[tokio::test]
async fn an_accepted_key_replaces_ours_and_beats_the_users_old_line() {
    let client = Client::new();
    let sshd = three_keys(&client).await;
    let name = format!("[127.0.0.1]:{}", sshd.address().port());
    let old = |kind| KeyPair::generate(kind).unwrap().public();
    let theirs = format!("{name} {}\n", old(KeyKind::Ed25519));
    client.trust(&theirs);
    let other = format!("elsewhere {}\n", old(KeyKind::Ed25519));
    std::fs::write(
        client.path("own_known_hosts"),
        format!("{name} {}\n{other}", old(KeyKind::EcdsaP256)),
    )
    .unwrap();
    let resolved = client.resolved(sshd.address());
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::HostKeyChanged);
    assert!(
        error.hint().unwrap().contains("reasonix remote trust testhost"),
        "{error:?}"
    );
    let seen = survey(&client, &resolved).await.unwrap();
    // Not the one that is usually asked for: the accepted one is, from now on.
    let rsa = seen
        .presented
        .iter()
        .find(|key| key.algorithm() == "ssh-rsa")
        .unwrap();
    let accepted = seen.accept(&resolved, &client.options, rsa).await.unwrap();
    assert_eq!((accepted.removed, accepted.left.len()), (1, 1));
    assert_eq!(accepted.left[0].file, client.path("known_hosts"));
    assert_eq!(
        std::fs::read_to_string(client.path("own_known_hosts")).unwrap(),
        format!("{other}{name} {}\n", sshd.host_keys()[2])
    );
    assert_eq!(
        std::fs::read_to_string(client.path("known_hosts")).unwrap(),
        theirs
    );
    client.connect(&resolved).await.unwrap();
}

#[tokio::test]
async fn a_revoked_key_is_never_accepted() {
    let client = Client::new();
    let sshd = RealSshd::start(sshd_options(&client)).await.unwrap();
    client.trust(&format!("@revoked * {}\n", sshd.host_keys()[0]));
    let resolved = client.resolved(sshd.address());
    let seen = survey(&client, &resolved).await.unwrap();
    let error = seen
        .accept(&resolved, &client.options, &seen.presented[0])
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::HostKeyRevoked);
    assert!(!client.path("own_known_hosts").exists());
}

#[tokio::test]
async fn each_host_on_the_way_is_checked_on_every_connection() {
    let client = Client::new();
    let (hop, target) = (
        RealSshd::start(sshd_options(&client)).await.unwrap(),
        RealSshd::start(sshd_options(&client)).await.unwrap(),
    );
    let mut resolved = client.resolved(target.address());
    let mut before = client.resolved(hop.address());
    before.alias = "hop".into();
    resolved.proxy = Some(Proxy::Jump(Box::new(before)));
    client.trust(&(hop.known_hosts() + &target.known_hosts()));
    client.connect(&resolved).await.unwrap().disconnect().await;
    for (known, host) in [(target.known_hosts(), "hop"), (hop.known_hosts(), "testhost")] {
        client.trust(&known);
        let error = client.connect(&resolved).await.unwrap_err();
        assert_eq!((error.kind(), error.host()), (ErrorKind::HostKeyUnknown, host));
    }
    // A host behind another is looked at through it.
    let seen = survey(&client, &resolved).await.unwrap();
    assert_eq!(seen.presented.len(), 1);
    seen.accept(&resolved, &client.options, &seen.presented[0])
        .await
        .unwrap();
    client.connect(&resolved).await.unwrap();
}
