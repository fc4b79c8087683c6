//! A host that swallows everything, at each stage of the way and with the deadlines that everybody has: connecting never
//! waits for ever, and the error says where it stood, what was waited for and what to do.

use std::{fs, net::SocketAddr, os::unix::fs::PermissionsExt as _, path::PathBuf, sync::Arc, time::Duration};

use link::{Answer, Error, Host, Link, LinkOptions, Patience, Prompter, SecretQuestion};
use stdx::{Secret, task::Scope};
use tokio::net::TcpStream;
use transport::{
    ResolveOptions, Target,
    testing::{FaultProxy, LoginStep},
};

use crate::{
    bench::{Bench, state},
    daemon::lines,
};

/// More than the longest deadline, on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(110);

async fn failure(link: &Link) -> Error {
    let first = tokio::time::timeout(PATIENCE, link.wait_live(Patience::FirstTry)).await;
    let error = first.unwrap().unwrap_err();
    // What comes after the first try is not looked at.
    link.disconnect();
    error
}

/// As front ends print it.
fn said(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

fn check(error: &Error, words: &[&str]) {
    let text = said(error);
    let missing: Vec<_> = words.iter().filter(|word| !text.contains(**word)).collect();
    assert!(missing.is_empty(), "{text:?} lacks {missing:?}");
    assert_eq!(error.host(), "testhost");
    assert!(error.hint().is_some(), "no advice: {text}");
    assert_eq!(error.exit_class().code(), 3, "{text}");
}

/// The options of a bench with another address.
fn at(bench: &Bench, address: SocketAddr) -> LinkOptions {
    let mut options = bench.options();
    let Host::Resolved(resolved) = &mut options.host else {
        panic!("resolved by hand")
    };
    resolved.endpoint.port = address.port();
    options
}

/// `ssh -G` that never answers, as one whose `Match exec` hangs.
async fn resolving() {
    let bench = Bench::new().await;
    let ssh = bench.path("ssh");
    fs::write(&ssh, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    let mut options = bench.options();
    options.host = Host::Named {
        target: "testhost".parse::<Target>().unwrap(),
        resolve: ResolveOptions {
            shown_as: None,
            home: bench.path("home"),
            local_user: "me".into(),
            ssh_program: Some(ssh),
            config_file: None,
            agent_socket: None,
            environment: Vec::new(),
            overrides: Vec::new(),
        },
    };
    let error = failure(&Link::open(options, &bench.scope)).await;
    let text = error.to_string();
    assert!(text.contains("testhost: ssh -G did not answer within"), "{text}");
}

/// A configuration on a disk that never answers, where no OpenSSH is installed.
async fn reading_the_configuration() {
    let bench = Bench::new().await;
    let config = bench.path("ssh_config");
    let mut command = stdx::process::blocking_command("/usr/bin/mkfifo");
    assert!(command.arg(&config).status().unwrap().success());
    let mut options = bench.options();
    options.host = Host::Named {
        target: "testhost".parse::<Target>().unwrap(),
        resolve: ResolveOptions {
            shown_as: None,
            home: bench.path("home"),
            local_user: "me".into(),
            ssh_program: None,
            config_file: Some(config.clone()),
            agent_socket: None,
            environment: Vec::new(),
            overrides: Vec::new(),
        },
    };
    let error = failure(&Link::open(options, &bench.scope)).await;
    // Its reader gets an end: the runtime waits for it.
    drop(
        fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(&config)
            .unwrap(),
    );
    let text = said(&error);
    for word in [
        "testhost",
        "configuration could not be read",
        "did not answer within 20 s",
    ] {
        assert!(text.contains(word), "{word} in {text}");
    }
    assert!(error.hint().is_some(), "no advice: {text}");
}

/// A firewall that drops packets: a full queue of connections makes the kernel do the same.
async fn dialling() {
    let bench = Bench::new().await;
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut filling = Vec::new();
    while let Ok(stream) = tokio::time::timeout(Duration::from_millis(300), TcpStream::connect(address)).await
    {
        filling.push(stream.unwrap());
    }
    let error = failure(&Link::open(at(&bench, address), &bench.scope)).await;
    check(
        &error,
        &[
            "connecting to testhost: could not connect to 127.0.0.1",
            "no answer within 15.0 s",
        ],
    );
}

/// A port that takes connections and says nothing.
async fn shaking_hands() {
    let bench = Bench::new().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let error = failure(&Link::open(at(&bench, address), &bench.scope)).await;
    check(
        &error,
        &["handshake with testhost: the host did not finish the key exchange within 20 s"],
    );
}

/// Answers, and the network dies with the answer.
struct LastAnswer(Arc<FaultProxy>);

impl Prompter for LastAnswer {
    fn secret<'a>(&'a self, _: &'a SecretQuestion) -> Answer<'a, Option<Secret>> {
        self.0.black_hole(true);
        Box::pin(std::future::ready(Some(Secret::new("hunter2"))))
    }
}

async fn logging_in() {
    let bench = Bench::with(|options| options.login = vec![LoginStep::Password("hunter2".into())]).await;
    let proxy = Arc::new(FaultProxy::start(bench.proxy.address()).await.unwrap());
    let mut options = at(&bench, proxy.address());
    trust(&bench, proxy.address());
    options.prompter = Arc::new(LastAnswer(proxy));
    let error = failure(&Link::open(options, &bench.scope)).await;
    check(
        &error,
        &["logging in to testhost: the host did not answer within 30 s; offered: a password"],
    );
}

/// Lists the host's key for another port.
fn trust(bench: &Bench, address: SocketAddr) {
    let file = bench.path("known_hosts");
    let line = fs::read_to_string(&file).unwrap();
    let key = line.split_once(' ').unwrap().1;
    fs::write(&file, format!("{line}[127.0.0.1]:{} {key}", address.port())).unwrap();
}

/// The network dies when the first command runs on the host. Signs of life end it before any deadline of a command.
async fn asking_the_host() {
    let bench = Bench::new().await;
    let link = bench.open();
    let execs: PathBuf = bench.path("execs");
    while lines(&execs) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    bench.proxy.black_hole(true);
    let error = failure(&link).await;
    check(&error, &["probe on testhost", "no sign of life for 15 s"]);
}

/// The agent takes the connection to its socket and says nothing.
async fn greeting_the_agent() {
    let bench = Bench::new().await;
    let (link, _) = bench.live().await;
    link.close().await;
    bench.daemon.mute(true);
    let error = failure(&bench.open()).await;
    check(&error, &["attach on testhost: the agent did not answer for 20 s"]);
}

/// The program that should be the bridge says nothing.
async fn crossing_the_bridge() {
    let bench = Bench::with(|options| options.forwarding.streamlocal = false).await;
    let (link, ready) = bench.live().await;
    link.close().await;
    fs::remove_file(&ready.program).unwrap();
    fs::write(&ready.program, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    fs::set_permissions(&ready.program, fs::Permissions::from_mode(0o755)).unwrap();
    let link = bench.open();
    // Left for a bootstrap, which finds the program unusable and puts another one in its place.
    state(&link, "the way on", |state| {
        !matches!(
            state,
            link::LinkState::Connecting(
                link::Stage::Attaching | link::Stage::Resolving | link::Stage::Dialing
            )
        )
    })
    .await;
    link.disconnect();
}

#[tokio::test]
async fn a_black_hole_at_any_stage_ends_with_a_reason_at_the_default_deadlines() {
    let scope = Scope::root("black holes");
    let all: Vec<futures_util::future::BoxFuture<'static, ()>> = vec![
        Box::pin(resolving()),
        Box::pin(reading_the_configuration()),
        Box::pin(dialling()),
        Box::pin(shaking_hands()),
        Box::pin(logging_in()),
        Box::pin(asking_the_host()),
        Box::pin(greeting_the_agent()),
        Box::pin(crossing_the_bridge()),
    ];
    let running: Vec<_> = all.into_iter().map(|stage| scope.spawn(stage)).collect();
    for stage in running {
        stage.await.unwrap();
    }
}
