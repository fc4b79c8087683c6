//! What listens on the agent's machine.

use scripted_model::Scenario;
use tokio::net::TcpListener;

use crate::rig::{Pipes, Rig};

#[tokio::test]
async fn ports_of_other_processes_are_listed_and_the_agents_own_are_not() {
    let rig = Rig::new(Scenario::default()).await;
    let pipes = Pipes::new(&rig);
    let agent = pipes.agent();
    // The agent runs in this process here, so what this process holds is its own.
    let own = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let own = own.local_addr().unwrap().port();
    let mut other = stdx::process::command("python3");
    other
        .arg("-c")
        .arg("import socket, sys\ns = socket.create_server(('127.0.0.1', 0))\nprint(s.getsockname()[1], flush=True)\nsys.stdin.read()")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true);
    let mut other = other.spawn().unwrap();
    let mut line = String::new();
    let stdout = other.stdout.take().unwrap();
    tokio::io::AsyncBufReadExt::read_line(&mut tokio::io::BufReader::new(stdout), &mut line)
        .await
        .unwrap();
    let port: u16 = line.trim().parse().unwrap();

    let ports = agent.ports().await.unwrap().ports;
    let found = ports.iter().find(|found| found.port == port).unwrap();
    assert_eq!((found.host.as_str(), found.public), ("127.0.0.1", false));
    let process = found.process.as_ref().unwrap();
    assert_eq!(Some(process.pid), other.id());
    assert!(process.name.starts_with("python"), "{process:?}");
    assert!(!ports.iter().any(|found| found.port == own));
    assert!(ports.is_sorted_by_key(|found| found.port));
}
