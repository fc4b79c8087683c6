//! Remote forwards: made again on each connection, refused by name, channels only for who asked.

use std::{io::ErrorKind, time::Duration};

use forward::{Endpoint, Error, ForwardOptions, RuleState, Way};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::support::{Setup, StandIn, add, address, ask, dial, only, reversing, tcp, until};

fn is_ready(rule: &forward::RuleSnapshot) -> bool {
    matches!(rule.state, RuleState::Ready { .. })
}

#[tokio::test]
async fn a_rule_is_made_again_when_the_connection_is_replaced() {
    let setup = Setup::new();
    let (sshd, forwards) = setup.connected(&[]).await;
    let first = setup.connect(sshd.address(), &sshd.known_hosts()).await;
    forwards.set_connection(Some(first.clone()));
    let target = reversing(&setup.scope, &tcp("127.0.0.1", 0)).await;
    let bound = add(&forwards, &format!("R:0:{target}")).await;
    assert!(
        !matches!(bound, Endpoint::Tcp { port: 0, .. }),
        "the host has chosen a port"
    );
    assert_eq!(ask(dial(&bound).await, b"abc").await, b"cba");
    forwards.set_connection(None);
    first.disconnect().await;
    until(&forwards, "it to be offline", |rule| {
        rule.state == RuleState::Offline
    })
    .await;
    assert_eq!(only(&forwards).bound, bound);
    forwards.set_connection(Some(setup.connect(sshd.address(), &sshd.known_hosts()).await));
    let again = until(&forwards, "it to listen again", is_ready).await;
    assert_eq!(again.bound, bound, "the port stays");
    assert_eq!(ask(dial(&bound).await, b"abc").await, b"cba");
    // A removed rule is cancelled on the host.
    assert!(forwards.remove(again.id).await);
    let at = address(&bound);
    transport::testing::wait_until("the host's port to be free", || async move {
        TcpListener::bind(at).await.ok()
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_rule_added_before_the_host_is_there_begins_with_it() {
    let setup = Setup::new();
    let sshd = setup.sshd(&[]).await;
    let forwards = setup.forwards();
    let target = reversing(&setup.scope, &tcp("127.0.0.1", 0)).await;
    add(&forwards, &format!("R:localhost:0:{target}")).await;
    assert_eq!(only(&forwards).state, RuleState::Offline);
    let agent = StandIn::new(&forwards);
    forwards.set_connection(Some(setup.connect(sshd.address(), &sshd.known_hosts()).await));
    let rule = until(&forwards, "it to listen", is_ready).await;
    assert_eq!(
        rule.state,
        RuleState::Ready {
            via: Some(Way::Agent)
        }
    );
    assert_eq!(agent.listens(), 1);
    assert_eq!(ask(dial(&rule.bound).await, b"abc").await, b"cba");
}

#[tokio::test]
async fn a_taken_port_of_the_host_is_named_and_taken_later() {
    let setup = Setup::new();
    let (sshd, forwards) = setup.connected(&[]).await;
    let target = reversing(&setup.scope, &tcp("127.0.0.1", 0)).await;
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = taken.local_addr().unwrap();
    let rule = format!("R:{at}:{target}");
    let error = forwards.add(rule.parse().unwrap()).await.unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(error, Error::Refused { .. }) && text.contains(&rule) && text.contains("taken"),
        "{text}"
    );
    assert!(error.hint().is_some() && forwards.list().is_empty());
    // One that was there before the host came is shown as refused, and asked for again.
    forwards.set_connection(None);
    add(&forwards, &rule).await;
    forwards.set_connection(Some(setup.connect(sshd.address(), &sshd.known_hosts()).await));
    let shown = until(&forwards, "the refusal", |rule| {
        matches!(rule.state, RuleState::Refused { .. })
    })
    .await;
    assert!(shown.last_error.unwrap().message.contains(&rule));
    drop(taken);
    until(&forwards, "it to listen", is_ready).await;
    assert_eq!(ask(TcpStream::connect(at).await.unwrap(), b"abc").await, b"cba");
}

#[tokio::test]
async fn a_target_that_is_not_there_ends_the_client_and_is_named() {
    let setup = Setup::new();
    let (_sshd, forwards) = setup.connected(&[]).await;
    let gone = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let bound = add(&forwards, &format!("R:0:{gone}")).await;
    let mut client = dial(&bound).await;
    assert_eq!(client.read(&mut [0; 1]).await.unwrap_or(0), 0);
    let rule = until(&forwards, "the failure", |rule| rule.failed == 1).await;
    let message = rule.last_error.unwrap().message;
    assert!(
        message.contains(&format!("could not reach {gone} from here")),
        "{message}"
    );
}

/// A client on the host that breaks off is a reset for the service here, or an end where SSH has no word for it.
#[tokio::test]
async fn an_abort_reaches_the_service_here() {
    let setup = Setup::new();
    let (_sshd, forwards) = setup.connected(&[]).await;
    let agent = StandIn::new(&forwards);
    let service = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let bound = add(
        &forwards,
        &format!("R:0:{} via=agent", service.local_addr().unwrap()),
    )
    .await;
    let mut client = TcpStream::connect(address(&bound)).await.unwrap();
    let (mut served, _) = service.accept().await.unwrap();
    client.write_all(b"half").await.unwrap();
    served.read_exact(&mut [0; 4]).await.unwrap();
    client.set_zero_linger().unwrap();
    drop(client);
    let error = served.read(&mut [0; 1]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(agent.listens(), 1);
}

/// Channels go to the rule that asked for them, whatever else there is.
#[tokio::test]
async fn each_connection_goes_to_its_own_rule() {
    let setup = Setup::new();
    let (_sshd, forwards) = setup.connected(&[]).await;
    let mut rules = Vec::new();
    for name in ["one", "two", "three"] {
        let service = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = service.local_addr().unwrap();
        drop(setup.scope.spawn(async move {
            while let Ok((mut stream, _)) = service.accept().await {
                stream.write_all(name.as_bytes()).await.unwrap();
            }
        }));
        for bind in ["0".to_owned(), "localhost:0".to_owned(), setup.socket(name)] {
            rules.push((name, add(&forwards, &format!("R:{bind}:{target}")).await));
        }
    }
    for (name, bound) in rules {
        let mut text = String::new();
        let mut client = dial(&bound).await;
        client.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, name, "{bound}");
    }
}

#[tokio::test]
async fn a_rule_whose_target_is_silent_does_not_keep_others() {
    let setup = Setup::new();
    let sshd = setup.sshd(&[]).await;
    let forwards = setup.forwards_with(ForwardOptions {
        half_closed_idle: Duration::from_millis(200),
        ..ForwardOptions::default()
    });
    forwards.set_connection(Some(setup.connect(sshd.address(), &sshd.known_hosts()).await));
    let service = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let bound = add(&forwards, &format!("R:0:{}", service.local_addr().unwrap())).await;
    let mut client = dial(&bound).await;
    client.shutdown().await.unwrap();
    let _silent = service.accept().await.unwrap();
    let rule = until(&forwards, "it to be given up", |rule| rule.open == 0).await;
    assert!(rule.last_error.unwrap().message.contains("half closed"));
    assert_eq!(client.read(&mut [0; 1]).await.unwrap_or(0), 0);
}
