//! Jump hosts and proxy commands.

use transport::{
    CaptureLimits, Error, ErrorKind, HostKeyAnswer, Proxy, Resolved,
    testing::{KeyKind, KeyPair, LoginStep, Question, RealSshd, SshdOptions, TestServer, TestServerOptions},
};

use crate::support::{Client, Scripted, server_options, sshd_options};

#[tokio::test]
async fn a_jump_host_is_checked_and_used() {
    let client = Client::new();
    let jump = RealSshd::start(sshd_options(&client)).await.unwrap();
    let target = TestServer::start(server_options(&client)).await.unwrap();
    client.trust(&format!("{}{}", jump.known_hosts(), target.known_hosts()));
    let mut resolved = client.resolved(target.address());
    resolved.proxy = Some(Proxy::Jump(Box::new(client.resolved(jump.address()))));
    let connection = client.connect(&resolved).await.unwrap();
    let output = connection
        .exec_capture(
            "echo there",
            b"",
            CaptureLimits::default(),
            std::time::Duration::from_secs(30),
        )
        .await
        .unwrap();
    assert_eq!(output.stdout, b"there\n");

    client.trust(&target.known_hosts());
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::HostKeyUnknown,
        "the jump host needs its own trust"
    );
}

#[tokio::test]
async fn a_proxy_command_carries_the_connection_and_its_words_are_shown() {
    let client = Client::new();
    let hop = RealSshd::start(sshd_options(&client)).await.unwrap();
    client.trust(&hop.known_hosts());
    let mut resolved = client.resolved(hop.address());
    let bash = format!(
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{}; cat <&3 & exec cat >&3'",
        hop.address().port()
    );
    let environment = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
    resolved.proxy = Some(Proxy::Command {
        line: bash,
        environment: environment.clone(),
    });
    client.connect(&resolved).await.unwrap();
    resolved.proxy = Some(Proxy::Command {
        line: "sh -c 'echo no route >&2; exit 1'".into(),
        environment,
    });
    let error = client.connect(&resolved).await.unwrap_err();
    assert!(error.to_string().contains("no route"), "{error}");
}

/// A host whose way leads through others, each of which is reached from the one before.
fn through(mut target: Resolved, hops: Vec<Resolved>) -> Resolved {
    let mut before: Option<Resolved> = None;
    for mut hop in hops {
        hop.proxy = before.take().map(|before| Proxy::Jump(Box::new(before)));
        before = Some(hop);
    }
    target.proxy = before.map(|before| Proxy::Jump(Box::new(before)));
    target
}

fn named(client: &Client, address: std::net::SocketAddr, name: &str) -> Resolved {
    Resolved {
        alias: name.into(),
        ..client.resolved(address)
    }
}

#[tokio::test]
async fn every_hop_has_its_own_keys_and_questions() {
    let client = Client::new();
    for name in ["key_of_first", "key_of_target"] {
        let file = client.path(name);
        KeyPair::keygen(&file, KeyKind::Ed25519, "open sesame")
            .await
            .unwrap();
    }
    let public = |name: &str| std::fs::read_to_string(client.path(name)).unwrap();
    let first = RealSshd::start(SshdOptions {
        authorized_keys: vec![public("key_of_first.pub")],
        ..SshdOptions::default()
    })
    .await
    .unwrap();
    let code = Question {
        prompt: "Code: ".into(),
        echo: true,
        answer: "123456".into(),
    };
    let second = TestServer::start(TestServerOptions {
        login: vec![LoginStep::PublicKey, LoginStep::Questions(vec![vec![code]])],
        ..server_options(&client)
    })
    .await
    .unwrap();
    let target = RealSshd::start(SshdOptions {
        authorized_keys: vec![public("key_of_target.pub")],
        ..SshdOptions::default()
    })
    .await
    .unwrap();
    client.trust("");
    let mut hops = vec![
        named(&client, first.address(), "first"),
        named(&client, second.address(), "second"),
    ];
    hops[0].identity.files = vec![client.path("key_of_first")];
    let mut end = named(&client, target.address(), "target");
    end.identity.files = vec![client.path("key_of_target")];
    let person = Scripted::secrets(&["open sesame", "123456", "open sesame"]);
    person.accept(HostKeyAnswer::Once);
    let connection = client
        .connect_with(&through(end, hops), person.clone())
        .await
        .unwrap();
    assert!(!connection.login().one_time_factor, "it was asked by a hop");
    let keys: Vec<_> = person.host_keys().into_iter().map(|asked| asked.host).collect();
    assert!(
        ["first", "second", "target"]
            .iter()
            .all(|name| keys.iter().any(|asked| asked == name)),
        "{keys:?}"
    );
    let asked: Vec<_> = person
        .asked()
        .into_iter()
        .map(|asked| (asked.host, asked.label))
        .collect();
    assert_eq!(asked[0].0, "first");
    assert!(asked[0].1.ends_with("key_of_first"), "{asked:?}");
    assert!(
        asked.contains(&("second".to_owned(), "Code: ".to_owned())),
        "{asked:?}"
    );
    assert_eq!(asked.last().unwrap().0, "target");
}

async fn fails_with(client: &Client, resolved: Resolved, kind: ErrorKind, words: &[&str]) -> Error {
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "{word} in {error}");
    }
    error
}

async fn nobody() -> std::net::SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

#[tokio::test]
async fn a_hop_that_forbids_or_cannot_go_on_is_named() {
    let client = Client::new();
    let mut options = sshd_options(&client);
    options.config.push("AllowTcpForwarding no".into());
    let closed = RealSshd::start(options).await.unwrap();
    let open = RealSshd::start(sshd_options(&client)).await.unwrap();
    client.trust(&format!("{}{}", closed.known_hosts(), open.known_hosts()));
    let way = through(
        named(&client, open.address(), "box"),
        vec![named(&client, closed.address(), "bastion")],
    );
    let words = [
        "connecting to box",
        "jump host bastion forbids",
        "administratively prohibited",
    ];
    let error = fails_with(&client, way, ErrorKind::ForwardingRefused, &words).await;
    assert!(error.hint().unwrap().contains("AllowTcpForwarding"));

    let nobody = nobody().await;
    let way = through(
        named(&client, nobody, "box"),
        vec![named(&client, open.address(), "bastion")],
    );
    let port = nobody.port().to_string();
    let words = ["connecting to box", "jump host bastion could not reach", &port];
    fails_with(&client, way, ErrorKind::ConnectRefused, &words).await;
}

#[tokio::test]
async fn a_hop_that_is_dead_or_refuses_us_is_named() {
    let client = Client::new();
    let open = RealSshd::start(sshd_options(&client)).await.unwrap();
    client.trust(&open.known_hosts());
    let nobody = nobody().await;
    let target = || named(&client, open.address(), "box");
    let bastion = || named(&client, open.address(), "bastion");
    let way = through(target(), vec![named(&client, nobody, "bastion")]);
    let words = ["connecting to bastion", "refused", "on the way to box"];
    fails_with(&client, way, ErrorKind::Unreachable, &words).await;

    let way = through(target(), vec![bastion(), named(&client, nobody, "second")]);
    let words = [
        "connecting to second",
        "jump host bastion could not reach",
        "on the way to box",
    ];
    fails_with(&client, way, ErrorKind::ConnectRefused, &words).await;

    let mut refused = bastion();
    refused.identity.files.clear();
    let way = through(target(), vec![refused]);
    let words = ["logging in to bastion", "on the way to box"];
    fails_with(&client, way, ErrorKind::AuthRefused, &words).await;
}

#[tokio::test]
async fn a_hop_that_says_nothing_is_given_up_at_the_deadline() {
    let mut client = Client::new();
    client.options.deadlines.handshake = std::time::Duration::from_millis(300);
    let mute = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hop = named(&client, mute.local_addr().unwrap(), "bastion");
    client.trust("");
    let resolved = through(named(&client, mute.local_addr().unwrap(), "box"), vec![hop]);
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    for word in ["handshake with bastion", "within 0.3 s", "on the way to box"] {
        assert!(error.to_string().contains(word), "{word} in {error}");
    }
}

#[tokio::test]
async fn a_proxy_command_that_dies_is_quoted() {
    let client = Client::new();
    client.trust("");
    let mute: std::net::SocketAddr = "127.0.0.1:9".parse().unwrap();
    let environment = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
    for (line, words) in [
        (
            "no-such-program-of-anybody %h",
            "no-such-program-of-anybody: not found",
        ),
        ("sh -c 'printf SSH-2.0-half; echo cut off >&2; exit 3'", "cut off"),
        ("sh -c 'echo first >&2; echo second >&2; exit 1'", "first second"),
    ] {
        let mut resolved = client.resolved(mute);
        resolved.proxy = Some(Proxy::Command {
            line: line.into(),
            environment: environment.clone(),
        });
        let error = client.connect(&resolved).await.unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(words) && text.contains("the proxy command says"),
            "{words} in {text}"
        );
    }
}
