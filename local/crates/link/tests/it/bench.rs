//! A laptop, a bad network and a host.

use std::{
    fs,
    net::SocketAddr,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use bootstrap::{ArtifactSource, Install, Target};
use link::{
    Host, InstallOptions, Link, LinkOptions, LinkState, NetworkWatch, Patience, Prompter, Ready, Timings,
};
use stdx::task::Scope;
use transport::{
    ConnectOptions, DenyAll, Endpoint, Identity, Resolved, Source, Trust, UnknownKeys,
    testing::{
        FaultProxy, KeyKind, KeyPair, RealSshd, SshdOptions, TestServer, TestServerOptions,
        login_shell_wrapper,
    },
};

use crate::daemon::{Daemon, VERSION, lines};

/// A generous bound for everything that is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Everything of one test. The folder is laptop and host at once.
pub(crate) struct Bench {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) scope: Scope,
    pub(crate) daemon: Daemon,
    pub(crate) proxy: FaultProxy,
    pub(crate) server: Server,
    pub(crate) timings: Timings,
    pub(crate) network: NetworkWatch,
    pub(crate) prompter: Arc<dyn Prompter>,
}

pub(crate) enum Server {
    Embedded(TestServer),
    Real(RealSshd),
}

impl Server {
    fn address(&self) -> SocketAddr {
        match self {
            Self::Embedded(server) => server.address(),
            Self::Real(server) => server.address(),
        }
    }

    fn known_hosts(&self) -> String {
        match self {
            Self::Embedded(server) => server.known_hosts(),
            Self::Real(server) => server.known_hosts(),
        }
    }

    /// How many logins were tried.
    pub(crate) fn logins(&self) -> usize {
        match self {
            Self::Embedded(server) => server.attempts().len(),
            Self::Real(server) => server.log().matches("Accepted publickey").count(),
        }
    }
}

/// What a client needs before its server is there.
struct Ground {
    folder: tempfile::TempDir,
    key: KeyPair,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("link-").tempdir().unwrap();
        let key = KeyPair::generate(KeyKind::Ed25519).unwrap();
        key.write(&folder.path().join("id")).unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder, key }
    }

    /// Counts the commands that are run.
    fn note(&self) -> String {
        format!("echo x >>'{}/execs'", self.folder.path().display())
    }

    async fn build(self, server: Server) -> Bench {
        let daemon = Daemon::new(self.folder.path());
        fs::write(self.folder.path().join("own"), daemon.program()).unwrap();
        let bench = Bench {
            proxy: FaultProxy::start(server.address()).await.unwrap(),
            scope: Scope::root("test"),
            daemon,
            server,
            timings: Timings::default(),
            // Tests tell themselves; what else happens on this machine is none of their business.
            network: NetworkWatch::Off,
            prompter: Arc::new(DenyAll),
            folder: self.folder,
        };
        bench.trust();
        bench
    }
}

impl Bench {
    /// With the embedded server.
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut TestServerOptions)) -> Self {
        let ground = Ground::new();
        let shell = ground.folder.path().join("login-shell");
        fs::write(
            &shell,
            format!("#!/bin/sh\n{}\nexec /bin/sh \"$@\"\n", ground.note()),
        )
        .unwrap();
        fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).unwrap();
        let mut options = TestServerOptions {
            authorized_keys: vec![ground.key.public()],
            shell,
            ..TestServerOptions::new(ground.folder.path().join("home"))
        };
        change(&mut options);
        let server = TestServer::start(options).await.unwrap();
        ground.build(Server::Embedded(server)).await
    }

    /// With an own instance of OpenSSH's sshd.
    pub(crate) async fn real(config: &[&str]) -> Self {
        let ground = Ground::new();
        let home = ground.folder.path().join("home");
        let options = SshdOptions {
            authorized_keys: vec![ground.key.public()],
            config: config.iter().map(|&line| line.to_owned()).collect(),
            forced_command: Some(login_shell_wrapper(&home, "/bin/sh", &ground.note())),
            home: Some(home),
            ..SshdOptions::default()
        };
        let server = RealSshd::start(options).await.unwrap();
        ground.build(Server::Real(server)).await
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Lists the host's key.
    pub(crate) fn trust(&self) {
        let line = self.server.known_hosts();
        self.trust_key(line.split_once(' ').unwrap().1);
    }

    pub(crate) fn trust_key(&self, key: &str) {
        let port = self.proxy.address().port();
        fs::write(self.path("known_hosts"), format!("[127.0.0.1]:{port} {key}\n")).unwrap();
    }

    /// How many commands were run on the host.
    pub(crate) fn execs(&self) -> usize {
        lines(&self.path("execs"))
    }

    pub(crate) fn options(&self) -> LinkOptions {
        let address = self.proxy.address();
        let resolved = Resolved {
            alias: "testhost".into(),
            endpoint: Endpoint {
                host_name: address.ip().to_string(),
                port: address.port(),
                user: current_user(),
            },
            identity: Identity {
                files: vec![self.path("id")],
                certificates: Vec::new(),
                only_files: true,
                agent: None,
            },
            trust: Trust {
                known_hosts: vec![self.path("known_hosts")],
                key_alias: None,
                unknown_keys: UnknownKeys::Ask,
                revoked: Vec::new(),
                learn_announced: None,
            },
            proxy: None,
            network: transport::Network::default(),
            methods: transport::Methods::default(),
            set_env: Vec::new(),
            source: Source::OwnParser,
        };
        LinkOptions {
            host: Host::Resolved(resolved),
            install: InstallOptions {
                install: Install::Auto,
                source: ArtifactSource {
                    own_executable: self.path("own"),
                    own_target: Target::own(),
                    dist: Vec::new(),
                    version: VERSION.into(),
                },
                home: None,
                workspace: None,
            },
            ssh: ConnectOptions::default(),
            prompter: Arc::clone(&self.prompter),
            timings: self.timings,
            state_dir: Some(self.path("state")),
            network: self.network,
            broker: None,
        }
    }

    pub(crate) fn open(&self) -> Link {
        Link::open(self.options(), &self.scope)
    }

    /// Opens a link and waits until it is live.
    pub(crate) async fn live(&self) -> (Link, Ready) {
        let link = self.open();
        let ready = live(&link).await;
        (link, ready)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.scope.cancel();
    }
}

pub(crate) async fn live(link: &Link) -> Ready {
    match link.wait_live(Patience::For(PATIENCE)).await {
        Ok(ready) => ready,
        Err(error) => panic!("{error}; {:?}; {:?}", error.details(), error.kind()),
    }
}

/// Waits for a state.
pub(crate) async fn state(link: &Link, what: &str, wanted: impl FnMut(&LinkState) -> bool) -> LinkState {
    let mut states = link.states();
    let waiting = tokio::time::timeout(PATIENCE, states.wait_for(wanted)).await;
    let found = waiting.map(|state| state.unwrap().clone());
    found.unwrap_or_else(|_| panic!("no {what}, but {:?}", link.states().borrow().clone()))
}

/// Writes every state down that is seen.
pub(crate) fn record(link: &Link, scope: &Scope) -> Arc<Mutex<Vec<LinkState>>> {
    let (seen, mut states) = (Arc::<Mutex<Vec<LinkState>>>::default(), link.states());
    let (book, token) = (Arc::clone(&seen), scope.token().clone());
    scope.spawn(async move {
        loop {
            tokio::select! {
                biased;
                () = token.cancelled() => return,
                changed = states.changed() => if changed.is_err() { return },
            }
            book.lock().unwrap().push(states.borrow_and_update().clone());
        }
    });
    seen
}

fn current_user() -> String {
    let output = stdx::process::blocking_command("/usr/bin/id")
        .arg("-un")
        .stdout(std::process::Stdio::piped())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
