//! Signs of life, cuts and goodbyes.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use transport::{
    Connection, Error, ErrorKind, KeepaliveOptions, Stage,
    testing::{FaultProxy, wait_until},
};

use crate::support::{Client, Server, both_servers};

/// Connects through a proxy; the host key is listed for the proxy's port.
async fn behind_proxy(server: &Server, client: &mut Client) -> (FaultProxy, Connection) {
    let proxy = FaultProxy::start(server.address()).await.unwrap();
    let key = server.known_hosts().split_once(' ').unwrap().1.to_owned();
    client.trust(&format!("[127.0.0.1]:{} {key}", proxy.address().port()));
    client.options.keepalive = KeepaliveOptions {
        interval: Duration::from_millis(150),
        dead_after: Duration::from_millis(600),
    };
    let connection = client.connect(&client.resolved(proxy.address())).await.unwrap();
    (proxy, connection)
}

async fn closed(connection: &Connection) -> Error {
    tokio::time::timeout(Duration::from_secs(20), connection.closed())
        .await
        .unwrap()
}

#[tokio::test]
async fn a_black_hole_is_noticed() {
    for (server, mut client) in both_servers().await {
        let (proxy, connection) = behind_proxy(&server, &mut client).await;
        connection.ping(Duration::from_secs(10)).await.unwrap();
        let exec = connection.exec("cat").await.unwrap();
        proxy.black_hole(true);
        let error = connection.ping(Duration::from_millis(50)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
        let cause = closed(&connection).await;
        assert!(cause.to_string().contains("no sign of life"), "{cause}");
        assert!(cause.is_retryable() && connection.is_closed());
        // Everything on it ends with the same cause.
        assert!(
            exec.wait()
                .await
                .unwrap_err()
                .to_string()
                .contains("no sign of life")
        );
        assert_eq!(
            connection.exec("true").await.unwrap_err().kind(),
            ErrorKind::Closed
        );
    }
}

#[tokio::test]
async fn a_black_hole_in_the_middle_of_an_upload_is_noticed() {
    for (server, mut client) in both_servers().await {
        let (proxy, connection) = behind_proxy(&server, &mut client).await;
        let (mut stdin, _out, _err, _waiter) = connection.exec("cat > /dev/null").await.unwrap().into_parts();
        stdin.write_all(&[0; 1000]).await.unwrap();
        proxy.black_hole(true);
        let writing = async { while stdin.write_all(&[0; 64 * 1024]).await.is_ok() {} };
        tokio::time::timeout(Duration::from_secs(20), writing)
            .await
            .unwrap();
        assert!(closed(&connection).await.to_string().contains("no sign of life"));
    }
}

#[tokio::test]
async fn an_idle_connection_stays() {
    for (server, mut client) in both_servers().await {
        let (_proxy, connection) = behind_proxy(&server, &mut client).await;
        let before = connection.bytes_received();
        // Several answers to keepalives arrive without anybody using the connection.
        wait_until("answers to keepalives", || {
            let received = connection.bytes_received();
            async move { (received > before + 200).then_some(()) }
        })
        .await
        .unwrap();
        assert!(!connection.is_closed());
    }
}

#[tokio::test]
async fn a_cut_is_reported_as_closed_and_never_as_end_of_file() {
    for (server, mut client) in both_servers().await {
        let (proxy, connection) = behind_proxy(&server, &mut client).await;
        let (_stdin, mut stdout, _err, waiter) =
            connection.exec("echo x; sleep 1000").await.unwrap().into_parts();
        stdout.read_exact(&mut [0; 2]).await.unwrap();
        proxy.cut();
        assert_eq!(closed(&connection).await.kind(), ErrorKind::Closed);
        let error = stdout.read(&mut [0; 1]).await.unwrap_err();
        assert_eq!(Error::from_io(&error).unwrap().kind(), ErrorKind::Closed);
        assert_eq!(waiter.wait().await.unwrap_err().kind(), ErrorKind::Closed);
        // The next connection through the same proxy works.
        client.connect(&client.resolved(proxy.address())).await.unwrap();
    }
}

#[tokio::test]
async fn a_half_closed_link_is_a_lost_link() {
    for (server, mut client) in both_servers().await {
        let (proxy, connection) = behind_proxy(&server, &mut client).await;
        proxy.half_close();
        assert_eq!(closed(&connection).await.kind(), ErrorKind::Closed);
    }
}

#[tokio::test]
async fn a_silent_listener_meets_the_handshake_deadline() {
    let mut client = Client::new();
    client.options.deadlines.handshake = Duration::from_millis(200);
    client.trust("");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let error = client
        .connect(&client.resolved(listener.local_addr().unwrap()))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.stage()),
        (ErrorKind::Unreachable, Stage::Handshake)
    );
}

#[tokio::test]
async fn unreachable_hosts_name_the_stage() {
    let client = Client::new();
    client.trust("");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut resolved = client.resolved(address);
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.stage(), error.host()),
        (ErrorKind::Unreachable, Stage::Connect, "testhost")
    );
    assert!(error.hint().is_some() && error.to_string().contains(&address.port().to_string()));
    resolved.endpoint.host_name = "no-such-host.invalid".into();
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.stage()),
        (ErrorKind::Unreachable, Stage::Lookup)
    );
    let text = error.to_string();
    assert!(!text.contains('{') && !text.contains("Query"), "{text}");
    assert_eq!(text.matches("no-such-host.invalid").count(), 1, "{text}");
}

#[tokio::test]
async fn what_is_no_ssh_server_is_said_so() {
    let client = Client::new();
    client.trust("");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let web = client.scope.spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await
            .unwrap();
    });
    let error = client.connect(&client.resolved(address)).await.unwrap_err();
    assert_eq!(error.stage(), Stage::Handshake);
    web.await.unwrap();
}

#[tokio::test]
async fn cancelling_the_scope_disconnects() {
    for (server, mut client) in both_servers().await {
        let (_proxy, connection) = behind_proxy(&server, &mut client).await;
        client.scope.cancel();
        assert_eq!(closed(&connection).await.kind(), ErrorKind::Closed);
    }
}

#[tokio::test]
async fn the_last_handle_closes_the_connection() {
    for (server, mut client) in both_servers().await {
        let (_proxy, connection) = behind_proxy(&server, &mut client).await;
        let gone = connection.closed();
        drop(connection);
        tokio::time::timeout(Duration::from_secs(20), gone).await.unwrap();
    }
}

#[tokio::test]
async fn the_embedded_server_can_drop_its_connections() {
    let [_, (server, client)] = both_servers().await.try_into().ok().unwrap();
    let connection = client.connect(&client.resolved(server.address())).await.unwrap();
    let Server::Embedded(embedded) = &server else {
        panic!("the second is embedded")
    };
    embedded.drop_connections();
    assert_eq!(closed(&connection).await.kind(), ErrorKind::Closed);
    client.connect(&client.resolved(server.address())).await.unwrap();
    embedded.close().await;
}
