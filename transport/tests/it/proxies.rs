//! Jump hosts and proxy commands.

use transport::{
    CaptureLimits, ErrorKind, Proxy,
    testing::{RealSshd, TestServer},
};

use crate::support::{Client, server_options, sshd_options};

#[tokio::test]
async fn a_jump_host_is_checked_and_used() {
    let client = Client::new();
    let jump = RealSshd::start(sshd_options(&client)).await.unwrap();
    let target = TestServer::start(server_options(&client)).await.unwrap();
    client.trust(&format!("{}{}", jump.known_hosts(), target.known_hosts()));
    let mut resolved = client.resolved(target.address());
    resolved.proxy = Some(Proxy::Jump(Box::new(client.resolved(jump.address()))));
    let connection = client.connect(&resolved).await.unwrap();
    let output = connection
        .exec_capture(
            "echo there",
            b"",
            CaptureLimits::default(),
            std::time::Duration::from_secs(30),
        )
        .await
        .unwrap();
    assert_eq!(output.stdout, b"there\n");

    client.trust(&target.known_hosts());
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::HostKeyUnknown,
        "the jump host needs its own trust"
    );
}

#[tokio::test]
async fn a_proxy_command_carries_the_connection_and_its_words_are_shown() {
    let client = Client::new();
    let hop = RealSshd::start(sshd_options(&client)).await.unwrap();
    client.trust(&hop.known_hosts());
    let mut resolved = client.resolved(hop.address());
    let bash = format!(
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{}; cat <&3 & exec cat >&3'",
        hop.address().port()
    );
    let environment = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
    resolved.proxy = Some(Proxy::Command {
        line: bash,
        environment: environment.clone(),
    });
    client.connect(&resolved).await.unwrap();
    resolved.proxy = Some(Proxy::Command {
        line: "sh -c 'echo no route >&2; exit 1'".into(),
        environment,
    });
    let error = client.connect(&resolved).await.unwrap_err();
    assert!(error.to_string().contains("no route"), "{error}");
}
