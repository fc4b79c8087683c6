//! The same over real connections: OpenSSH's `sshd` and the embedded server, one session at a time.

use std::{net::SocketAddr, process::Stdio, sync::Arc, time::Duration};

use bootstrap::{
    Arrival, Deadline, ErrorKind, Exec, Put, Remote as _, RemoteError, SshRemote, Status, ensure,
};
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
        Self::sshd(shell, "echo Welcome; echo noise >&2", &[]).await
    }

    /// Starts sshd with more lines of configuration; `startup` runs before each command.
    async fn sshd(shell: &str, startup: &str, config: &[&str]) -> Self {
        let host = Host::new();
        let wrapper = host.dir.path().join("wrapper");
        write_program(&wrapper, &login_shell_wrapper(&host.home(), shell, startup));
        let key = KeyPair::generate(KeyKind::Ed25519).unwrap();
        let lines = ["MaxSessions 1", "AllowTcpForwarding no"];
        let options = SshdOptions {
            authorized_keys: vec![key.public()],
            config: config.iter().chain(&lines).map(ToString::to_string).collect(),
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
                certificates: Vec::new(),
                only_files: true,
                agent: None,
            },
            trust: Trust {
                known_hosts: vec![at("known_hosts")],
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

/// Takes the input of everything but sftp away.
const NO_INPUT: &str = "case $SSH_ORIGINAL_COMMAND in */sftp-server*) ;; *) exec </dev/null ;; esac";

#[tokio::test]
async fn over_sftp_where_commands_get_no_input() {
    for shell in ["/bin/sh", "/usr/bin/fish", "/bin/tcsh"] {
        works(&Link::sshd(shell, NO_INPUT, &[]).await).await;
    }
}

#[tokio::test]
async fn over_sftp_from_where_an_earlier_upload_was_cut() {
    let link = Link::sshd("/bin/sh", NO_INPUT, &[]).await;
    let program = program(3_000_000);
    let wanted = wanted(&link.host, &program);
    let sum = name(&program).rsplit('-').next().unwrap().to_owned();
    std::fs::create_dir_all(link.host.programs()).unwrap();
    let part = link.host.programs().join(format!(".part-{sum}-abc"));
    std::fs::write(&part, &program[..2_000_000]).unwrap();
    let log = Log::default();
    ensure(&link.remote, &wanted, &log).await.unwrap();
    assert_eq!(log.offsets()[0], 2_000_000 / 65_536 * 65_536);
    assert_eq!(std::fs::read(path(&link.host, &program)).unwrap(), program);
    assert_eq!(link.host.files(), [name(&program)]);
}

/// Ends the upload, by dropping it, once half of the program was handed over.
struct Half(tokio::sync::Notify);

impl bootstrap::Progress for Half {
    fn update(&self, update: bootstrap::Update) {
        if let bootstrap::Update::Uploaded { done, total } = update
            && done * 2 > total
        {
            self.0.notify_one();
        }
    }
}

#[tokio::test]
async fn an_upload_that_is_called_off_leaves_a_part_to_go_on_with() {
    for (label, startup) in [("stream", ""), ("sftp", NO_INPUT)] {
        let link = Link::sshd("/bin/sh", startup, &[]).await;
        let program = program(8_000_000);
        let wanted = wanted(&link.host, &program);
        let half = Half(tokio::sync::Notify::new());
        tokio::select! {
            biased;
            () = half.0.notified() => {}
            ready = ensure(&link.remote, &wanted, &half) => panic!("{label}: {ready:?}"),
        }
        assert!(!path(&link.host, &program).exists(), "{label}");
        let log = Log::default();
        ensure(&link.remote, &wanted, &log).await.unwrap();
        assert!(log.offsets()[0] > 0, "{label}: {:?}", log.offsets().first());
        assert_eq!(
            std::fs::read(path(&link.host, &program)).unwrap(),
            program,
            "{label}"
        );
        assert_eq!(link.host.files(), [name(&program)], "{label}");
    }
}

#[tokio::test]
async fn an_account_for_sftp_alone_is_told_so() {
    let link = Link::sshd("/bin/sh", "", &["ForceCommand internal-sftp"]).await;
    let wanted = wanted(&link.host, &program(20_000));
    let error = ensure(&link.remote, &wanted, &bootstrap::Silent)
        .await
        .unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Remote(RemoteError::FilesOnly)),
        "{error:?} {:?}",
        error.details()
    );
    assert_eq!(error.exit_code(), 5);
    for word in ["sftp", "not run commands"] {
        assert!(error.to_string().contains(word), "{error}");
    }
    assert!(error.hint().unwrap().contains("ForceCommand"));
}

#[tokio::test]
async fn a_host_without_input_and_sftp_is_told_so() {
    let neither = "case $SSH_ORIGINAL_COMMAND in */sftp-server*) exit 1 ;; *) exec </dev/null ;; esac";
    let link = Link::sshd("/bin/sh", neither, &[]).await;
    let wanted = wanted(&link.host, &program(20_000));
    let error = ensure(&link.remote, &wanted, &bootstrap::Silent)
        .await
        .unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Remote(RemoteError::NoFiles)),
        "{error:?} {:?}",
        error.details()
    );
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

/// A start-up file in a loop: nobody waits until the time is over, and nothing is asked once more.
#[tokio::test]
async fn a_host_that_prints_without_end_is_told_so() {
    let link = Link::sshd("/bin/sh", "/usr/bin/yes", &[]).await;
    let wanted = wanted(&link.host, &program(20_000));
    let error = ensure(&link.remote, &wanted, &bootstrap::Silent)
        .await
        .unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Remote(RemoteError::Flooded { .. })),
        "{error:?}"
    );
    let words = "probe on testhost: the host printed more than 16 MiB before the first answer";
    assert_eq!(error.to_string(), words);
    assert!(error.hint().unwrap().contains("without end"));
    // The one session that is allowed is free again, and what else runs on the connection goes on.
    assert!(!link.connection.is_closed());
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
        (Status::Exited(3), &b"xxxxx"[..], &b"123450123\n"[..])
    );
    let output = link.remote.exec(run("kill -9 $$", b"", long)).await.unwrap();
    assert_eq!(output.status, Status::Signaled("KILL".into()));
    // Nothing moves: given up.
    let error = link
        .remote
        .exec(run(
            "echo going >&2; exec sleep 600",
            b"",
            Duration::from_millis(300),
        ))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, RemoteError::TimedOut { stderr, .. } if stderr == b"going\n"),
        "{error:?}"
    );
}

/// A disk that hangs below the SFTP server: it takes the beginning of a file and then answers no more.
#[tokio::test]
async fn a_file_that_no_more_is_written_of_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let server = folder.path().join("sftp");
    write_program(
        &server,
        "#!/bin/sh\n{ dd bs=1 count=400 2>/dev/null; exec cat >/dev/null; } | /usr/lib/openssh/sftp-server\n",
    );
    let wrapper = "case $SSH_ORIGINAL_COMMAND in *sftp) exec \"$SSH_ORIGINAL_COMMAND\" ;; esac";
    let line = format!("Subsystem sftp {}", server.display());
    let link = Link::sshd("/bin/sh", wrapper, &[&line]).await;
    let content = program(300_000);
    let file = link.host.home().join("file");
    let put = Put {
        path: file.to_str().unwrap(),
        claim: None,
        offset: 0,
        content: Box::new(content.as_slice()),
        deadline: Deadline {
            idle: Duration::from_secs(2),
            total: Duration::from_secs(60),
        },
    };
    let error = link.remote.put(put).await.unwrap_err();
    assert!(
        matches!(&error, RemoteError::TimedOut { limit, .. } if *limit == Duration::from_secs(2)),
        "{error:?}"
    );
    assert!(file.exists(), "it was begun");
    // The one session that is allowed is free again.
    let long = Duration::from_secs(60);
    let output = link.remote.exec(run("echo on", b"", long)).await.unwrap();
    assert_eq!(output.stdout, b"on\n");
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
