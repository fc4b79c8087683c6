//! Local forwards: re-dials survived, busy ports explained, ends passed on as what they are.

use std::{
    io::ErrorKind,
    os::unix::fs::PermissionsExt,
    sync::{Arc, Mutex},
    time::Duration,
};

use forward::{Endpoint, Error, ForwardOptions, Owner, RuleState, Spec};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::support::{Setup, StandIn, add, address, ask, dial, forward_to, only, reversing, tcp, until};

#[tokio::test]
async fn a_busy_port_names_the_rule_who_has_it_and_what_is_free() {
    let setup = Setup::new();
    let forwards = setup.forwards();
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port();
    let rule = format!("L:127.0.0.1:{port}:db:5432");
    let error = forwards.add(rule.parse().unwrap()).await.unwrap_err();
    let text = error.to_string();
    let Error::Bind { owner, free, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(
        owner.as_ref().map(|owner: &Owner| owner.pid),
        Some(std::process::id()),
        "{text}"
    );
    let free = free.unwrap();
    assert!(free > port && free - port <= 50, "{free} after {port}");
    assert!(
        text.contains(&rule) && text.contains(&format!("process {}", std::process::id())),
        "{text}"
    );
    assert!(
        error.hint().unwrap().contains(&free.to_string()),
        "{:?}",
        error.hint()
    );
    assert!(forwards.list().is_empty());
    // The others go on, and the offer can be taken.
    add(&forwards, &format!("L:127.0.0.1:{free}:db:5432")).await;
    assert_eq!(forwards.list().len(), 1);
}

#[tokio::test]
async fn an_address_of_another_machine_is_refused_with_advice() {
    let setup = Setup::new();
    let forwards = setup.forwards();
    let error = forwards
        .add("L:192.0.2.1:0:db:1".parse().unwrap())
        .await
        .unwrap_err();
    assert!(
        error.hint().unwrap().contains("this machine"),
        "{error}: {:?}",
        error.hint()
    );
}

#[tokio::test]
async fn a_dead_socket_file_is_replaced_and_a_live_one_stays() {
    let setup = Setup::new();
    let forwards = setup.forwards();
    let near = setup.socket("near.sock");
    drop(std::os::unix::net::UnixListener::bind(&near).unwrap());
    let rule: Spec = format!("L:{near}:/far.sock").parse().unwrap();
    let id = forwards.add(rule.clone()).await.unwrap();
    let mode = std::fs::metadata(&near).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "only we can use it");
    let error = forwards.add(rule.clone()).await.unwrap_err();
    assert!(matches!(error, Error::Bind { .. }), "{error}");
    assert_eq!(forwards.find(&rule), Some(id));
    assert!(forwards.remove(id).await && !std::path::Path::new(&near).exists());
    std::fs::write(&near, "a file").unwrap();
    forwards.add(rule).await.unwrap_err();
    assert_eq!(std::fs::read_to_string(&near).unwrap(), "a file");
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
            let (mut stream, _) = service.accept().await.unwrap();
            stream.write_all(b"up").await.unwrap();
        }
    }));
    let read = move || async move {
        let mut text = String::new();
        let mut client = TcpStream::connect(listen).await.unwrap();
        client.shutdown().await.unwrap();
        client.read_to_string(&mut text).await.map(|_| text)
    };
    assert_eq!(read().await.unwrap(), "up");
    embedded.drop_connections();
    drop(first.closed().await);
    forwards.set_connection(None);
    assert_eq!(only(&forwards).state, RuleState::Offline);
    // This client comes while the host is away and is served when it is back.
    let waiting = setup.scope.spawn(read());
    until(&forwards, "the client to wait", |rule| rule.open == 1).await;
    let second = setup.connect(embedded.address(), &embedded.known_hosts()).await;
    forwards.set_connection(Some(second));
    assert_eq!(waiting.await.unwrap().unwrap(), "up");
    assert!(matches!(only(&forwards).state, RuleState::Ready { via: Some(_) }));
}

#[tokio::test]
async fn a_client_that_waited_too_long_is_let_go_and_counted() {
    let setup = Setup::new();
    let forwards = setup.forwards_with(ForwardOptions {
        redial_wait: Duration::from_millis(50),
        ..ForwardOptions::default()
    });
    let listen = forward_to(&forwards, 1).await;
    let mut client = TcpStream::connect(listen).await.unwrap();
    let error = client.read(&mut [0; 1]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let rule = until(&forwards, "it to be counted", |rule| rule.gave_up == 1).await;
    let message = rule.last_error.unwrap().message;
    assert!(
        message.contains("was not connected") && message.contains("forward rule L:"),
        "{message}"
    );
}

#[tokio::test]
async fn a_removed_rule_frees_its_port_and_ends_its_connections() {
    let setup = Setup::new();
    let (_sshd, forwards) = setup.connected(&[]).await;
    let service = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listen = forward_to(&forwards, service.local_addr().unwrap().port()).await;
    let mut client = TcpStream::connect(listen).await.unwrap();
    let (mut served, _) = service.accept().await.unwrap();
    served.write_all(b"half of it").await.unwrap();
    client.read_exact(&mut [0; 10]).await.unwrap();
    let mut changes = forwards.changes();
    changes.mark_unchanged();
    let id = only(&forwards).id;
    assert!(forwards.remove(id).await && !forwards.remove(id).await);
    assert!(changes.has_changed().unwrap());
    TcpListener::bind(listen).await.unwrap();
    let error = client.read(&mut [0; 1]).await.unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::ConnectionReset,
        "half a transfer does not look complete"
    );
    assert_eq!(served.read(&mut [0; 1]).await.unwrap_or(0), 0);
}

/// A transfer that is cut off ends with a reset, so that nobody takes it for complete.
#[tokio::test]
async fn a_connection_that_breaks_is_reset() {
    let setup = Setup::new();
    let embedded = setup.embedded().await;
    let forwards = setup.forwards();
    forwards.set_connection(Some(
        setup.connect(embedded.address(), &embedded.known_hosts()).await,
    ));
    let service = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listen = forward_to(&forwards, service.local_addr().unwrap().port()).await;
    let mut client = TcpStream::connect(listen).await.unwrap();
    let (mut served, _) = service.accept().await.unwrap();
    served.write_all(b"half of it").await.unwrap();
    client.read_exact(&mut [0; 10]).await.unwrap();
    embedded.drop_connections();
    let error = client.read(&mut [0; 1]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let rule = until(&forwards, "the failure", |rule| rule.failed == 1).await;
    assert!(rule.last_error.is_some() && rule.open == 0);
}

/// Through the agent a broken far side is told from one that is done.
#[tokio::test]
async fn a_reset_of_the_service_is_passed_on() {
    let setup = Setup::new();
    let (_sshd, forwards) = setup.connected(&[]).await;
    let _agent = StandIn::new(&forwards);
    let service = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = service.local_addr().unwrap();
    let listen = add(&forwards, &format!("L:0:{target} via=agent")).await;
    let mut client = TcpStream::connect(address(&listen)).await.unwrap();
    let (mut served, _) = service.accept().await.unwrap();
    served.write_all(b"half of it").await.unwrap();
    client.read_exact(&mut [0; 10]).await.unwrap();
    served.set_zero_linger().unwrap();
    drop(served);
    let error = client.read(&mut [0; 1]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

/// RA-13, second half.
#[tokio::test]
async fn a_half_close_still_gets_its_answer() {
    let setup = Setup::new();
    let (_sshd, forwards) = setup.connected(&[]).await;
    let target = reversing(&setup.scope, &tcp("127.0.0.1", 0)).await;
    let listen = add(&forwards, &format!("L:0:{target}")).await;
    let request: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    let mut expected = request.clone();
    expected.reverse();
    let answer = ask(dial(&listen).await, &request).await;
    assert!(answer == expected, "{} bytes came back", answer.len());
    // The other way round: the service ends first, and hears the rest.
    let service = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let target = service.local_addr().unwrap();
    let kept = Arc::clone(&heard);
    let serving = setup.scope.spawn(async move {
        let (mut stream, _) = service.accept().await.unwrap();
        stream.shutdown().await.unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).await.unwrap();
        *kept.lock().unwrap() = all;
    });
    let listen = add(&forwards, &format!("L:0:{target}")).await;
    let mut client = TcpStream::connect(address(&listen)).await.unwrap();
    assert_eq!(client.read(&mut [0; 1]).await.unwrap(), 0);
    client.write_all(&request).await.unwrap();
    client.shutdown().await.unwrap();
    serving.await.unwrap();
    assert!(*heard.lock().unwrap() == request);
}

#[tokio::test]
async fn a_target_that_nobody_listens_on_is_named() {
    let setup = Setup::new();
    let (_sshd, forwards) = setup.connected(&[]).await;
    let gone = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let listen = forward_to(&forwards, gone).await;
    let mut client = TcpStream::connect(listen).await.unwrap();
    let error = client.read(&mut [0; 1]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let rule = until(&forwards, "the failure", |rule| rule.failed == 1).await;
    let message = rule.last_error.unwrap().message;
    assert!(
        message.contains(&gone.to_string()) && message.contains("forward rule"),
        "{message}"
    );
    assert!(
        matches!(rule.state, RuleState::Ready { .. }),
        "the next client may have more luck"
    );
    let Endpoint::Tcp { .. } = rule.bound else {
        panic!("not a port");
    };
}
