//! Every kind of rule, with every kind of address at both ends, both ways to the host.

use forward::{Endpoint, Kind, Way};

use crate::support::{Setup, StandIn, add, ask, dial, forward_to, only, reversed, reversing, tcp, until};

/// Listens at `bind` for each kind of target and asks through each.
async fn check(kind: Kind, via: &str, way: Way) {
    let setup = Setup::new();
    let (_sshd, forwards) = setup.connected(&[]).await;
    let agent = StandIn::new(&forwards);
    let targets = [
        tcp("127.0.0.1", 0),
        tcp("::1", 0),
        tcp("localhost", 0),
        Endpoint::Unix(setup.socket("target.sock")),
    ];
    let letter = if kind == Kind::Local { 'L' } else { 'R' };
    let request = vec![7; 100_000];
    for (number, target) in targets.iter().enumerate() {
        let target = reversing(&setup.scope, target).await;
        let socket = setup.socket(&format!("{number}.sock"));
        for bind in ["127.0.0.1:0", "[::1]:0", "localhost:0", &socket] {
            let rule = format!("{letter}:{bind}:{target}{via}");
            let bound = add(&forwards, &rule).await;
            let answer = ask(dial(&bound).await, &request).await;
            assert!(
                answer == reversed(&request),
                "{rule}: {} bytes came back",
                answer.len()
            );
            let shown = until(&forwards, &rule, |rule| rule.open == 0).await;
            assert_eq!(
                (shown.total, shown.failed, shown.up, shown.down),
                (1, 0, 100_000, 100_000),
                "{rule}"
            );
            assert_eq!(
                shown.state,
                forward::RuleState::Ready { via: Some(way) },
                "{rule}"
            );
            assert!(forwards.remove(shown.id).await, "{rule}");
        }
    }
    let used = agent.connects() + agent.listens();
    assert_eq!(used > 0, way == Way::Agent, "{used} times through the agent");
}

#[tokio::test]
async fn local_rules_work_over_ssh() {
    check(Kind::Local, " via=ssh", Way::Ssh).await;
}

#[tokio::test]
async fn local_rules_work_through_the_agent() {
    check(Kind::Local, " via=agent", Way::Agent).await;
}

#[tokio::test]
async fn remote_rules_work_over_ssh() {
    check(Kind::Remote, " via=ssh", Way::Ssh).await;
}

#[tokio::test]
async fn remote_rules_work_through_the_agent() {
    check(Kind::Remote, " via=agent", Way::Agent).await;
}

#[tokio::test]
async fn localhost_is_both_families() {
    let setup = Setup::new();
    let (_sshd, forwards) = setup.connected(&[]).await;
    let target = reversing(&setup.scope, &tcp("127.0.0.1", 0)).await;
    let Endpoint::Tcp { port, .. } = add(&forwards, &format!("L:localhost:0:{target}")).await else {
        panic!("not a port");
    };
    for host in ["127.0.0.1", "::1"] {
        assert_eq!(ask(dial(&tcp(host, port)).await, b"abc").await, b"cba", "{host}");
    }
}

/// Without a setting it is the agent where one is, and plain SSH where none is or where it is away.
#[tokio::test]
async fn the_automatic_way_is_the_agent_if_one_is_there() {
    let setup = Setup::new();
    let (_sshd, forwards) = setup.connected(&[]).await;
    let target = reversing(&setup.scope, &tcp("127.0.0.1", 0)).await;
    let Endpoint::Tcp { port, .. } = target else {
        panic!("not a port");
    };
    let listen = forward_to(&forwards, port).await;
    let through = async |way| {
        assert_eq!(
            ask(dial(&tcp("127.0.0.1", listen.port())).await, b"abc").await,
            b"cba"
        );
        let state = only(&forwards).state;
        assert_eq!(state, forward::RuleState::Ready { via: Some(way) });
    };
    through(Way::Ssh).await;
    let agent = StandIn::new(&forwards);
    through(Way::Agent).await;
    assert_eq!(agent.connects(), 1);
    agent.is_away.store(true, std::sync::atomic::Ordering::Relaxed);
    through(Way::Ssh).await;
    forwards.set_agent(None);
    through(Way::Ssh).await;
    assert_eq!(agent.connects(), 2);
}
