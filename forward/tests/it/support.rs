//! Hosts, services and clients of the tests.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use forward::{
    BoxFuture, Bytes, Carrier, Endpoint, ForwardOptions, Forwards, Incoming, Refusal, RefusalKind,
    RuleSnapshot,
};
use stdx::task::Scope;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::Semaphore,
};
use transport::{
    ConnectOptions, Connection, DenyAll, Identity, Prompter, ResolveOptions, Target, Trust,
    testing::{KeyKind, KeyPair, RealSshd, SshdOptions, TestServer, TestServerOptions, wait_until},
};

pub(crate) struct Setup {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) scope: Scope,
    key: KeyPair,
}

impl Setup {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate(KeyKind::Ed25519).unwrap();
        key.write(&folder.path().join("id")).unwrap();
        Self {
            folder,
            scope: Scope::root("test"),
            key,
        }
    }

    pub(crate) async fn sshd(&self, config: &[&str]) -> RealSshd {
        let options = SshdOptions {
            authorized_keys: vec![self.key.public()],
            config: config.iter().map(|&line| line.to_owned()).collect(),
            ..SshdOptions::default()
        };
        RealSshd::start(options).await.unwrap()
    }

    pub(crate) async fn embedded(&self) -> TestServer {
        let options = TestServerOptions {
            authorized_keys: vec![self.key.public()],
            ..TestServerOptions::new(self.folder.path())
        };
        TestServer::start(options).await.unwrap()
    }

    pub(crate) async fn connect(&self, address: SocketAddr, known_hosts: &str) -> Connection {
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

    pub(crate) fn forwards(&self) -> Forwards {
        self.forwards_with(ForwardOptions::default())
    }

    pub(crate) fn forwards_with(&self, options: ForwardOptions) -> Forwards {
        Forwards::new(&self.scope, options)
    }

    /// Forwards over a fresh `sshd` with these settings.
    pub(crate) async fn connected(&self, config: &[&str]) -> (RealSshd, Forwards) {
        let sshd = self.sshd(config).await;
        let forwards = self.forwards();
        forwards.set_connection(Some(self.connect(sshd.address(), &sshd.known_hosts()).await));
        (sshd, forwards)
    }

    /// Gives the path of a socket that does not exist yet.
    pub(crate) fn socket(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }
}

fn id_command() -> std::process::Command {
    let mut command = stdx::process::blocking_command("/usr/bin/id");
    command.arg("-un").stdout(std::process::Stdio::piped());
    command
}

/// Adds a rule and gives where it listens.
pub(crate) async fn add(forwards: &Forwards, rule: &str) -> Endpoint {
    let id = match forwards.add(rule.parse().unwrap()).await {
        Ok(id) => id,
        Err(error) => panic!("{error}: {:?}", error.hint()),
    };
    let all = forwards.list();
    all.into_iter().find(|rule| rule.id == id).unwrap().bound
}

/// A forward to `port` on any free port, and where it listens.
pub(crate) async fn forward_to(forwards: &Forwards, port: u16) -> SocketAddr {
    address(&add(forwards, &format!("L:0:127.0.0.1:{port}")).await)
}

pub(crate) fn address(at: &Endpoint) -> SocketAddr {
    let Endpoint::Tcp { host, port } = at else {
        panic!("not a TCP rule")
    };
    let host = if host == "localhost" { "127.0.0.1" } else { host };
    SocketAddr::new(host.parse().unwrap(), *port)
}

pub(crate) fn only(forwards: &Forwards) -> RuleSnapshot {
    let [rule] = forwards.list().try_into().unwrap();
    rule
}

/// Waits for what the only rule shows.
pub(crate) async fn until(
    forwards: &Forwards,
    what: &str,
    is_so: impl Fn(&RuleSnapshot) -> bool,
) -> RuleSnapshot {
    let look = || {
        let rule = only(forwards);
        let found = is_so(&rule).then_some(rule);
        async move { found }
    };
    match wait_until(what, look).await {
        Ok(rule) => rule,
        Err(error) => panic!("{error}: {:?}", only(forwards)),
    }
}

pub(crate) trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Socket for T {}

pub(crate) async fn dial(at: &Endpoint) -> Box<dyn Socket> {
    match at {
        Endpoint::Tcp { .. } => Box::new(TcpStream::connect(address(at)).await.unwrap()),
        Endpoint::Unix(path) => Box::new(UnixStream::connect(path).await.unwrap()),
    }
}

/// A service that answers with the reversed request once it has seen its end.
pub(crate) async fn reversing(scope: &Scope, at: &Endpoint) -> Endpoint {
    async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
        let mut request = Vec::new();
        if stream.read_to_end(&mut request).await.is_ok() {
            request.reverse();
            // A client that left hears nothing.
            drop(stream.write_all(&request).await);
        }
    }
    let handlers = scope.clone();
    match at {
        Endpoint::Tcp { host, .. } => {
            let listener = TcpListener::bind(address(at)).await.unwrap();
            let port = listener.local_addr().unwrap().port();
            drop(scope.spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    drop(handlers.spawn(answer(stream)));
                }
            }));
            Endpoint::Tcp {
                host: host.clone(),
                port,
            }
        }
        Endpoint::Unix(path) => {
            let listener = UnixListener::bind(path).unwrap();
            drop(scope.spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    drop(handlers.spawn(answer(stream)));
                }
            }));
            at.clone()
        }
    }
}

/// Asks a reversing service.
pub(crate) async fn ask(mut client: impl AsyncRead + AsyncWrite + Unpin, request: &[u8]) -> Vec<u8> {
    client.write_all(request).await.unwrap();
    client.shutdown().await.unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    answer
}

pub(crate) fn reversed(request: &[u8]) -> Vec<u8> {
    request.iter().rev().copied().collect()
}

pub(crate) fn tcp(host: &str, port: u16) -> Endpoint {
    Endpoint::Tcp {
        host: host.to_owned(),
        port,
    }
}

pub(crate) fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// A stand-in for the way through the agent: it dials and listens on this machine, which is the host's.
#[derive(Debug, Default)]
pub(crate) struct StandIn {
    connects: AtomicUsize,
    listens: AtomicUsize,
    /// Says that the agent is away.
    pub(crate) is_away: std::sync::atomic::AtomicBool,
}

impl StandIn {
    pub(crate) fn new(forwards: &Forwards) -> Arc<Self> {
        let this = Arc::new(Self::default());
        forwards.set_agent(Some(Arc::clone(&this) as Arc<dyn Carrier>));
        this
    }

    pub(crate) fn connects(&self) -> usize {
        self.connects.load(Ordering::Relaxed)
    }

    pub(crate) fn listens(&self) -> usize {
        self.listens.load(Ordering::Relaxed)
    }

    fn here(&self) -> Result<(), Refusal> {
        if self.is_away.load(Ordering::Relaxed) {
            return Err(Refusal::new(RefusalKind::Lost, "the agent is away"));
        }
        Ok(())
    }
}

fn unreachable(error: &std::io::Error) -> Refusal {
    let kind = match error.kind() {
        std::io::ErrorKind::AddrInUse => RefusalKind::InUse,
        _ => RefusalKind::Unreachable,
    };
    Refusal::new(kind, error.to_string())
}

impl Carrier for StandIn {
    fn connect(&self, to: Endpoint) -> BoxFuture<'static, Result<Box<dyn Bytes>, Refusal>> {
        self.connects.fetch_add(1, Ordering::Relaxed);
        let here = self.here();
        Box::pin(async move {
            here?;
            let stream: Box<dyn Bytes> = match to {
                Endpoint::Tcp { host, port } => Box::new(
                    TcpStream::connect((host, port))
                        .await
                        .map_err(|error| unreachable(&error))?,
                ),
                Endpoint::Unix(path) => Box::new(
                    UnixStream::connect(path)
                        .await
                        .map_err(|error| unreachable(&error))?,
                ),
            };
            Ok(stream)
        })
    }

    fn listen(&self, at: Endpoint) -> BoxFuture<'static, Result<Box<dyn Incoming>, Refusal>> {
        self.listens.fetch_add(1, Ordering::Relaxed);
        let here = self.here();
        Box::pin(async move {
            here?;
            let incoming: Box<dyn Incoming> = match &at {
                Endpoint::Tcp { host, .. } => {
                    let listener = TcpListener::bind(address(&at))
                        .await
                        .map_err(|error| unreachable(&error))?;
                    let port = listener.local_addr().unwrap().port();
                    Box::new(Listening::Tcp(listener, tcp(host, port)))
                }
                Endpoint::Unix(path) => {
                    let listener = UnixListener::bind(path).map_err(|error| unreachable(&error))?;
                    Box::new(Listening::Unix(listener, at.clone()))
                }
            };
            Ok(incoming)
        })
    }
}

enum Listening {
    Tcp(TcpListener, Endpoint),
    Unix(UnixListener, Endpoint),
}

impl Incoming for Listening {
    fn bound(&self) -> Endpoint {
        match self {
            Self::Tcp(_, at) | Self::Unix(_, at) => at.clone(),
        }
    }

    fn accept(&mut self) -> BoxFuture<'_, Result<(Box<dyn Bytes>, String), Refusal>> {
        Box::pin(async {
            let stream: Box<dyn Bytes> = match self {
                Self::Tcp(listener, _) => Box::new(listener.accept().await.unwrap().0),
                Self::Unix(listener, _) => Box::new(listener.accept().await.unwrap().0),
            };
            Ok((stream, "somebody".to_owned()))
        })
    }
}

/// A service that writes without end; each handler's end gives a permit.
pub(crate) async fn endless_service(scope: &Scope) -> (u16, Arc<Semaphore>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let ended = Arc::new(Semaphore::new(0));
    let (handlers, given) = (scope.clone(), Arc::clone(&ended));
    drop(scope.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let ended = Arc::clone(&given);
            drop(handlers.spawn(async move {
                while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
                drop(stream);
                ended.add_permits(1);
            }));
        }
    }));
    (port, ended)
}

/// Waits until that many handlers have ended.
pub(crate) async fn all_ended(ended: &Semaphore, count: u32) {
    let all = tokio::time::timeout(Duration::from_secs(60), ended.acquire_many(count)).await;
    all.unwrap().unwrap().forget();
}
