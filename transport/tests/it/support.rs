//! Hosts to connect to, and a prompter with prepared answers.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use stdx::{Secret, task::Scope};
use transport::{
    Answer, ConnectOptions, Connection, DenyAll, Endpoint, Error, HostKeyAnswer, HostKeyQuestion, Identity,
    Prompter, Resolved, SecretQuestion, Source, Trust, UnknownKeys,
    testing::{KeyKind, KeyPair, RealSshd, SshdOptions, TestServer, TestServerOptions},
};

/// A client: a folder with a key and a known-hosts file of the user, and one of ours.
pub(crate) struct Client {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) options: ConnectOptions,
    pub(crate) scope: Scope,
    pub(crate) key: KeyPair,
}

impl Client {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate(KeyKind::Ed25519).unwrap();
        key.write(&folder.path().join("id")).unwrap();
        let options = ConnectOptions {
            known_hosts: Some(folder.path().join("own_known_hosts")),
            ..ConnectOptions::default()
        };
        Self {
            folder,
            options,
            scope: Scope::root("test"),
            key,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the user's known-hosts file.
    pub(crate) fn trust(&self, lines: &str) {
        std::fs::write(self.path("known_hosts"), lines).unwrap();
    }

    /// What resolving would give for a server on loopback.
    pub(crate) fn resolved(&self, address: SocketAddr) -> Resolved {
        Resolved {
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
        }
    }

    pub(crate) async fn connect(&self, resolved: &Resolved) -> Result<Connection, Error> {
        self.connect_with(resolved, DenyAll).await
    }

    pub(crate) async fn connect_with(
        &self,
        resolved: &Resolved,
        prompter: impl Prompter + 'static,
    ) -> Result<Connection, Error> {
        let prompter: Arc<dyn Prompter> = Arc::new(prompter);
        let connect = Connection::connect(resolved, &self.options, &prompter, &self.scope);
        tokio::time::timeout(Duration::from_secs(60), connect)
            .await
            .unwrap()
    }
}

pub(crate) fn current_user() -> String {
    let output = stdx::process::blocking_command("/usr/bin/id")
        .arg("-un")
        .stdout(std::process::Stdio::piped())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A server of either kind, its lines for known hosts, and a client that may log in.
pub(crate) enum Server {
    Real(RealSshd),
    Embedded(TestServer),
}

impl Server {
    pub(crate) fn address(&self) -> SocketAddr {
        match self {
            Self::Real(server) => server.address(),
            Self::Embedded(server) => server.address(),
        }
    }

    pub(crate) fn known_hosts(&self) -> String {
        match self {
            Self::Real(server) => server.known_hosts(),
            Self::Embedded(server) => server.known_hosts(),
        }
    }
}

pub(crate) fn sshd_options(client: &Client) -> SshdOptions {
    SshdOptions {
        authorized_keys: vec![client.key.public()],
        home: Some(client.folder.path().to_owned()),
        ..SshdOptions::default()
    }
}

pub(crate) fn server_options(client: &Client) -> TestServerOptions {
    TestServerOptions {
        authorized_keys: vec![client.key.public()],
        ..TestServerOptions::new(client.folder.path())
    }
}

/// Both kinds, each with a client that trusts and may log in.
pub(crate) async fn both_servers() -> Vec<(Server, Client)> {
    let client = Client::new();
    let real = Server::Real(RealSshd::start(sshd_options(&client)).await.unwrap());
    client.trust(&real.known_hosts());
    let other = Client::new();
    let embedded = Server::Embedded(TestServer::start(server_options(&other)).await.unwrap());
    other.trust(&embedded.known_hosts());
    vec![(real, client), (embedded, other)]
}

/// Answers from lists and remembers what was asked.
#[derive(Clone, Default)]
pub(crate) struct Scripted(Arc<Mutex<Script>>);

#[derive(Default)]
struct Script {
    secrets: Vec<String>,
    host_key: Option<HostKeyAnswer>,
    asked: Vec<SecretQuestion>,
    keys: Vec<HostKeyQuestion>,
    notices: Vec<String>,
}

impl Scripted {
    /// Gives these secrets, one after the other, then none.
    pub(crate) fn secrets(secrets: &[&str]) -> Self {
        let scripted = Self::default();
        scripted.0.lock().unwrap().secrets = secrets.iter().rev().map(|&text| text.to_owned()).collect();
        scripted
    }

    pub(crate) fn host_key_answer(answer: HostKeyAnswer) -> Self {
        let scripted = Self::default();
        scripted.0.lock().unwrap().host_key = Some(answer);
        scripted
    }

    /// Answers questions about host keys from now on.
    pub(crate) fn accept(&self, answer: HostKeyAnswer) {
        self.0.lock().unwrap().host_key = Some(answer);
    }

    pub(crate) fn asked(&self) -> Vec<SecretQuestion> {
        self.0.lock().unwrap().asked.clone()
    }

    pub(crate) fn host_keys(&self) -> Vec<HostKeyQuestion> {
        self.0.lock().unwrap().keys.clone()
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        self.0.lock().unwrap().notices.clone()
    }
}

impl Prompter for Scripted {
    fn host_key<'a>(&'a self, question: &'a HostKeyQuestion) -> Answer<'a, HostKeyAnswer> {
        let mut script = self.0.lock().unwrap();
        script.keys.push(question.clone());
        Box::pin(std::future::ready(
            script.host_key.unwrap_or(HostKeyAnswer::Refuse),
        ))
    }

    fn secret<'a>(&'a self, question: &'a SecretQuestion) -> Answer<'a, Option<Secret>> {
        let mut script = self.0.lock().unwrap();
        script.asked.push(question.clone());
        Box::pin(std::future::ready(script.secrets.pop().map(Secret::new)))
    }

    fn notice(&self, text: &str) {
        self.0.lock().unwrap().notices.push(text.to_owned());
    }
}

/// Runs a program to its end and gives its status and standard output.
pub(crate) async fn run(program: &str, args: &[&str], folder: &Path) -> (bool, String) {
    let mut command = stdx::process::command(program);
    command
        .args(args)
        .current_dir(folder)
        .env("PATH", "/usr/bin:/bin")
        .stdout(std::process::Stdio::piped());
    let output = command.output().await.unwrap();
    (
        output.status.success(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}
