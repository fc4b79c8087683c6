//! Local forwards: abort and half-close passed on, a re-dial survived, refusals named.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use forward::{Endpoint, Error, ForwardOptions, Forwards, RuleSnapshot, RuleState, Spec};
use stdx::task::Scope;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UnixStream},
    sync::mpsc,
};
use transport::{
    ConnectOptions, Connection, DenyAll, Identity, Prompter, ResolveOptions, Target, Trust,
    testing::{KeyKind, KeyPair, RealSshd, SshdOptions, TestServer, TestServerOptions, wait_until},
};

struct Setup {
    folder: tempfile::TempDir,
    scope: Scope,
    key: KeyPair,
}

impl Setup {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate(KeyKind::Ed25519).unwrap();
        key.write(&folder.path().join("id")).unwrap();
        Self {
            folder,
            scope: Scope::root("test"),
            key,
        }
    }

    async fn sshd(&self, config: &[&str]) -> RealSshd {
        let options = SshdOptions {
            authorized_keys: vec![self.key.public()],
            config: config.iter().map(|&line| line.to_owned()).collect(),
            ..SshdOptions::default()
        };
        RealSshd::start(options).await.unwrap()
    }

    async fn embedded(&self) -> TestServer {
        let options = TestServerOptions {
            authorized_keys: vec![self.key.public()],
            ..TestServerOptions::new(self.folder.path())
        };
        TestServer::start(options).await.unwrap()
    }

    async fn connect(&self, address: SocketAddr, known_hosts: &str) -> Connection {
        let file = self.folder.path().join("known_hosts");
        std::fs::write(&file, known_hosts).unwrap();
        let config = self.folder.path().join("config");
        std::fs::write(&config, "").unwrap();
        let user = id_command().output().unwrap().stdout;
        let options = ResolveOptions {
            shown_as: None,
            home: self.folder.path().to_owned(),
            local_user: String::from_utf8(user).unwrap().trim().to_owned(),
            ssh_program: None,
            config_file: Some(config),
            agent_socket: None,
            environment: Vec::new(),
            overrides: Vec::new(),
        };
        let target: Target = format!("{}:{}", address.ip(), address.port()).parse().unwrap();
        let mut resolved = transport::resolve(&target, &options).await.unwrap();
        resolved.identity = Identity {
            files: vec![self.folder.path().join("id")],
            certificates: Vec::new(),
            only_files: true,
            agent: None,
        };
        resolved.trust = Trust {
            known_hosts: vec![file],
            ..Trust::default()
        };
        let prompter: Arc<dyn Prompter> = Arc::new(DenyAll);
        Connection::connect(&resolved, &ConnectOptions::default(), &prompter, &self.scope)
            .await
            .unwrap()
    }

    fn forwards(&self) -> Forwards {
        Forwards::new(&self.scope, ForwardOptions::default())
    }
}

fn id_command() -> std::process::Command {
    let mut command = stdx::process::blocking_command("/usr/bin/id");
    command.arg("-un").stdout(std::process::Stdio::piped());
    command
}

/// A forward to `port` on any free port, and where it listens.
async fn forward_to(forwards: &Forwards, port: u16) -> SocketAddr {
    forwards
        .add(format!("L:0:127.0.0.1:{port}").parse().unwrap())
        .await
        .unwrap();
    bound(forwards.list().last().unwrap())
}

fn bound(rule: &RuleSnapshot) -> SocketAddr {
    let Endpoint::Tcp { host, port } = &rule.bound else {
        panic!("not a TCP rule")
    };
    SocketAddr::new(host.parse().unwrap(), *port)
}

/// A service that writes without end and reports each handler's end.
async fn endless_service(scope: &Scope) -> (u16, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (ended, receiver) = mpsc::channel(1000);
    let handlers = scope.clone();
    drop(scope.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let ended = ended.clone();
            drop(handlers.spawn(async move {
                while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
                ended.send(()).await.unwrap();
            }));
        }
    }));
    (port, receiver)
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// RA-13.
#[tokio::test]
async fn an_abort_is_passed_on() {
    let setup = Setup::new();
    let (sshd, embedded) = (setup.sshd(&[]).await, setup.embedded().await);
    for (address, known) in [
        (sshd.address(), sshd.known_hosts()),
        (embedded.address(), embedded.known_hosts()),
    ] {
        let connection = setup.connect(address, &known).await;
        let forwards = setup.forwards();
        forwards.set_connection(Some(connection));
        let (port, mut ended) = endless_service(&setup.scope).await;
        let listen = forward_to(&forwards, port).await;
        let before = open_files();
        for _ in 0..200 {
            let mut client = TcpStream::connect(listen).await.unwrap();
            client.read_exact(&mut [0; 1024]).await.unwrap();
        }
        for _ in 0..200 {
            tokio::time::timeout(Duration::from_secs(60), ended.recv())
                .await
                .unwrap()
                .unwrap();
        }
        wait_until("connections to be closed", || {
            let rule = forwards.list().remove(0);
            let done = rule.open == 0 && open_files() <= before;
            async move { done.then_some(()) }
        })
        .await
        .unwrap();
        assert_eq!(forwards.list()[0].total, 200);
    }
}

/// RA-13, second half.
#[tokio::test]
async fn a_half_close_still_gets_its_answer() {
    let setup = Setup::new();
    let sshd = setup.sshd(&[]).await;
    let forwards = setup.forwards();
    forwards.set_connection(Some(setup.connect(sshd.address(), &sshd.known_hosts()).await));
    let service = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listen = forward_to(&forwards, service.local_addr().unwrap().port()).await;
    let answering = setup.scope.spawn(async move {
        let (mut stream, _) = service.accept().await.unwrap();
        let mut request = Vec::new();
        stream.read_to_end(&mut request).await.unwrap();
        stream.write_all(&request).await.unwrap();
    });
    let mut client = TcpStream::connect(listen).await.unwrap();
    let request = vec![3; 1_000_000];
    client.write_all(&request).await.unwrap();
    client.shutdown().await.unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    assert!(answer == request, "{} bytes came back", answer.len());
    answering.await.unwrap();
}

#[tokio::test]
async fn a_busy_port_names_the_rule() {
    let setup = Setup::new();
    let forwards = setup.forwards();
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let rule = format!("L:127.0.0.1:{}:db:5432", taken.local_addr().unwrap().port());
    let error = forwards.add(rule.parse().unwrap()).await.unwrap_err();
    assert!(
        matches!(error, Error::Bind { .. }) && error.to_string().contains(&rule),
        "{error}"
    );
    assert!(error.hint().is_some() && forwards.list().is_empty());
    let remote: Spec = "R:0:localhost:1".parse().unwrap();
    assert!(matches!(
        forwards.add(remote).await.unwrap_err(),
        Error::Refused { .. }
    ));
}

#[tokio::test]
async fn sockets_work_at_both_ends_and_a_dead_socket_file_is_replaced() {
    let setup = Setup::new();
    let embedded = setup.embedded().await;
    let forwards = setup.forwards();
    forwards.set_connection(Some(
        setup.connect(embedded.address(), &embedded.known_hosts()).await,
    ));
    let (near, far) = (
        setup.folder.path().join("near.sock"),
        setup.folder.path().join("far.sock"),
    );
    drop(std::os::unix::net::UnixListener::bind(&near).unwrap());
    let service = tokio::net::UnixListener::bind(&far).unwrap();
    let rule: Spec = format!("L:{}:{}", near.display(), far.display()).parse().unwrap();
    let id = forwards.add(rule.clone()).await.unwrap();
    assert!(
        matches!(forwards.add(rule).await.unwrap_err(), Error::Bind { .. }),
        "a live socket stays"
    );
    drop(setup.scope.spawn(async move {
        // The look at a live socket counts as a client too.
        while let Ok((mut stream, _)) = service.accept().await {
            drop(stream.write_all(b"hello").await);
        }
    }));
    let mut text = String::new();
    UnixStream::connect(&near)
        .await
        .unwrap()
        .read_to_string(&mut text)
        .await
        .unwrap();
    assert_eq!(text, "hello");
    assert!(forwards.remove(id).await && !near.exists());
}

#[tokio::test]
async fn listeners_survive_a_redial() {
    let setup = Setup::new();
    let embedded = setup.embedded().await;
    let forwards = setup.forwards();
    let first = setup.connect(embedded.address(), &embedded.known_hosts()).await;
    forwards.set_connection(Some(first.clone()));
    let service = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listen = forward_to(&forwards, service.local_addr().unwrap().port()).await;
    drop(setup.scope.spawn(async move {
        loop {
            service.accept().await.unwrap().0.write_all(b"up").await.unwrap();
        }
    }));
    let read = || async {
        let mut text = String::new();
        TcpStream::connect(listen)
            .await
            .unwrap()
            .read_to_string(&mut text)
            .await
            .map(|_| text)
    };
    assert_eq!(read().await.unwrap(), "up");
    embedded.drop_connections();
    drop(first.closed().await);
    forwards.set_connection(None);
    assert_eq!(forwards.list()[0].state, RuleState::Offline);
    // This client comes while the host is away and is served when it is back.
    let waiting = setup.scope.spawn(async move {
        let mut text = String::new();
        TcpStream::connect(listen)
            .await
            .unwrap()
            .read_to_string(&mut text)
            .await
            .map(|_| text)
    });
    wait_until("the client to wait", || {
        let open = forwards.list()[0].open;
        async move { (open == 1).then_some(()) }
    })
    .await
    .unwrap();
    forwards.set_connection(Some(
        setup.connect(embedded.address(), &embedded.known_hosts()).await,
    ));
    assert_eq!(waiting.await.unwrap().unwrap(), "up");
    assert!(matches!(forwards.list()[0].state, RuleState::Ready { .. }));
}

/// RA-12 for a rule.
#[tokio::test]
async fn a_refusal_of_the_host_is_shown_with_the_rule() {
    let setup = Setup::new();
    let sshd = setup.sshd(&["AllowTcpForwarding no"]).await;
    let forwards = setup.forwards();
    forwards.set_connection(Some(setup.connect(sshd.address(), &sshd.known_hosts()).await));
    let listen = forward_to(&forwards, 1).await;
    let mut client = TcpStream::connect(listen).await.unwrap();
    assert_eq!(
        client.read(&mut [0; 1]).await.unwrap_or(0),
        0,
        "the client is not left hanging"
    );
    let error = wait_until("the refusal", || {
        let error = forwards.list()[0].last_error.clone();
        async move { error }
    })
    .await
    .unwrap();
    assert!(error.message.contains("forbids"), "{error}");
}

#[tokio::test]
async fn a_removed_rule_frees_its_port() {
    let setup = Setup::new();
    let forwards = setup.forwards();
    let listen = forward_to(&forwards, 1).await;
    let id = forwards.list()[0].id;
    assert!(forwards.remove(id).await && !forwards.remove(id).await);
    TcpListener::bind(listen).await.unwrap();
}
