//! Commands: status, signals, large output, uploads, sessions that are refused.

use std::{path::Path, time::Duration};

use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use transport::{
    CaptureLimits, Connection, ErrorKind, ExitStatus,
    testing::{RealSshd, TestServer, TestServerOptions, login_shell_wrapper},
};

use crate::support::{Client, both_servers, server_options, sshd_options};

const LONG: Duration = Duration::from_secs(60);

async fn capture(connection: &Connection, command: &str) -> transport::Output {
    connection
        .exec_capture(command, b"", CaptureLimits::default(), LONG)
        .await
        .unwrap()
}

#[tokio::test]
async fn status_output_and_errors_arrive() {
    for (server, client) in both_servers().await {
        let connection = client.connect(&client.resolved(server.address())).await.unwrap();
        let output = capture(&connection, "echo out; echo err >&2; echo $HOME; exit 7").await;
        assert_eq!(output.status, ExitStatus::Code(7));
        assert_eq!(
            output.stdout,
            format!("out\n{}\n", client.folder.path().display()).as_bytes()
        );
        assert_eq!(output.stderr, b"err\n");
        let killed = capture(&connection, "kill -TERM $$").await.status;
        assert!(
            matches!(&killed, ExitStatus::Signal { name, .. } if name == "TERM"),
            "{killed:?} instead of the signal"
        );
        let echoed = connection
            .exec_capture("cat", b"through", CaptureLimits::default(), LONG)
            .await
            .unwrap();
        assert_eq!(
            (echoed.stdout.as_slice(), echoed.status.success()),
            (b"through".as_slice(), true)
        );
    }
}

#[tokio::test]
async fn large_output_is_complete_and_a_limit_only_cuts_what_is_kept() {
    for (server, client) in both_servers().await {
        let connection = client.connect(&client.resolved(server.address())).await.unwrap();
        let limits = CaptureLimits {
            stdout: 64 * 1024 * 1024,
            stderr: 10,
        };
        let output = connection
            .exec_capture(
                "head -c 20000000 /dev/zero; echo 0123456789abcdef >&2",
                b"",
                limits,
                LONG,
            )
            .await
            .unwrap();
        assert_eq!(
            (output.stdout.len(), output.stderr.as_slice()),
            (20_000_000, b"0123456789".as_slice())
        );
        assert!(output.truncated && output.status.success());
    }
}

#[tokio::test]
async fn a_command_that_does_not_end_meets_its_deadline() {
    for (server, client) in both_servers().await {
        let connection = client.connect(&client.resolved(server.address())).await.unwrap();
        let slow = connection.exec_capture(
            "sleep 1000",
            b"",
            CaptureLimits::default(),
            Duration::from_millis(200),
        );
        assert_eq!(slow.await.unwrap_err().kind(), ErrorKind::Unreachable);
        assert!(
            capture(&connection, "true").await.status.success(),
            "the connection stays usable"
        );
    }
}

fn sha(data: &[u8]) -> String {
    Sha256::digest(data)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Writes all data, closes at once and waits for the end.
async fn upload(connection: &Connection, file: &Path, data: &[u8]) {
    let (mut stdin, _stdout, _stderr, waiter) = connection
        .exec(&format!("cat > '{}'", file.display()))
        .await
        .unwrap()
        .into_parts();
    stdin.write_all(data).await.unwrap();
    stdin.shutdown().await.unwrap();
    drop(stdin);
    assert!(waiter.wait().await.unwrap().success());
}

/// RA-07.
#[tokio::test]
async fn end_of_file_never_overtakes_data() {
    const WINDOW: usize = 2 * 1024 * 1024;
    for (server, client) in both_servers().await {
        let connection = client.connect(&client.resolved(server.address())).await.unwrap();
        let sizes = [
            1,
            32 * 1024 - 1,
            32 * 1024 + 1,
            WINDOW - 1,
            WINDOW + 1,
            8 * 1024 * 1024,
        ];
        for round in 0..8 {
            for size in sizes {
                if size > WINDOW && round > 1 {
                    continue;
                }
                let data: Vec<u8> = (0..size)
                    .map(|index| u8::try_from((index * 31 + round) % 251).unwrap())
                    .collect();
                let file = client.path("upload");
                upload(&connection, &file, &data).await;
                assert_eq!(
                    sha(&std::fs::read(&file).unwrap()),
                    sha(&data),
                    "{size} bytes, round {round}"
                );
            }
        }
    }
}

#[tokio::test]
async fn input_that_is_dropped_without_shutdown_still_arrives() {
    for (server, client) in both_servers().await {
        let connection = client.connect(&client.resolved(server.address())).await.unwrap();
        let file = client.path("dropped");
        let (mut stdin, _out, _err, waiter) = connection
            .exec(&format!("cat > '{}'", file.display()))
            .await
            .unwrap()
            .into_parts();
        stdin.write_all(&[7; 40_000]).await.unwrap();
        drop(stdin);
        assert!(waiter.wait().await.unwrap().success());
        assert_eq!(std::fs::read(file).unwrap().len(), 40_000);
    }
}

#[tokio::test]
async fn sessions_beyond_the_limit_are_refused_by_name() {
    let client = Client::new();
    let mut options = sshd_options(&client);
    options.config.push("MaxSessions 1".into());
    let real = RealSshd::start(options).await.unwrap();
    let embedded = TestServer::start(TestServerOptions {
        max_sessions: 1,
        ..server_options(&client)
    })
    .await
    .unwrap();
    client.trust(&format!("{}{}", real.known_hosts(), embedded.known_hosts()));
    for address in [real.address(), embedded.address()] {
        let connection = client.connect(&client.resolved(address)).await.unwrap();
        let first = connection.exec("cat").await.unwrap();
        let error = connection.exec("true").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ChannelRefused, "{error}");
        assert!(error.hint().unwrap().contains("MaxSessions"));
        // `wait` closes the input of `cat`, which ends it.
        assert!(first.wait().await.unwrap().success());
        assert!(capture(&connection, "true").await.status.success());
    }
}

#[tokio::test]
async fn other_login_shells_and_noise() {
    for shell in ["/bin/bash", "/bin/dash", "/usr/bin/fish", "/bin/tcsh"] {
        let client = Client::new();
        let mut options = sshd_options(&client);
        options.forced_command = Some(login_shell_wrapper(client.folder.path(), shell, "echo noise"));
        let server = RealSshd::start(options).await.unwrap();
        client.trust(&server.known_hosts());
        let connection = client.connect(&client.resolved(server.address())).await.unwrap();
        let output = connection
            .exec_capture(
                "/bin/sh",
                b"echo real; pwd; exit 3",
                CaptureLimits::default(),
                LONG,
            )
            .await
            .unwrap();
        let expect = format!(
            "noise\nreal\n{}\n",
            client.folder.path().canonicalize().unwrap().display()
        );
        assert_eq!(
            (String::from_utf8_lossy(&output.stdout).as_ref(), output.status),
            (expect.as_str(), ExitStatus::Code(3)),
            "{shell}"
        );
    }
}

#[tokio::test]
async fn a_detached_process_outlives_the_connection() {
    for (server, client) in both_servers().await {
        let connection = client.connect(&client.resolved(server.address())).await.unwrap();
        let flag = client.path("flag");
        let go = client.path("go");
        let script = format!(
            "setsid sh -c 'while ! test -e {}; do sleep 0.05; done; echo done > {}' </dev/null >/dev/null 2>&1 &",
            go.display(),
            flag.display()
        );
        assert!(capture(&connection, &script).await.status.success());
        connection.disconnect().await;
        std::fs::write(&go, "").unwrap();
        transport::testing::wait_until("the detached process", || async { flag.exists().then_some(()) })
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn the_sftp_subsystem_answers_and_its_absence_shows() {
    // A packet of five bytes: the first of a session, version 3.
    const HELLO: [u8; 9] = [0, 0, 0, 5, 1, 0, 0, 0, 3];
    for (server, client) in both_servers().await {
        let connection = client.connect(&client.resolved(server.address())).await.unwrap();
        let mut sftp = connection.sftp_stream().await.unwrap();
        // Where there is none the stream may be gone already.
        drop(sftp.write_all(&HELLO).await);
        let mut answer = [0; 9];
        let read = sftp.read_exact(&mut answer).await;
        match server {
            crate::support::Server::Real(_) => {
                read.unwrap();
                assert_eq!(answer[4..], [2, 0, 0, 0, 3]);
            }
            crate::support::Server::Embedded(_) => {
                let error = read.unwrap_err();
                let error = transport::Error::from_io(&error).unwrap();
                assert_eq!(error.kind(), ErrorKind::ChannelRefused);
                assert!(error.to_string().contains("the sftp subsystem"), "{error}");
            }
        }
    }
}
