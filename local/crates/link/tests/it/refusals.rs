//! What only a person can mend.

use std::fs;

use link::{Error, ErrorKind, ExitClass, Link, LinkState, Patience};
use transport::testing::{KeyKind, KeyPair};

use crate::bench::{Bench, PATIENCE, live, state};

fn ssh_kind(error: &Error) -> transport::ErrorKind {
    match error.kind() {
        ErrorKind::Ssh(error) => error.kind(),
        other => panic!("{other:?}"),
    }
}

/// Asserts that nothing happens by itself: the request fails, and no other connection is made.
async fn stays_failed(bench: &Bench, link: &Link) {
    let connections = bench.proxy.connections();
    link.woke();
    let agent = link.agent();
    let answer = tokio::time::timeout(PATIENCE, agent.hello());
    let error = answer.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("connect to the agent"), "{error}");
    link.wait_live(Patience::FirstTry).await.unwrap_err();
    assert!(matches!(&*link.states().borrow(), LinkState::Failed(_)));
    assert_eq!(bench.proxy.connections(), connections);
}

#[tokio::test]
async fn a_host_key_that_changes_between_two_connections_ends_the_link() {
    let bench = Bench::new().await;
    let (link, _) = bench.live().await;
    let logins = bench.server.logins();
    bench.trust_key(&KeyPair::generate(KeyKind::Ed25519).unwrap().public());
    bench.proxy.cut();
    let failed = state(&link, "failure", |state| matches!(state, LinkState::Failed(_))).await;
    let cause = failed.cause().unwrap();
    assert_eq!(ssh_kind(cause), transport::ErrorKind::HostKeyChanged, "{cause}");
    assert_eq!(cause.exit_class(), ExitClass::Auth);
    assert_eq!(bench.server.logins(), logins, "refused before any login");
    stays_failed(&bench, &link).await;
    bench.trust();
    link.retry_now();
    live(&link).await;
}

#[tokio::test]
async fn an_unknown_host_key_needs_somebody() {
    let bench = Bench::new().await;
    fs::write(bench.path("known_hosts"), "").unwrap();
    let link = bench.open();
    let error = link.wait_live(Patience::FirstTry).await.unwrap_err();
    assert_eq!(ssh_kind(&error), transport::ErrorKind::HostKeyUnknown, "{error}");
    assert_eq!(error.exit_class().code(), 4);
    stays_failed(&bench, &link).await;
    bench.trust();
    link.retry_now();
    live(&link).await;
}

#[tokio::test]
async fn a_refused_login_is_not_repeated() {
    let bench = Bench::with(|options| options.authorized_keys.clear()).await;
    let link = bench.open();
    let error = link.wait_live(Patience::FirstTry).await.unwrap_err();
    assert_eq!(ssh_kind(&error), transport::ErrorKind::AuthRefused, "{error}");
    assert_eq!((error.exit_class().code(), error.host()), (4, "testhost"));
    stays_failed(&bench, &link).await;
}

#[tokio::test]
async fn a_program_that_does_not_start_fails_with_its_words() {
    let bench = Bench::new().await;
    let text = "#!/bin/sh\ncase $1 in\n--version) echo 'reasonix 0.2.0'; echo 'protocol 1..1' ;;\n*) echo 'cannot bind' >&2; exit 9 ;;\nesac\n";
    fs::write(bench.path("own"), text).unwrap();
    let link = bench.open();
    let error = link.wait_live(Patience::FirstTry).await.unwrap_err();
    assert_eq!(error.exit_class(), ExitClass::Bootstrap, "{error}");
    assert_eq!(error.to_string(), "launch on testhost: the daemon did not start");
    assert!(
        error.details().contains(&"stderr: cannot bind".to_owned()),
        "{:?}",
        error.details()
    );
    stays_failed(&bench, &link).await;
}

#[tokio::test]
async fn a_host_that_is_not_there_is_tried_again_and_again() {
    let bench = Bench::new().await;
    let mut options = bench.options();
    let link::Host::Resolved(resolved) = &mut options.host else {
        panic!("resolved by hand")
    };
    // A port that nobody listens on: it was taken and given back.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    resolved.endpoint.port = free.local_addr().unwrap().port();
    drop(free);
    let link = Link::open(options, &bench.scope);
    let error = link.wait_live(Patience::FirstTry).await.unwrap_err();
    assert_eq!(error.exit_class(), ExitClass::Unreachable, "{error}");
    state(&link, "a third try", |state| {
        matches!(state, LinkState::Waiting { attempts: 3.., .. })
    })
    .await;
    link.close().await;
}

#[tokio::test]
async fn a_workspace_that_is_missing_is_wrong_usage() {
    let bench = Bench::new().await;
    let mut options = bench.options();
    options.install.workspace = Some("/no/such/folder".to_owned());
    let link = Link::open(options, &bench.scope);
    let error = link.wait_live(Patience::FirstTry).await.unwrap_err();
    assert_eq!(error.exit_class(), ExitClass::Usage, "{error}");
    assert!(error.to_string().contains("/no/such/folder"), "{error}");
    stays_failed(&bench, &link).await;
}
