//! Each fault as both ends of a TCP connection see it.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

/// Long enough for a loaded machine.
const DEADLINE: Duration = Duration::from_secs(20);
/// Longer than a byte takes that is not held back.
const SILENCE: Duration = Duration::from_millis(200);

struct Rig {
    proxy: FaultProxy,
    listener: TcpListener,
}

impl Rig {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = FaultProxy::start(listener.local_addr().unwrap()).await.unwrap();
        Self { proxy, listener }
    }

    /// Gives both ends of a connection, over which a byte has passed.
    async fn connect(&self) -> (TcpStream, TcpStream) {
        let mut client = TcpStream::connect(self.proxy.address()).await.unwrap();
        let (mut server, _) = self.listener.accept().await.unwrap();
        assert!(passes(&mut client, &mut server).await && passes(&mut server, &mut client).await);
        (client, server)
    }

    async fn inject(fault: Fault) -> (Self, TcpStream, TcpStream) {
        let rig = Self::new().await;
        let (client, server) = rig.connect().await;
        rig.proxy.inject(fault);
        (rig, client, server)
    }
}

/// Reads one byte; `None` when none came.
async fn read(stream: &mut TcpStream) -> Option<io::Result<usize>> {
    tokio::time::timeout(SILENCE, stream.read(&mut [0])).await.ok()
}

/// Reads what has to come.
async fn end(stream: &mut TcpStream) -> io::Result<usize> {
    tokio::time::timeout(DEADLINE, stream.read(&mut [0]))
        .await
        .unwrap()
}

async fn passes(from: &mut TcpStream, to: &mut TcpStream) -> bool {
    from.write_all(b"x").await.unwrap();
    matches!(read(to).await, Some(Ok(1)))
}

#[tokio::test]
async fn a_cut_is_an_end_and_a_reset_is_an_abort() {
    let (rig, mut client, mut server) = Rig::inject(Fault::Cut).await;
    assert_eq!(end(&mut client).await.unwrap(), 0);
    assert_eq!(end(&mut server).await.unwrap(), 0);
    let (mut client, mut server) = rig.connect().await;
    rig.proxy.inject(Fault::Reset);
    for end_of in [&mut client, &mut server] {
        let error = end(end_of).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }
    rig.connect().await;
    rig.proxy.close().await;
}

#[tokio::test]
async fn of_a_half_open_connection_one_side_learns_nothing() {
    let (rig, mut client, mut server) = Rig::inject(Fault::HalfOpen { gone: Side::Server }).await;
    assert_eq!(end(&mut server).await.unwrap(), 0);
    assert!(read(&mut client).await.is_none(), "it learns nothing");
    rig.proxy.restore();
    client.write_all(b"x").await.unwrap();
    assert!(read(&mut client).await.is_none(), "and that stays so");
    rig.connect().await;
    rig.proxy.cut();

    let (_rig, mut client, mut server) = Rig::inject(Fault::HalfOpen { gone: Side::Client }).await;
    assert_eq!(end(&mut client).await.unwrap(), 0);
    server.write_all(b"x").await.unwrap();
    assert!(read(&mut server).await.is_none(), "it learns nothing");
}

#[tokio::test]
async fn a_half_close_ends_one_direction() {
    let (_rig, mut client, mut server) = Rig::inject(Fault::HalfClose).await;
    assert_eq!(end(&mut client).await.unwrap(), 0);
    assert!(passes(&mut client, &mut server).await);
}

#[tokio::test]
async fn a_black_hole_and_silence_hold_back_what_comes_later() {
    let (rig, mut client, mut server) = Rig::inject(Fault::BlackHole).await;
    assert!(!passes(&mut client, &mut server).await);
    assert!(!passes(&mut server, &mut client).await);
    rig.proxy.restore();
    assert_eq!(end(&mut client).await.unwrap(), 1);
    assert_eq!(end(&mut server).await.unwrap(), 1);
    rig.proxy.inject(Fault::Silence { from: Side::Server });
    assert!(passes(&mut client, &mut server).await);
    assert!(!passes(&mut server, &mut client).await);
    rig.proxy.restore();
    assert_eq!(end(&mut client).await.unwrap(), 1);
}

#[tokio::test]
async fn a_trickle_lets_bytes_pass_one_by_one_in_both_directions() {
    let bytes_a_second = 20;
    let (rig, mut client, mut server) = Rig::inject(Fault::Trickle { bytes_a_second }).await;
    let sent = [7; 400];
    client.write_all(&sent).await.unwrap();
    server.write_all(&sent).await.unwrap();
    for to in [&mut client, &mut server] {
        let mut received = [0; 400];
        let all = tokio::time::timeout(SILENCE, to.read_exact(&mut received));
        assert!(all.await.is_err(), "these take twenty seconds");
    }
    rig.proxy.restore();
    assert_eq!(end(&mut client).await.unwrap(), 1);
    assert_eq!(end(&mut server).await.unwrap(), 1);
}

#[tokio::test]
async fn new_connections_are_refused_or_wait_while_the_old_ones_go_on() {
    let (rig, mut client, mut server) = Rig::inject(Fault::Refuse).await;
    // Those that come while it begins are accepted, or aborted with the port.
    let refused = super::super::wait_until("a refusal", || async {
        let refused = TcpStream::connect(rig.proxy.address()).await.err()?;
        (refused.kind() == io::ErrorKind::ConnectionRefused).then_some(())
    });
    refused.await.unwrap();
    assert!(passes(&mut client, &mut server).await);
    rig.proxy.restore();
    let again = super::super::wait_until("the port", || async {
        TcpStream::connect(rig.proxy.address()).await.ok()
    });
    drop(again.await.unwrap());

    let rig = Rig::new().await;
    let wait = Duration::from_secs(3600);
    rig.proxy.inject(Fault::SlowAccept { wait });
    let _client = TcpStream::connect(rig.proxy.address()).await.unwrap();
    let accepted = tokio::time::timeout(SILENCE, rig.listener.accept());
    assert!(accepted.await.is_err());
    rig.proxy.restore();
    let accepted = tokio::time::timeout(DEADLINE, rig.listener.accept());
    accepted.await.unwrap().unwrap();
}

#[tokio::test]
async fn after_a_list_of_faults_all_is_well() {
    let rig = Rig::new().await;
    let short = Duration::from_millis(5);
    let plan = Plan {
        pause: short,
        lasts: short,
        ..Plan::default()
    };
    rig.proxy.play(&plan.seeded(1, 40)).await;
    rig.connect().await;
}
