//! Everything on the way that may never answer: files, the key agent, a name server, a jump host's far side, channels.
//! Each ends with its deadline, and says what was waited for.

use std::{
    fs::OpenOptions,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::net::{TcpSocket, TcpStream, UnixListener};
use transport::{Error, ErrorKind, Proxy, Stage, testing::FaultProxy};

use crate::support::{Client, both_servers};

const SHORT: Duration = Duration::from_millis(300);

/// A file whose reader waits, as one of a network file system without its server.
struct HungFile(PathBuf);

impl HungFile {
    fn at(path: PathBuf) -> Self {
        let mut command = stdx::process::blocking_command("/usr/bin/mkfifo");
        assert!(command.arg(&path).status().unwrap().success());
        Self(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for HungFile {
    /// Whoever waits for it gets an empty file, or the runtime would wait for them at its end.
    fn drop(&mut self) {
        drop(OpenOptions::new().read(true).write(true).open(&self.0).unwrap());
    }
}

/// An error with its causes, as front ends print it.
fn said(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

#[tokio::test]
async fn files_that_never_end_are_named() {
    let (server, mut client) = both_servers().await.swap_remove(1);
    client.options.deadlines.files = SHORT;
    let hung = HungFile::at(client.path("on a hung disk"));
    let name = hung.path().display().to_string();

    let mut known = client.resolved(server.address());
    known.trust.known_hosts.push(hung.path().to_owned());
    let mut revoked = client.resolved(server.address());
    revoked.trust.revoked.push(hung.path().to_owned());
    for resolved in [known, revoked] {
        let error = client.connect(&resolved).await.unwrap_err();
        assert_eq!((error.kind(), error.stage()), (ErrorKind::Config, Stage::Config));
        let text = said(&error);
        for word in ["testhost", &name, "no regular file"] {
            assert!(text.contains(word), "{word} in {text}");
        }
        assert!(error.hint().is_some(), "{text}");
    }

    let mut key = client.resolved(server.address());
    key.identity.files = vec![hung.path().to_owned()];
    let error = client.connect(&key).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AuthRefused, "{error}");
    // What is no ordinary file is not even opened.
    let words = format!("{name} (it could not be read: no ordinary file");
    assert!(error.to_string().contains(&words), "{error}");
}

#[tokio::test]
async fn an_agent_that_does_not_answer_is_left_for_the_key_files() {
    let (server, mut client) = both_servers().await.swap_remove(1);
    // The host's answers have the same limit, and its machine may be busy.
    client.options.deadlines.login_step = Duration::from_secs(3);
    let socket = client.path("agent.sock");
    let _mute = UnixListener::bind(&socket).unwrap();
    let mut resolved = client.resolved(server.address());
    resolved.identity.agent = Some(socket.clone());
    let connection = client.connect(&resolved).await.unwrap();
    assert_eq!(connection.login().methods, ["publickey"]);

    resolved.identity.files.clear();
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AuthRefused, "{error}");
    let words = format!("agent {} (it does not answer)", socket.display());
    assert!(error.to_string().contains(&words), "{words} in {error}");
}

#[tokio::test]
async fn a_name_server_that_does_not_answer_is_given_up() {
    let mut client = Client::new();
    client.trust("");
    client.options.deadlines.lookup = Duration::ZERO;
    let mut resolved = client.resolved("127.0.0.1:22".parse().unwrap());
    resolved.endpoint.host_name = "box.example.net".to_owned();
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    for word in ["testhost", "box.example.net", "no answer within 0.0 s"] {
        assert!(error.to_string().contains(word), "{word} in {error}");
    }
    assert!(error.hint().is_some(), "{error}");
}

#[tokio::test]
async fn what_a_jump_host_waits_for_is_given_up() {
    for (server, mut client) in both_servers().await {
        client.options.deadlines.channel = SHORT;
        // A full queue of connections makes the kernel drop packets, as a firewall does.
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let dropping = listener.local_addr().unwrap();
        let mut filling = Vec::new();
        while let Ok(stream) = tokio::time::timeout(SHORT, TcpStream::connect(dropping)).await {
            filling.push(stream.unwrap());
        }
        let mut resolved = client.resolved(dropping);
        let mut hop = client.resolved(server.address());
        hop.alias = "bastion".to_owned();
        resolved.proxy = Some(Proxy::Jump(Box::new(hop)));
        let error = client.connect(&resolved).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
        for word in ["testhost", "bastion", "within 0.3 s"] {
            assert!(said(&error).contains(word), "{word} in {}", said(&error));
        }
    }
}

#[tokio::test]
async fn a_channel_that_is_never_opened_is_given_up() {
    for (server, mut client) in both_servers().await {
        let proxy = FaultProxy::start(server.address()).await.unwrap();
        let key = server.known_hosts().split_once(' ').unwrap().1.to_owned();
        client.trust(&format!("[127.0.0.1]:{} {key}", proxy.address().port()));
        client.options.deadlines.channel = SHORT;
        let connection = client.connect(&client.resolved(proxy.address())).await.unwrap();
        proxy.black_hole(true);
        let failures = [
            connection.exec("true").await.err(),
            connection.open_tcp("127.0.0.1", 9).await.err(),
            connection.open_streamlocal("/nowhere").await.err(),
            connection.sftp_stream().await.err(),
        ];
        for error in failures {
            let error = error.unwrap();
            assert_eq!(
                (error.kind(), error.stage()),
                (ErrorKind::Unreachable, Stage::Channel)
            );
            for word in ["testhost", "did not open", "within 0.3 s"] {
                assert!(error.to_string().contains(word), "{word} in {error}");
            }
        }
    }
}
