//! Two-way byte streams to ports, sockets and listeners of the agent's machine.

use std::io::ErrorKind;

use client::{Agent, AgentStream, Error};
use protocol::{ErrorCode, ListenAt, ListenLine, StreamTarget};
use scripted_model::Scenario;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
};

use crate::rig::{DEADLINE, Pipes, Rig};

async fn within<T>(part: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, part).await.unwrap()
}

async fn rig() -> (Rig, Pipes, Agent) {
    let rig = Rig::new(Scenario::default()).await;
    let pipes = Pipes::new(&rig);
    let agent = pipes.agent();
    (rig, pipes, agent)
}

async fn listener() -> (TcpListener, StreamTarget) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let host = "127.0.0.1".to_owned();
    (listener, StreamTarget::Tcp { host, port })
}

/// Opens a stream and accepts it at the other end.
async fn opened(agent: &Agent) -> (AgentStream, TcpStream) {
    let (listener, target) = listener().await;
    let (stream, accepted) =
        within(async { tokio::join!(agent.open_stream(&target), listener.accept()) }).await;
    (stream.unwrap(), accepted.unwrap().0)
}

#[tokio::test]
async fn each_direction_ends_by_itself_and_nothing_is_lost() {
    let (_rig, _pipes, agent) = rig().await;
    let (mut near, mut far) = opened(&agent).await;
    let question = vec![7_u8; 3_000_000];
    let (sent, received) = within(async {
        tokio::join!(
            async {
                near.write_all(&question).await.unwrap();
                near.shutdown().await.unwrap();
                let mut answer = Vec::new();
                near.read_to_end(&mut answer).await.unwrap();
                answer
            },
            async {
                let mut asked = Vec::new();
                far.read_to_end(&mut asked).await.unwrap();
                far.write_all(&asked[..1_500_000]).await.unwrap();
                far.shutdown().await.unwrap();
                asked
            },
        )
    })
    .await;
    assert!(received == question, "{} bytes arrived", received.len());
    assert_eq!(sent.len(), 1_500_000);
}

#[tokio::test]
async fn the_far_side_may_end_first() {
    let (_rig, _pipes, agent) = rig().await;
    let (mut near, mut far) = opened(&agent).await;
    within(async {
        far.write_all(b"bye").await.unwrap();
        far.shutdown().await.unwrap();
        let mut said = Vec::new();
        near.read_to_end(&mut said).await.unwrap();
        assert_eq!(said, b"bye");
        near.write_all(b"still here").await.unwrap();
        near.shutdown().await.unwrap();
        let mut heard = Vec::new();
        far.read_to_end(&mut heard).await.unwrap();
        assert_eq!(heard, b"still here");
    })
    .await;
}

#[tokio::test]
async fn what_breaks_on_one_side_breaks_on_the_other() {
    let (_rig, _pipes, agent) = rig().await;
    let (mut near, far) = opened(&agent).await;
    far.set_zero_linger().unwrap();
    drop(far);
    let broken = within(near.read_u8()).await.unwrap_err();
    assert_eq!(broken.kind(), ErrorKind::ConnectionReset, "{broken}");

    let (mut near, mut far) = opened(&agent).await;
    within(near.write_all(b"half")).await.unwrap();
    drop(near);
    let mut rest = Vec::new();
    let broken = within(far.read_to_end(&mut rest)).await.unwrap_err();
    assert_eq!(broken.kind(), ErrorKind::ConnectionReset, "{broken}");
}

#[tokio::test]
async fn a_cut_connection_is_no_end_of_file() {
    let (_rig, pipes, agent) = rig().await;
    let (mut near, mut far) = opened(&agent).await;
    pipes.cut();
    assert!(
        within(near.read_u8())
            .await
            .is_err_and(|error| error.kind() != ErrorKind::UnexpectedEof)
    );
    let mut rest = Vec::new();
    assert!(within(far.read_to_end(&mut rest)).await.is_err());
    // The next one goes over a new connection.
    opened(&agent).await;
}

#[tokio::test]
async fn what_cannot_be_reached_is_named() {
    let (_rig, _pipes, agent) = rig().await;
    let (listener, target) = listener().await;
    drop(listener);
    let refused = |result: Result<AgentStream, Error>, words: &str| match result {
        Err(Error::Agent(body)) => {
            assert_eq!(body.code, ErrorCode::Unreachable, "{body:?}");
            assert!(body.message.contains(words), "{body:?}");
        }
        other => panic!("{other:?}"),
    };
    refused(agent.open_stream(&target).await, "refused");
    let path = "/no/such/socket".to_owned();
    refused(
        agent.open_stream(&StreamTarget::Unix { path }).await,
        "/no/such/socket",
    );
    let gone = StreamTarget::Accepted {
        listener: 1,
        connection: 1,
    };
    let gone = agent.open_stream(&gone).await;
    assert!(matches!(gone, Err(Error::Agent(body)) if body.code == ErrorCode::NotFound));
}

#[tokio::test]
async fn sockets_are_reached_and_listened_on() {
    let (rig, _pipes, agent) = rig().await;
    let path = rig.dir.path().join("far.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let target = StreamTarget::Unix {
        path: path.display().to_string(),
    };
    let (near, far) = within(async { tokio::join!(agent.open_stream(&target), listener.accept()) }).await;
    talk(near.unwrap(), far.unwrap().0).await;

    let path = rig.dir.path().join("listens.sock").display().to_string();
    let at = ListenAt::Unix { path: path.clone() };
    let (mut lines, number) = listening(&agent, at).await;
    let far = UnixStream::connect(&path).await.unwrap();
    talk(accepted(&agent, &mut lines, number).await, far).await;
    drop(lines);
    // The socket goes with the listener.
    within(async {
        while std::fs::exists(&path).unwrap() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn listeners_tell_of_each_connection() {
    let (_rig, _pipes, agent) = rig().await;
    for host in ["127.0.0.1", "::1", "localhost", "*"] {
        let at = ListenAt::Tcp {
            host: host.to_owned(),
            port: 0,
        };
        let (mut lines, number) = listening(&agent, at).await;
        let port = lines.1;
        let reach = if host == "::1" { "::1" } else { "127.0.0.1" };
        let far = TcpStream::connect((reach, port)).await.unwrap();
        talk(accepted(&agent, &mut lines, number).await, far).await;
        drop(lines);
        within(async { while TcpStream::connect((reach, port)).await.is_ok() {} }).await;
    }
}

type Lines = (BufReader<AgentStream>, u16);

async fn line(reader: &mut BufReader<AgentStream>) -> ListenLine {
    let mut text = String::new();
    within(reader.read_line(&mut text)).await.unwrap();
    serde_json::from_str(&text).unwrap()
}

async fn listening(agent: &Agent, at: ListenAt) -> (Lines, u64) {
    let target = StreamTarget::Listen { at };
    let mut reader = BufReader::new(within(agent.open_stream(&target)).await.unwrap());
    let ListenLine::Listening { listener, at } = line(&mut reader).await else {
        panic!("the first line");
    };
    let port = match at {
        ListenAt::Tcp { port, .. } => port,
        ListenAt::Unix { .. } => 0,
    };
    ((reader, port), listener)
}

async fn accepted(agent: &Agent, lines: &mut Lines, listener: u64) -> AgentStream {
    let ListenLine::Accepted { connection, .. } = line(&mut lines.0).await else {
        panic!("a connection");
    };
    let target = StreamTarget::Accepted { listener, connection };
    within(agent.open_stream(&target)).await.unwrap()
}

async fn talk<A, B>(mut near: A, mut far: B)
where
    A: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    B: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    within(async {
        near.write_all(b"there").await.unwrap();
        near.shutdown().await.unwrap();
        let mut heard = String::new();
        far.read_to_string(&mut heard).await.unwrap();
        far.write_all(b"and back").await.unwrap();
        far.shutdown().await.unwrap();
        let mut answer = String::new();
        near.read_to_string(&mut answer).await.unwrap();
        assert_eq!((heard.as_str(), answer.as_str()), ("there", "and back"));
    })
    .await;
}

#[tokio::test]
async fn readers_that_stand_still_hold_up_nobody() {
    let (_rig, _pipes, agent) = rig().await;
    let mut held = Vec::new();
    for _ in 0..64 {
        let (near, mut far) = opened(&agent).await;
        // Written until nobody takes any more.
        let task = tokio::task::JoinSet::from_iter([async move {
            let piece = vec![0_u8; 64 * 1024];
            while far.write_all(&piece).await.is_ok() {}
        }]);
        held.push((near, task));
    }
    within(agent.sessions()).await.unwrap();
    let (near, far) = opened(&agent).await;
    talk(near, far).await;
}

#[tokio::test]
async fn a_port_that_is_taken_is_told_apart() {
    let (_rig, _pipes, agent) = rig().await;
    let (listener, _) = listener().await;
    let at = ListenAt::Tcp {
        host: "127.0.0.1".to_owned(),
        port: listener.local_addr().unwrap().port(),
    };
    let taken = agent.open_stream(&StreamTarget::Listen { at }).await;
    assert!(
        matches!(&taken, Err(Error::Agent(body)) if body.code == ErrorCode::Conflict && body.hint.is_some()),
        "{taken:?}"
    );
}

#[tokio::test]
async fn a_listener_on_a_socket_is_for_its_user() {
    use std::os::unix::fs::PermissionsExt as _;
    // Only root can be somebody else.
    if !rustix::process::getuid().is_root() {
        return;
    }
    let (_rig, _pipes, agent) = rig().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let at = ListenAt::Unix {
        path: path.display().to_string(),
    };
    let lines = within(agent.open_stream(&StreamTarget::Listen { at }))
        .await
        .unwrap();
    let mut lines = BufReader::new(lines).lines();
    within(lines.next_line()).await.unwrap().unwrap();
    // As though the mode were no hindrance.
    for (path, mode) in [(folder.path(), 0o755), (&path, 0o666)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let script = format!(
        "use IO::Socket::UNIX; $> = 65534; my $s = IO::Socket::UNIX->new(Peer => '{}') or die; print defined(<$s>) ? 'heard' : 'refused'",
        path.display()
    );
    let mut other = stdx::process::command("/usr/bin/perl");
    let other = within(other.arg("-e").arg(script).output()).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&other.stdout), "refused", "{other:?}");
    // Nothing was told of it.
    let _near = within(UnixStream::connect(&path)).await.unwrap();
    let line = within(lines.next_line()).await.unwrap().unwrap();
    assert!(line.contains("user 0"), "{line}");
}
