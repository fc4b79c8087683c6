//! The agent's side from the command line.

use std::{
    fs, io,
    pin::Pin,
    process::Stdio,
    sync::{Arc, Mutex},
};

use client::{Agent, ByteStream, Options};
use rustix::process::Signal;
use scripted_model::Scenario;
use serde_json::Value;
use stdx::task::Scope;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::{
    local_rig::{LocalRig, in_time, only_line, sound},
    rig::{daemon_below, daemon_pid_below, ended, eventually, send_signal},
};

/// A connection on its way.
type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn ByteStream>>> + Send>>;

/// Waits until the daemon of a rig has said who it is, and gives its process id.
async fn daemon(rig: &LocalRig) -> u32 {
    eventually("a daemon runs", || daemon_pid_below(rig.root()).is_some()).await;
    daemon_pid_below(rig.root()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn standard_input_and_output_speak_http_2() {
    let rig = LocalRig::new(Scenario::new()).await;
    let mut child = rig
        .command(&["serve", "--stdio"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let stream = tokio::io::join(child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let once = Arc::new(Mutex::new(Some(Box::new(stream) as Box<dyn ByteStream>)));
    let connect = move || -> Connecting {
        let stream = once.lock().unwrap().take();
        Box::pin(async move { stream.ok_or_else(|| io::Error::other("there is one connection")) })
    };
    let scope = Scope::root("test");
    let agent = Agent::new(connect, Options::default(), &scope);
    let hello = in_time("a hello", agent.hello()).await.unwrap();
    assert_eq!(Some(hello.identity.pid), child.id());
    assert!(agent.sessions().await.unwrap().sessions.is_empty());
    assert_eq!(daemon_below(rig.root()), None, "no socket, no daemon");
    drop(agent);
    scope.close(std::time::Duration::from_secs(5)).await;
    let ran = sound(ended(&["serve", "--stdio"], child.wait_with_output()).await);
    assert_eq!(ran.code, Some(0), "it ends with its connection: {ran:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn standard_input_and_output_speak_http_1() {
    let rig = LocalRig::new(Scenario::new()).await;
    let args = ["serve", "--stdio"];
    let mut child = rig.command(&args).stdin(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    input
        .write_all(b"GET /v1/hello HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    in_time("an answer", output.read_to_string(&mut answer))
        .await
        .unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let body: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert!(body["identity"]["pid"].is_u64(), "{body}");
    drop(input);
    let ran = sound(ended(&args, child.wait_with_output()).await);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_daemon_of_a_home_is_refused_and_the_first_ends_with_a_signal() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let rig = LocalRig::new(Scenario::new()).await;
        let first = rig.command(&["serve"]).spawn().unwrap();
        let pid = daemon(&rig).await;
        assert_eq!(first.id(), Some(pid));
        let second = rig.run(&["serve"]).await;
        assert_eq!(second.code, Some(1), "{second:#?}");
        assert!(
            second.stderr.contains("runs already") && second.stderr.contains("lock"),
            "{second:#?}"
        );
        assert_eq!(
            daemon_pid_below(rig.root()),
            Some(pid),
            "the first one is as it was"
        );
        let identity = daemon_below(rig.root()).unwrap();
        let socket = std::path::PathBuf::from(identity["identity"]["socket"].as_str().unwrap());
        send_signal(pid, signal);
        let ran = sound(ended(&["serve"], first.wait_with_output()).await);
        assert_eq!(ran.code, Some(0), "{signal:?}: {ran:#?}");
        assert_eq!(daemon_below(rig.root()), None, "its socket and identity are gone");
        assert!(!socket.parent().unwrap().exists(), "and so is its run directory");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn detaching_twice_gives_the_same_daemon() {
    let rig = LocalRig::new(Scenario::new()).await;
    let first = only_line(&rig.run(&["serve", "--detach"]).await);
    let second = only_line(&rig.run(&["serve", "--detach"]).await);
    assert_eq!(first, second);
    let pid = u32::try_from(first["identity"]["pid"].as_u64().unwrap()).unwrap();
    assert_eq!(daemon_pid_below(rig.root()), Some(pid));
    let fenced = rig.run(&["serve", "--detach", "--fence", "rx7"]).await.stdout;
    let line = fenced.lines().find(|line| line.starts_with("rx7 ")).unwrap();
    let inner = line
        .strip_prefix("rx7 ")
        .and_then(|line| line.strip_suffix(" rx7"))
        .unwrap();
    assert_eq!(serde_json::from_str::<Value>(inner).unwrap(), first);
    send_signal(pid, Signal::TERM);
    eventually("the daemon has ended", || daemon_below(rig.root()).is_none()).await;
    assert!(
        fs::read_to_string(rig.state().join("logs/daemon.log"))
            .unwrap()
            .contains("serving")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_nobody_needs_ends() {
    let rig = LocalRig::new(Scenario::new()).await;
    rig.configure("[serve]\nidle_exit = \"200ms\"\n");
    let ran = rig.run(&["serve", "--detach"]).await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    eventually("the daemon has ended", || daemon_below(rig.root()).is_none()).await;
    let log = fs::read_to_string(rig.state().join("logs/daemon.log")).unwrap();
    assert!(log.contains("nobody has needed"), "{log}");
}
