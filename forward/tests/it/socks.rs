//! `-D`: a SOCKS server as clients see it.

use std::process::Stdio;

use forward::{Endpoint, ForwardOptions};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::support::{Setup, StandIn, add, address, ask, only, reversing, tcp, until};

/// A web server that answers every request with the same page.
async fn web(setup: &Setup) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(setup.scope.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                match stream.read_buf(&mut request).await {
                    Ok(0) | Err(_) => break,
                    Ok(_) => {}
                }
            }
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
            drop(stream.write_all(answer).await);
        }
    }));
    port
}

async fn curl(arguments: &[&str]) -> String {
    let output = stdx::process::command("curl")
        .args(["--silent", "--show-error", "--noproxy", "", "--max-time", "20"])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .await;
    let output = match output {
        Ok(output) => output,
        Err(error) => panic!("could not run curl: {error}; install the package curl"),
    };
    let mut text = String::from_utf8(output.stdout).unwrap();
    text.push_str(&String::from_utf8(output.stderr).unwrap());
    text
}

#[tokio::test]
async fn curl_is_served_in_every_dialect() {
    let setup = Setup::new();
    let (_sshd, forwards) = setup.connected(&[]).await;
    let port = web(&setup).await;
    let proxy = address(&add(&forwards, "D:0").await).to_string();
    let six = add(&forwards, "D:[::1]:0").await.to_string();
    let (by_name, by_address) = (
        format!("http://localhost:{port}/"),
        format!("http://127.0.0.1:{port}/"),
    );
    for (flag, proxy, url) in [
        ("--socks5-hostname", &proxy, &by_name),
        ("--socks5-hostname", &six, &by_name),
        ("--socks5", &proxy, &by_address),
        ("--socks4a", &proxy, &by_name),
        ("--socks4", &proxy, &by_address),
    ] {
        assert_eq!(curl(&[flag, proxy, url]).await, "hello", "{flag} {proxy} {url}");
    }
    let agent = StandIn::new(&forwards);
    assert_eq!(curl(&["--socks5-hostname", &proxy, &by_name]).await, "hello");
    assert_eq!(agent.connects(), 1);
}

/// What a client hears that asks for an address in SOCKS 5.
async fn asked(proxy: &Endpoint, request: &[u8]) -> Vec<u8> {
    let mut client = TcpStream::connect(address(proxy)).await.unwrap();
    client.write_all(b"\x05\x01\x00").await.unwrap();
    client.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    answer
}

fn connect_to(port: u16) -> Vec<u8> {
    let mut request = b"\x05\x01\x00\x01\x7f\x00\x00\x01".to_vec();
    request.extend(port.to_be_bytes());
    request
}

#[tokio::test]
async fn refusals_have_the_right_code() {
    let setup = Setup::new();
    let gone = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let (_sshd, forwards) = setup.connected(&[]).await;
    let proxy = add(&forwards, "D:0 via=ssh").await;
    assert_eq!(asked(&proxy, &connect_to(gone)).await[3], 5, "nobody listens");
    // BIND and UDP ASSOCIATE.
    for command in [2, 3] {
        let mut request = connect_to(gone);
        request[1] = command;
        assert_eq!(asked(&proxy, &request).await[3], 7);
    }
    assert_eq!(asked(&proxy, b"\x05\x01\x00\x02").await[3], 8);
    let rule = until(&forwards, "the failures", |rule| rule.failed == 4).await;
    assert_eq!(rule.open, 0);
    let forbidding = setup.sshd(&["AllowTcpForwarding no"]).await;
    let connection = setup
        .connect(forbidding.address(), &forbidding.known_hosts())
        .await;
    forwards.set_connection(Some(connection));
    assert_eq!(
        asked(&proxy, &connect_to(gone)).await[3],
        2,
        "not allowed by the rules"
    );
    let rule = until(&forwards, "the failure", |rule| rule.failed == 5).await;
    let message = rule.last_error.unwrap().message;
    assert!(
        message.contains("forbids") && message.contains("D:127.0.0.1:0"),
        "{message}"
    );
}

#[tokio::test]
async fn what_a_client_sends_too_early_is_not_lost() {
    let setup = Setup::new();
    let (_sshd, forwards) = setup.connected(&[]).await;
    let Endpoint::Tcp { port, .. } = reversing(&setup.scope, &tcp("127.0.0.1", 0)).await else {
        panic!("not a port");
    };
    let proxy = add(&forwards, "D:0").await;
    let mut all = b"\x05\x01\x00".to_vec();
    all.extend(connect_to(port));
    all.extend(b"early");
    let answer = ask(TcpStream::connect(address(&proxy)).await.unwrap(), &all).await;
    assert_eq!(answer, b"\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00ylrae");
    let rule = until(&forwards, "its end", |rule| rule.open == 0).await;
    assert_eq!((rule.up, rule.down, rule.failed), (5, 5, 0));
}

#[tokio::test]
async fn a_client_that_says_nothing_or_too_much_is_let_go() {
    let setup = Setup::new();
    let forwards = setup.forwards_with(ForwardOptions {
        handshake: std::time::Duration::from_millis(100),
        ..ForwardOptions::default()
    });
    let proxy = add(&forwards, "D:0").await;
    let mut silent = TcpStream::connect(address(&proxy)).await.unwrap();
    silent.read(&mut [0; 1]).await.unwrap_err();
    let mut endless = TcpStream::connect(address(&proxy)).await.unwrap();
    endless
        .write_all(b"\x04\x01\x00\x50\x0a\x00\x00\x01")
        .await
        .unwrap();
    // It may be let go before it has said all of it.
    drop(endless.write_all(&[b'x'; 4096]).await);
    assert_eq!(endless.read(&mut [0; 1]).await.unwrap_or(0), 0);
    let mut web = TcpStream::connect(address(&proxy)).await.unwrap();
    web.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    assert_eq!(web.read(&mut [0; 1]).await.unwrap_or(0), 0);
    until(&forwards, "the failures", |rule| rule.failed == 3).await;
    assert_eq!(only(&forwards).open, 0);
}
