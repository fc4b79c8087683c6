//! Learning the keys that a host announces.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use stdx::task::Scope;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
};
use transport::{
    HostKeyAnswer, UnknownKeys,
    testing::{FaultProxy, KeyKind, KeyPair, RealSshd, SshdOptions, wait_until},
};

use crate::support::{Client, Scripted, sshd_options};

/// A host with keys in files of the client's folder.
async fn host(client: &Client, keys: &[&str], more: &[String]) -> RealSshd {
    let mut config: Vec<String> = keys
        .iter()
        .map(|name| format!("HostKey {}", client.path(name).display()))
        .collect();
    config.extend_from_slice(more);
    let options = SshdOptions {
        host_keys: Vec::new(),
        config,
        ..sshd_options(client)
    };
    RealSshd::start(options).await.unwrap()
}

async fn keys(client: &Client) -> [String; 3] {
    let key = async |name, kind| KeyPair::keygen(&client.path(name), kind, "").await.unwrap();
    [
        key("ed25519", KeyKind::Ed25519).await,
        key("ecdsa", KeyKind::EcdsaP256).await,
        key("rsa", KeyKind::Rsa2048).await,
    ]
}

fn own(client: &Client) -> String {
    std::fs::read_to_string(client.path("own_known_hosts")).unwrap_or_default()
}

/// Waits until our file has exactly these lines, in any order.
async fn learned(client: &Client, name: &str, keys: &[&String]) {
    let mut wanted: Vec<_> = keys.iter().map(|key| format!("{name} {key}")).collect();
    wanted.sort();
    let mut last = String::new();
    let waited = wait_until("our file to have the learned keys", || {
        last = own(client);
        let mut lines: Vec<_> = last.lines().map(str::to_owned).collect();
        lines.sort();
        let same = lines == wanted;
        async move { same.then_some(()) }
    });
    let outcome = waited.await;
    assert!(outcome.is_ok(), "{last}\ninstead of {wanted:#?}");
}

#[tokio::test]
async fn an_announced_rotation_needs_no_question() {
    let client = Client::new();
    let [ed25519, ecdsa, rsa] = keys(&client).await;
    let before = host(&client, &["ed25519", "ecdsa", "rsa"], &[]).await;
    let proxy = FaultProxy::start(before.address()).await.unwrap();
    let name = format!("[127.0.0.1]:{}", proxy.address().port());
    let lines = format!("{name} {ed25519}\n");
    client.trust(&lines);
    let mut resolved = client.resolved(proxy.address());
    resolved.trust.unknown_keys = UnknownKeys::Refuse;
    let connection = client.connect(&resolved).await.unwrap();
    learned(&client, &name, &[&ecdsa, &rsa]).await;
    connection.disconnect().await;

    // The old key is gone, and one that was not announced is there.
    std::fs::remove_file(client.path("rsa")).unwrap();
    let new_rsa = KeyPair::keygen(&client.path("rsa"), KeyKind::Rsa2048, "")
        .await
        .unwrap();
    let after = host(&client, &["rsa", "ecdsa"], &[]).await;
    proxy.retarget(after.address());
    let connection = client.connect(&resolved).await.unwrap();
    // The new one is proved by RSA with SHA-2, and the one that is no more announced is forgotten.
    learned(&client, &name, &[&ecdsa, &new_rsa]).await;
    connection.disconnect().await;
    assert_eq!(
        std::fs::read_to_string(client.path("known_hosts")).unwrap(),
        lines,
        "the user's file is only read"
    );
    assert!(!own(&client).contains(&rsa));
}

#[tokio::test]
async fn an_accepted_host_teaches_its_other_keys_too() {
    let client = Client::new();
    let [ed25519, ecdsa, rsa] = keys(&client).await;
    let sshd = host(&client, &["ed25519", "ecdsa", "rsa"], &[]).await;
    let name = format!("[127.0.0.1]:{}", sshd.address().port());
    client.trust("");
    let person = Scripted::host_key_answer(HostKeyAnswer::Remember);
    let connection = client
        .connect_with(&client.resolved(sshd.address()), person)
        .await
        .unwrap();
    learned(&client, &name, &[&ed25519, &ecdsa, &rsa]).await;
    connection.disconnect().await;
}

/// Nothing is learned: the host is asked for a thing that it answers after its announcement.
async fn teaches_nothing(client: &Client, resolved: &transport::Resolved, expected: &str) {
    let connection = client.connect(resolved).await.unwrap();
    for _ in 0..5 {
        connection.ping(std::time::Duration::from_secs(20)).await.unwrap();
    }
    connection.disconnect().await;
    assert_eq!(own(client), expected);
}

#[tokio::test]
async fn hosts_known_by_a_pattern_or_once_teach_nothing() {
    let client = Client::new();
    let [ed25519, ecdsa, rsa] = keys(&client).await;
    let sshd = host(&client, &["ed25519", "ecdsa", "rsa"], &[]).await;
    let name = format!("[127.0.0.1]:{}", sshd.address().port());
    let mut resolved = client.resolved(sshd.address());
    for lines in [
        format!("[127.0.0.*]:* {ed25519}\n"),
        format!("127.0.0.1 {ed25519}\n"),
        format!("{name} {ed25519}\n@cert-authority * {rsa}\n"),
    ] {
        client.trust(&lines);
        teaches_nothing(&client, &resolved, "").await;
    }
    client.trust(&format!("{name} {ed25519}\n"));
    resolved.trust.learn_announced = Some(false);
    teaches_nothing(&client, &resolved, "").await;
    // A revoked key is not learned, the others are.
    resolved.trust.learn_announced = None;
    client.trust(&format!("{name} {ed25519}\n@revoked * {ecdsa}\n"));
    let connection = client.connect(&resolved).await.unwrap();
    learned(&client, &name, &[&rsa]).await;
    connection.disconnect().await;
}

/// An agent that lists one key and may sign with another.
struct OddAgent {
    socket: PathBuf,
    asked: Arc<AtomicUsize>,
    scope: Scope,
}

impl OddAgent {
    fn start(socket: &Path, shown: &str, signs: russh::keys::PrivateKey) -> Self {
        let socket = socket.to_owned();
        let listener = UnixListener::bind(&socket).unwrap();
        let shown = russh::keys::PublicKey::from_openssh(shown)
            .unwrap()
            .to_bytes()
            .unwrap();
        let (asked, scope) = (Arc::new(AtomicUsize::new(0)), Scope::root("odd agent"));
        let (count, token) = (Arc::clone(&asked), scope.token().clone());
        drop(scope.spawn(async move {
            loop {
                let stream = tokio::select! {
                    biased;
                    () = token.cancelled() => return,
                    accepted = listener.accept() => accepted.unwrap().0,
                };
                // Whoever talks to an agent may hang up.
                let _ended = serve(stream, &shown, &signs, &count).await;
            }
        }));
        Self { socket, asked, scope }
    }
}

impl Drop for OddAgent {
    fn drop(&mut self) {
        self.scope.cancel();
    }
}

/// Speaks the agent protocol (draft-miller-ssh-agent): list, and sign.
async fn serve(
    mut stream: UnixStream,
    shown: &[u8],
    signs: &russh::keys::PrivateKey,
    asked: &AtomicUsize,
) -> std::io::Result<()> {
    let string = |bytes: &[u8]| [&u32::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat();
    loop {
        let length = stream.read_u32().await?;
        let mut request = vec![0; length as usize];
        stream.read_exact(&mut request).await?;
        let answer = match request[0] {
            11 => [&[12, 0, 0, 0, 1][..], &string(shown), &string(b"")].concat(),
            13 => {
                asked.fetch_add(1, Ordering::SeqCst);
                let key = u32::from_be_bytes(request[1..5].try_into().unwrap()) as usize;
                let rest = &request[5 + key..];
                let data = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
                let signature = russh::keys::signature::Signer::try_sign(signs, &rest[4..4 + data]).unwrap();
                let mut bytes = Vec::new();
                russh::keys::ssh_encoding::Encode::encode(&signature, &mut bytes).unwrap();
                [&[14][..], &string(&bytes)].concat()
            }
            _ => vec![5],
        };
        stream.write_all(&string(&answer)).await?;
    }
}

#[tokio::test]
async fn a_key_that_a_host_cannot_prove_is_not_learned() {
    let client = Client::new();
    let ed25519 = KeyPair::keygen(&client.path("ed25519"), KeyKind::Ed25519, "")
        .await
        .unwrap();
    // Of one key the host has only the public half; an agent signs for it, with the right key or with another.
    let shown = KeyPair::generate(KeyKind::EcdsaP256).unwrap();
    std::fs::write(client.path("shown.pub"), shown.public()).unwrap();
    let other = KeyPair::generate(KeyKind::EcdsaP256).unwrap();
    for (name, signs, proves) in [("liar", &other, false), ("owner", &shown, true)] {
        signs.write(&client.path(name)).unwrap();
        let signs = russh::keys::load_secret_key(client.path(name), None).unwrap();
        let agent = OddAgent::start(&client.path(&format!("{name}.sock")), &shown.public(), signs);
        let more = [
            format!("HostKey {}", client.path("shown.pub").display()),
            format!("HostKeyAgent {}", agent.socket.display()),
        ];
        let sshd = host(&client, &["ed25519"], &more).await;
        let listed = format!("[127.0.0.1]:{}", sshd.address().port());
        client.trust(&format!("{listed} {ed25519}\n"));
        let connection = client.connect(&client.resolved(sshd.address())).await.unwrap();
        wait_until("the host to be asked for a proof", || {
            let asked = agent.asked.load(Ordering::SeqCst) > 0;
            async move { asked.then_some(()) }
        })
        .await
        .unwrap_or_else(|error| panic!("{error}: {}", sshd.log()));
        if proves {
            learned(&client, &listed, &[&shown.public()]).await;
        }
        for _ in 0..5 {
            connection.ping(std::time::Duration::from_secs(20)).await.unwrap();
        }
        connection.disconnect().await;
        assert_eq!(own(&client).is_empty(), !proves, "{name}");
    }
}
