//! Forwarded streams: sockets and TCP, half-close, refusals, stalled readers.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, UnixListener},
};
use transport::{
    CaptureLimits, ConnectOptions, Error, ErrorKind,
    testing::{Forwarding, RealSshd, TestServer, TestServerOptions},
};

use crate::support::{Client, both_servers, server_options, sshd_options};

/// Reads everything, then answers: only a kept half-close makes that work.
async fn answer_after_the_end<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin>(mut stream: S) {
    let mut request = Vec::new();
    stream.read_to_end(&mut request).await.unwrap();
    stream
        .write_all(format!("got {}", request.len()).as_bytes())
        .await
        .unwrap();
    stream.shutdown().await.unwrap();
}

#[tokio::test]
async fn half_close_is_kept_over_sockets_and_tcp() {
    for (server, client) in both_servers().await {
        let connection = client.connect(&client.resolved(server.address())).await.unwrap();
        let path = client.path("service.sock");
        let unix = UnixListener::bind(&path).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = tcp.local_addr().unwrap().port();
        let answers = client.scope.spawn(async move {
            answer_after_the_end(unix.accept().await.unwrap().0).await;
            answer_after_the_end(tcp.accept().await.unwrap().0).await;
        });
        let streams = [
            connection.open_streamlocal(path.to_str().unwrap()).await.unwrap(),
            connection.open_tcp("127.0.0.1", port).await.unwrap(),
        ];
        for mut stream in streams {
            stream.write_all(&vec![1; 300_000]).await.unwrap();
            stream.shutdown().await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            assert_eq!(answer, "got 300000");
        }
        answers.await.unwrap();
    }
}

/// RA-13 below the listener: the far side sees that we are gone.
#[tokio::test]
async fn dropping_a_stream_closes_the_far_socket() {
    for (server, client) in both_servers().await {
        let connection = client.connect(&client.resolved(server.address())).await.unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = tcp.local_addr().unwrap().port();
        let endless = client.scope.spawn(async move {
            let (mut stream, _) = tcp.accept().await.unwrap();
            while stream.write_all(&[0; 4096]).await.is_ok() {}
        });
        let mut stream = connection.open_tcp("127.0.0.1", port).await.unwrap();
        stream.read_exact(&mut [0; 1024]).await.unwrap();
        drop(stream);
        tokio::time::timeout(Duration::from_secs(20), endless)
            .await
            .unwrap()
            .unwrap();
    }
}

/// RA-12.
#[tokio::test]
async fn refusals_are_classified_and_do_not_hang() {
    let client = Client::new();
    let path = client.path("listening.sock");
    let _listener = UnixListener::bind(&path).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    for config in [
        &["AllowTcpForwarding no", "AllowStreamLocalForwarding no"][..],
        &["DisableForwarding yes"][..],
        &["PermitOpen none", "AllowStreamLocalForwarding no"][..],
    ] {
        let mut options = sshd_options(&client);
        options.config.extend(config.iter().map(|&line| line.to_owned()));
        let server = RealSshd::start(options).await.unwrap();
        client.trust(&server.known_hosts());
        let connection = client.connect(&client.resolved(server.address())).await.unwrap();
        let error = connection.open_tcp("127.0.0.1", port).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ForwardingRefused, "{config:?}: {error}");
        assert!(
            error.hint().unwrap().contains("AllowTcpForwarding") && error.to_string().contains("forbids"),
            "{error}"
        );
        // For sockets sshd says the same as when nobody listens.
        let error = connection
            .open_streamlocal(path.to_str().unwrap())
            .await
            .unwrap_err();
        let kinds = [ErrorKind::ForwardingRefused, ErrorKind::ConnectRefused];
        assert!(kinds.contains(&error.kind()), "{config:?}: {error}");
    }
    let forwarding = Forwarding {
        tcp: false,
        streamlocal: false,
    };
    let server = TestServer::start(TestServerOptions {
        forwarding,
        ..server_options(&client)
    })
    .await
    .unwrap();
    client.trust(&server.known_hosts());
    let connection = client.connect(&client.resolved(server.address())).await.unwrap();
    let error = connection.open_streamlocal("/x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ForwardingRefused);
}

#[tokio::test]
async fn nobody_listening_is_another_error() {
    for (server, client) in both_servers().await {
        let connection = client.connect(&client.resolved(server.address())).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let error = connection.open_tcp("127.0.0.1", port).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectRefused, "{error}");
        assert!(error.to_string().contains(&port.to_string()));
        let error = connection
            .open_streamlocal(client.path("nothing.sock").to_str().unwrap())
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectRefused, "{error}");
    }
}

#[tokio::test]
async fn a_stalled_reader_loses_its_channel_and_nothing_else() {
    for (server, mut client) in both_servers().await {
        client.options = ConnectOptions {
            backlog_limit: 4 * 1024 * 1024,
            ..client.options
        };
        let connection = client.connect(&client.resolved(server.address())).await.unwrap();
        // Never read while it floods.
        let (_stdin, mut flood, _err, waiter) = connection.exec("cat /dev/zero").await.unwrap().into_parts();
        for _ in 0..5 {
            let output = connection
                .exec_capture(
                    "echo alive",
                    b"",
                    CaptureLimits::default(),
                    Duration::from_secs(30),
                )
                .await
                .unwrap();
            assert_eq!(output.stdout, b"alive\n");
        }
        assert_eq!(waiter.wait().await.unwrap_err().kind(), ErrorKind::Stalled);
        let mut kept = Vec::new();
        let error = flood.read_to_end(&mut kept).await.unwrap_err();
        assert_eq!(Error::from_io(&error).unwrap().kind(), ErrorKind::Stalled);
        assert!(
            kept.len() > 3 * 1024 * 1024,
            "what was stored can still be read: {}",
            kept.len()
        );
        assert!(!connection.is_closed());
    }
}
