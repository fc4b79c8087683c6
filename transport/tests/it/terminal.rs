//! Terminals on a real sshd.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use transport::{Connection, ExecOutput, ExitStatus, Size, Terminal, TerminalRequest, testing::RealSshd};

use crate::support::{Client, sshd_options};

const DEADLINE: Duration = Duration::from_secs(60);

async fn host() -> (RealSshd, Client, Connection) {
    let client = Client::new();
    let server = RealSshd::start(sshd_options(&client)).await.unwrap();
    client.trust(&server.known_hosts());
    let connection = client.connect(&client.resolved(server.address())).await.unwrap();
    (server, client, connection)
}

async fn open(connection: &Connection, command: Option<&str>) -> Terminal {
    let request = TerminalRequest {
        term: "xterm-256color".to_owned(),
        size: Size {
            columns: 91,
            rows: 33,
        },
        environment: Vec::new(),
        command: command.map(str::to_owned),
    };
    connection.terminal(&request).await.unwrap()
}

/// Reads until a word has come.
async fn until(output: &mut ExecOutput, word: &str) -> String {
    let mut seen = Vec::new();
    let reading = async {
        let mut buffer = [0; 4096];
        while !String::from_utf8_lossy(&seen).contains(word) {
            let count = output.read(&mut buffer).await.unwrap();
            assert!(count > 0, "ended: {}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&buffer[..count]);
        }
    };
    tokio::time::timeout(DEADLINE, reading).await.unwrap();
    String::from_utf8_lossy(&seen).into_owned()
}

#[tokio::test]
async fn a_command_sees_a_terminal_of_the_size_that_was_told_and_of_the_next() {
    let (_server, _client, connection) = host().await;
    let command = "test -t 0 && test -t 1 && echo $TERM; stty size; read -r line; stty size; exit 7";
    let Terminal { exec, control } = open(&connection, Some(command)).await;
    let (mut input, mut output, _errors, waiter) = exec.into_parts();
    let first = until(&mut output, "33 91").await;
    assert!(first.contains("xterm-256color"), "{first}");
    control
        .resize(Size {
            columns: 120,
            rows: 50,
        })
        .await;
    // Requests and data of one channel come in order, but not to the same process: the size shows when it shows.
    input.write_all(b"go\n").await.unwrap();
    let second = until(&mut output, "50 120").await;
    assert!(second.contains("go"), "{second}");
    assert_eq!(waiter.wait().await.unwrap(), ExitStatus::Code(7));
}

#[tokio::test]
async fn keys_are_signals_and_a_shell_ends_with_its_input() {
    let (_server, _client, connection) = host().await;
    let Terminal { exec, control: _ } = open(&connection, Some("echo ready; exec sleep 600")).await;
    let (mut input, mut output, _errors, waiter) = exec.into_parts();
    until(&mut output, "ready").await;
    input.write_all(b"\x03").await.unwrap();
    let ended = tokio::time::timeout(DEADLINE, waiter.wait())
        .await
        .unwrap()
        .unwrap();
    assert!(
        matches!(&ended, ExitStatus::Signal { name, .. } if name == "INT"),
        "{ended:?}"
    );

    let Terminal { exec, control } = open(&connection, None).await;
    let (mut input, mut output, _errors, waiter) = exec.into_parts();
    input.write_all(b"echo $((40 + 2))-$0; exit 3\n").await.unwrap();
    until(&mut output, "42-").await;
    assert_eq!(waiter.wait().await.unwrap(), ExitStatus::Code(3));
    drop(control);
}
