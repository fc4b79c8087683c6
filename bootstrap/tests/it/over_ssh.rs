//! The same over real connections: OpenSSH's `sshd` and the embedded server, one session at a time.

use std::{net::SocketAddr, process::Stdio, sync::Arc, time::Duration};

use bootstrap::{Arrival, Deadline, Exec, Remote as _, RemoteError, SshRemote, Status, ensure};
use stdx::task::Scope;
use transport::{
    ConnectOptions, Connection, DenyAll, Endpoint, Identity, Prompter, Resolved, Source, Trust, UnknownKeys,
    testing::{KeyKind, KeyPair, RealSshd, SshdOptions, TestServer, TestServerOptions, login_shell_wrapper},
};

use crate::{
    host::{Host, write_program},
    stand_in::{Log, name, path, program, wanted},
};

/// Either server, kept alive with the connection to it.
enum Server {
    Real { _kept: RealSshd },
    Embedded(TestServer),
}

struct Link {
    host: Host,
    server: Server,
    remote: SshRemote,
    connection: Connection,
    _scope: Scope,
}

impl Link {
    async fn real(shell: &str) -> Self {
        let host = Host::new();
        let wrapper = host.dir.path().join("wrapper");
        write_program(
            &wrapper,
            &login_shell_wrapper(&host.home(), shell, "echo Welcome; echo noise >&2"),
        );
        let key = KeyPair::generate(KeyKind::Ed25519).unwrap();
        let options = SshdOptions {
            authorized_keys: vec![key.public()],
            config: vec!["MaxSessions 1".into(), "AllowTcpForwarding no".into()],
            home: Some(host.home()),
            forced_command: Some(wrapper.display().to_string()),
            ..SshdOptions::default()
        };
        let server = RealSshd::start(options).await.unwrap();
        let (address, known) = (server.address(), server.known_hosts());
        Self::connect(host, Server::Real { _kept: server }, &key, address, &known).await
    }

    async fn embedded() -> Self {
        let host = Host::new();
        let key = KeyPair::generate(KeyKind::Ed25519).unwrap();
        let options = TestServerOptions {
            authorized_keys: vec![key.public()],
            max_sessions: 1,
            ..TestServerOptions::new(host.home())
        };
        let server = TestServer::start(options).await.unwrap();
        let (address, known) = (server.address(), server.known_hosts());
        Self::connect(host, Server::Embedded(server), &key, address, &known).await
    }

    async fn connect(host: Host, server: Server, key: &KeyPair, address: SocketAddr, known: &str) -> Self {
        let at = |name: &str| host.dir.path().join(name);
        key.write(&at("id")).unwrap();
        std::fs::write(at("known_hosts"), known).unwrap();
        let resolved = Resolved {
            alias: "testhost".into(),
            endpoint: Endpoint {
                host_name: address.ip().to_string(),
                port: address.port(),
                user: user(),
            },
            identity: Identity {
                files: vec![at("id")],
                only_files: true,
                agent: None,
            },
            trust: Trust {
                known_hosts: vec![at("known_hosts")],
                key_alias: None,
                unknown_keys: UnknownKeys::Ask,
            },
            proxy: None,
            connect_timeout: None,
            source: Source::OwnParser,
        };
        let scope = Scope::root("test");
        let options = ConnectOptions {
            known_hosts: None,
            ..ConnectOptions::default()
        };
        let prompter: Arc<dyn Prompter> = Arc::new(DenyAll);
        let connection = Connection::connect(&resolved, &options, &prompter, &scope)
            .await
            .unwrap();
        let remote = SshRemote::new(connection.clone());
        Self {
            host,
            server,
            remote,
            connection,
            _scope: scope,
        }
    }
}

fn user() -> String {
    let output = stdx::process::blocking_command("/usr/bin/id")
        .arg("-un")
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

async fn works(link: &Link) {
    let program = program(3_000_000);
    let mut wanted = wanted(&link.host, &program);
    wanted.workspace = Some("~".into());
    let log = Log::default();
    let ready = ensure(&link.remote, &wanted, &log)
        .await
        .unwrap_or_else(|error| panic!("{error} {:?}", error.details()));
    assert_eq!(ready.arrival, Arrival::Installed);
    assert_eq!(std::fs::read(path(&link.host, &program)).unwrap(), program);
    assert_eq!(link.host.files(), [name(&program)]);
    assert_eq!(log.offsets().last(), Some(&3_000_000));
    let again = ensure(&link.remote, &wanted, &log).await.unwrap();
    assert_eq!(
        (again.arrival, again.workspace),
        (Arrival::Launched, ready.workspace)
    );
}

#[tokio::test]
async fn through_sshd_with_other_shells_and_one_session() {
    for shell in ["/bin/bash", "/usr/bin/fish", "/bin/tcsh"] {
        works(&Link::real(shell).await).await;
    }
}

#[tokio::test]
async fn through_the_embedded_server() {
    works(&Link::embedded().await).await;
}

fn run<'a>(command: &'a str, input: &'a [u8], idle: Duration) -> Exec<'a> {
    let deadline = Deadline {
        idle,
        total: Duration::from_secs(60),
    };
    Exec {
        command,
        stdin: Box::new(input),
        keep: 10,
        deadline,
    }
}

#[tokio::test]
async fn a_command_says_how_it_ended() {
    let link = Link::embedded().await;
    let long = Duration::from_secs(60);
    let output = link
        .remote
        .exec(run(
            "head -c 5; echo 1234567890123 >&2; exit 3",
            &[b'x'; 3_000_000],
            long,
        ))
        .await
        .unwrap();
    assert_eq!(
        (output.status, output.stdout.as_slice(), output.stderr.as_slice()),
        (Status::Exited(3), &b"xxxxx"[..], &b"1234567890"[..])
    );
    let output = link.remote.exec(run("kill -9 $$", b"", long)).await.unwrap();
    assert_eq!(output.status, Status::Signaled("KILL".into()));
    // Nothing moves: given up.
    let error = link
        .remote
        .exec(run("exec sleep 600", b"", Duration::from_millis(300)))
        .await
        .unwrap_err();
    assert!(matches!(error, RemoteError::TimedOut(_)), "{error:?}");
}

#[tokio::test]
async fn a_lost_connection_is_told_apart() {
    let link = Link::embedded().await;
    let program = program(20_000);
    let Server::Embedded(server) = &link.server else {
        unreachable!()
    };
    server.drop_connections();
    link.connection.closed().await;
    let error = ensure(&link.remote, &wanted(&link.host, &program), &bootstrap::Silent)
        .await
        .unwrap_err();
    assert!(error.is_connection_lost(), "{error:?}");
    assert_eq!(error.exit_code(), 3);
}
