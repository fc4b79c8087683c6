//! The files of the agent's machine over the wire.

use std::path::PathBuf;

use client::AgentStream;
use protocol::StreamTarget;
use scripted_model::Scenario;
use sftp::{Client, packet::OpenFlags};
use stdx::task::Scope;

use crate::rig::{DEADLINE, Pipes, Rig};

async fn session(pipes: &Pipes, scope: &Scope) -> Client {
    let stream: AgentStream = pipes.agent().open_stream(&StreamTarget::Files).await.unwrap();
    let options = sftp::client::Options::default();
    let opened = Client::start(stream, &options, scope);
    tokio::time::timeout(DEADLINE, opened).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn several_sessions_at_once_read_and_write_the_users_files() {
    let home = tempfile::tempdir().unwrap();
    let home_path = std::fs::canonicalize(home.path()).unwrap();
    let options = serve::Options {
        user_home: PathBuf::from(home.path()),
        ..serve::Options::default()
    };
    let streams = options.streams.clone();
    let rig = Rig::with(Scenario::default(), options).await;
    let pipes = Pipes::new(&rig);
    let scope = Scope::root("files");
    let content: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 253) as u8).collect();
    let mut all = Vec::new();
    for number in 0..4 {
        let client = session(&pipes, &scope).await;
        assert_eq!(
            client.real_path(b".").await.unwrap(),
            home_path.as_os_str().as_encoded_bytes()
        );
        let name = format!("file {number}\n").into_bytes();
        let flags = OpenFlags::WRITE | OpenFlags::CREATE;
        let file = client.open(&name, flags, None).await.unwrap();
        for (at, piece) in content.chunks(100_000).enumerate() {
            let piece = bytes::Bytes::copy_from_slice(piece);
            file.write(at as u64 * 100_000, piece).await.unwrap();
        }
        file.close().await.unwrap();
        all.push(client);
    }
    for (number, client) in all.iter().enumerate() {
        let there = home.path().join(format!("file {number}\n"));
        assert!(std::fs::read(&there).unwrap() == content);
        assert_eq!(
            client.stat(b"file 0\n").await.unwrap().size,
            Some(content.len() as u64)
        );
    }
    // They end with the agent.
    streams.close(DEADLINE).await;
    for client in all {
        assert!(client.stat(b".").await.unwrap_err().is_lost());
    }
}
