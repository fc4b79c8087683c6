//! What an administrator says in `sshd_config` counts, and is said to whoever runs into it.

use forward::{Error, RuleState, Way};
use tokio::{io::AsyncReadExt, net::TcpStream};

use crate::support::{Setup, StandIn, add, address, ask, dial, only, reversing, tcp, until};

/// What became of one client of `-L`.
async fn local(config: &[&str], via: &str, expected: Result<Way, &str>) {
    let setup = Setup::new();
    let (_sshd, forwards) = setup.connected(config).await;
    let _agent = StandIn::new(&forwards);
    let target = reversing(&setup.scope, &tcp("127.0.0.1", 0)).await;
    let rule = format!("L:0:{target}{via}");
    let bound = add(&forwards, &rule).await;
    let mut client = TcpStream::connect(address(&bound)).await.unwrap();
    match expected {
        Ok(way) => {
            assert_eq!(ask(client, b"abc").await, b"cba", "{config:?}{via}");
            let state = only(&forwards).state;
            assert_eq!(state, RuleState::Ready { via: Some(way) }, "{config:?}{via}");
        }
        Err(words) => {
            client.read(&mut [0; 1]).await.unwrap_err();
            let shown = until(&forwards, "the refusal", |rule| rule.failed == 1).await;
            let message = shown.last_error.unwrap().message;
            assert!(
                message.contains(words) && message.contains(&target.to_string()),
                "{config:?}{via}: {message}"
            );
            assert!(
                message.contains("AllowTcpForwarding") && message.contains("via = \"agent\""),
                "{message}"
            );
            assert!(
                matches!(shown.state, RuleState::Refused { .. }),
                "{config:?}{via}: {:?}",
                shown.state
            );
        }
    }
}

const FORBIDS: &str = "the administrator of 127.0.0.1";

/// RA-12 for a rule.
#[tokio::test]
async fn local_rules_heed_sshd() {
    for config in [
        "AllowTcpForwarding no",
        "AllowTcpForwarding remote",
        "DisableForwarding yes",
        "PermitOpen none",
        "PermitOpen 127.0.0.1:1",
    ] {
        let automatic = if config == "PermitOpen 127.0.0.1:1" {
            // It looks as if it allowed forwarding in general.
            Ok(Way::Agent)
        } else {
            Err(FORBIDS)
        };
        local(&[config], "", automatic).await;
        local(&[config], " via=ssh", Err(FORBIDS)).await;
        // Only where somebody asked for it.
        local(&[config], " via=agent", Ok(Way::Agent)).await;
    }
    local(&["AllowTcpForwarding local"], "", Ok(Way::Agent)).await;
    local(&["AllowTcpForwarding yes"], "", Ok(Way::Agent)).await;
}

/// Where only some targets are allowed, sshd judges each.
#[tokio::test]
async fn a_list_of_permitted_targets_is_judged_by_sshd() {
    let setup = Setup::new();
    let one = reversing(&setup.scope, &tcp("127.0.0.1", 0)).await;
    let two = reversing(&setup.scope, &tcp("127.0.0.1", 0)).await;
    let (_sshd, forwards) = setup.connected(&[&format!("PermitOpen {one}")]).await;
    let agent = StandIn::new(&forwards);
    let allowed = add(&forwards, &format!("L:0:{one}")).await;
    assert_eq!(ask(dial(&allowed).await, b"abc").await, b"cba");
    assert_eq!(only(&forwards).state, RuleState::Ready { via: Some(Way::Ssh) });
    let forbidden = add(&forwards, &format!("L:0:{two}")).await;
    dial(&forbidden).await.read(&mut [0; 1]).await.unwrap_err();
    assert_eq!(agent.connects(), 0);
    assert_eq!(
        ask(dial(&allowed).await, b"abc").await,
        b"cba",
        "the other rule goes on"
    );
}

/// What became of one `-R`.
async fn remote(config: &[&str], bind: &str, via: &str, expected: Option<Way>) {
    let setup = Setup::new();
    let (_sshd, forwards) = setup.connected(config).await;
    let agent = StandIn::new(&forwards);
    let target = reversing(&setup.scope, &tcp("127.0.0.1", 0)).await;
    let rule: forward::Spec = format!("R:{bind}:{target}{via}").parse().unwrap();
    let added = forwards.add(rule.clone()).await;
    let rule = rule.to_string();
    let Some(way) = expected else {
        let error = added.unwrap_err();
        let text = error.to_string();
        assert!(
            matches!(error, Error::Refused { .. }) && text.contains(&rule),
            "{config:?}: {text}"
        );
        assert!(
            text.contains("forbids") && error.hint().unwrap().contains("PermitListen"),
            "{config:?}: {text}"
        );
        return assert_eq!(agent.listens(), 0, "{config:?}");
    };
    match added {
        Ok(_) => {}
        Err(error) => panic!("{config:?}: {error}"),
    }
    let shown = only(&forwards);
    assert_eq!(
        shown.state,
        RuleState::Ready { via: Some(way) },
        "{config:?} {rule}"
    );
    let forward::Endpoint::Tcp { port, .. } = shown.bound else {
        panic!("not a port");
    };
    assert_eq!(ask(dial(&tcp("127.0.0.1", port)).await, b"abc").await, b"cba");
}

#[tokio::test]
async fn remote_rules_heed_sshd() {
    for config in [
        "AllowTcpForwarding no",
        "AllowTcpForwarding local",
        "DisableForwarding yes",
        "PermitListen none",
    ] {
        remote(&[config], "0", "", None).await;
        remote(&[config], "0", " via=agent", Some(Way::Agent)).await;
    }
    remote(&["AllowTcpForwarding remote"], "0", "", Some(Way::Agent)).await;
    // A list of ports has no other ones, and sshd judges.
    let port = free_port().await;
    let list = format!("PermitListen 127.0.0.1:{port}");
    remote(&[&list], &format!("127.0.0.1:{port}"), "", Some(Way::Ssh)).await;
    // Whether others may reach it is sshd's to say as well.
    remote(&["GatewayPorts no"], "*:0", "", Some(Way::Ssh)).await;
    remote(&["GatewayPorts clientspecified"], "*:0", "", Some(Way::Ssh)).await;
}

async fn free_port() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().port()
}

/// For sockets sshd says the same as when nobody listens, so the first connection is its own to judge.
#[tokio::test]
async fn sockets_go_through_the_agent_once_sshd_let_one_pass() {
    for (config, allowed) in [
        ("AllowStreamLocalForwarding yes", true),
        ("AllowStreamLocalForwarding no", false),
        ("DisableForwarding yes", false),
    ] {
        let setup = Setup::new();
        let (_sshd, forwards) = setup.connected(&[config]).await;
        let agent = StandIn::new(&forwards);
        let target = forward::Endpoint::Unix(setup.socket("target.sock"));
        let target = reversing(&setup.scope, &target).await;
        let bound = add(&forwards, &format!("L:0:{target}")).await;
        for turn in 0..2 {
            if allowed {
                assert_eq!(ask(dial(&bound).await, b"abc").await, b"cba");
                assert_eq!(agent.connects(), turn);
            } else {
                dial(&bound).await.read(&mut [0; 1]).await.unwrap_err();
                let failed = turn as u64 + 1;
                let rule = until(&forwards, "the refusal", |rule| rule.failed == failed).await;
                let message = rule.last_error.unwrap().message;
                assert!(message.contains("AllowStreamLocalForwarding"), "{message}");
                assert_eq!(agent.connects(), 0);
            }
        }
    }
}
