//! Many connections, aborted ones, and readers that stand still.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::support::{
    Setup, StandIn, add, address, all_ended, ask, dial, endless_service, forward_to, open_files, reversed,
    reversing, tcp, until,
};

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
        let (port, ended) = endless_service(&setup.scope).await;
        let listen = forward_to(&forwards, port).await;
        let before = open_files();
        for _ in 0..200 {
            let mut client = TcpStream::connect(listen).await.unwrap();
            client.read_exact(&mut [0; 1024]).await.unwrap();
        }
        all_ended(&ended, 200).await;
        let rule = until(&forwards, "connections to be closed", |rule| {
            rule.open == 0 && open_files() <= before
        })
        .await;
        assert_eq!(rule.total, 200);
    }
}

async fn five_hundred(rule: &str) {
    const CLIENTS: usize = 500;
    let setup = Setup::new();
    let (_sshd, forwards) = setup.connected(&[]).await;
    let _agent = StandIn::new(&forwards);
    let target = reversing(&setup.scope, &tcp("127.0.0.1", 0)).await;
    let bound = add(&forwards, &rule.replace("TARGET", &target.to_string())).await;
    let before = open_files();
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(TcpStream::connect(address(&bound)).await.unwrap());
    }
    until(&forwards, "all to be open", |rule| rule.open == CLIENTS).await;
    let mut asking = JoinSet::new();
    for (number, client) in clients.into_iter().enumerate() {
        asking.spawn(async move {
            let request = format!("{number} ").repeat(2000).into_bytes();
            (ask(client, &request).await == reversed(&request), number)
        });
    }
    while let Some(answer) = asking.join_next().await {
        let (is_right, number) = answer.unwrap();
        assert!(is_right, "{rule}: client {number}");
    }
    let shown = until(&forwards, "all to be closed", |rule| {
        rule.open == 0 && open_files() <= before
    })
    .await;
    assert_eq!(
        (shown.total, shown.failed),
        (CLIENTS as u64, 0),
        "{rule}: {:?}",
        shown.last_error
    );
}

#[tokio::test]
async fn five_hundred_connections_at_once_go_over_ssh() {
    five_hundred("L:0:TARGET via=ssh").await;
    five_hundred("R:0:TARGET via=ssh").await;
}

#[tokio::test]
async fn five_hundred_connections_at_once_go_through_the_agent() {
    five_hundred("L:0:TARGET via=agent").await;
    five_hundred("R:0:TARGET via=agent").await;
}

/// Over plain SSH a reader that stands still loses its own connection, and nothing else does.
#[tokio::test]
async fn a_reader_that_stands_still_stops_only_itself() {
    let setup = Setup::new();
    let (_sshd, forwards) = setup.connected(&[]).await;
    let (port, ended) = endless_service(&setup.scope).await;
    let listen = add(&forwards, &format!("L:0:127.0.0.1:{port} via=ssh")).await;
    let mut still = TcpStream::connect(address(&listen)).await.unwrap();
    still.read_exact(&mut [0; 1024]).await.unwrap();
    let rule = until(&forwards, "its connection to be given up", |rule| {
        rule.failed == 1
    })
    .await;
    let message = rule.last_error.unwrap().message;
    assert!(
        message.contains("stood still") && message.contains("16777216"),
        "{message}"
    );
    all_ended(&ended, 1).await;
    let mut all = Vec::new();
    still.read_to_end(&mut all).await.unwrap_err();
    let target = reversing(&setup.scope, &tcp("127.0.0.1", 0)).await;
    let other = forwards
        .add(format!("L:0:{target} via=ssh").parse().unwrap())
        .await
        .unwrap();
    let bound = forwards
        .list()
        .into_iter()
        .find(|rule| rule.id == other)
        .unwrap()
        .bound;
    assert_eq!(ask(dial(&bound).await, b"abc").await, b"cba");
}

/// A writer is paced by its reader, whoever is slow.
#[tokio::test]
async fn a_service_that_does_not_read_only_stops_its_own_client() {
    let setup = Setup::new();
    let (_sshd, forwards) = setup.connected(&[]).await;
    let service = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listen = forward_to(&forwards, service.local_addr().unwrap().port()).await;
    let mut client = TcpStream::connect(listen).await.unwrap();
    let (mut still, _) = service.accept().await.unwrap();
    let piece = vec![1; 64 * 1024];
    let mut sent = 0;
    // Until nothing more is taken.
    while let Ok(written) = tokio::time::timeout(Duration::from_millis(500), client.write(&piece)).await {
        sent += written.unwrap();
        assert!(sent < 100_000_000, "nothing holds the writer back");
    }
    let target = reversing(&setup.scope, &tcp("127.0.0.1", 0)).await;
    let other = forwards
        .add(format!("L:0:{target}").parse().unwrap())
        .await
        .unwrap();
    let bound = forwards
        .list()
        .into_iter()
        .find(|rule| rule.id == other)
        .unwrap()
        .bound;
    assert_eq!(ask(dial(&bound).await, b"abc").await, b"cba");
    client.shutdown().await.unwrap();
    let mut got = 0;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match still.read(&mut buffer).await.unwrap() {
            0 => break,
            count => got += count,
        }
    }
    assert_eq!(got, sent);
}
