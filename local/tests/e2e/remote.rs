//! The main job: one command from the laptop to a turn that runs on the host.

use scripted_model::Scenario;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::rig::{HostOptions, Rig, numbers, session_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_cold_host_gets_the_program_and_runs_the_turn_beside_the_code() {
    let scenario = Scenario::new()
        .call("bash", &json!({"command": "echo here > made.txt; pwd"}))
        .call("write_file", &json!({"path": "sub/b.txt", "content": "b"}))
        .say("Made two files.");
    let rig = Rig::new(scenario, HostOptions::default()).await;
    let run = rig.start(&[
        "run",
        "--remote",
        "box",
        "--output-format",
        "stream-json",
        "make files",
    ]);
    let (lines, status, stderr) = run.finish().await;
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert!(rig.work().join("made.txt").exists() && rig.work().join("sub/b.txt").exists());
    assert_eq!(
        std::fs::read_dir(rig.local_work()).unwrap().count(),
        0,
        "nothing on the laptop"
    );
    assert!(stderr.contains("uploading the program"), "{stderr}");
    let seen = numbers(&lines);
    assert_eq!(seen, (1..=seen.len() as u64).collect::<Vec<_>>());
    let result = lines.last().unwrap();
    assert_eq!(
        (result["type"].as_str(), result["exit_code"].as_u64()),
        (Some("result"), Some(0))
    );
    assert_eq!(result["result"], "Made two files.");
    assert!(
        stderr.contains(&session_of(&lines).to_string()),
        "the way back is printed: {stderr}"
    );

    // The second visit finds the daemon.
    rig.model.push(scripted_model::Reply::new().say("Still here."));
    let again = rig.run(&["run", "--remote", "box", "again"]).await;
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stdout.contains("Still here."));
    assert!(!again.stderr.contains("uploading"), "{}", again.stderr);

    let identity = rig.daemon().unwrap();
    let socket = std::path::PathBuf::from(identity["identity"]["socket"].as_str().unwrap());
    let stopped = rig.run(&["remote", "stop", "box"]).await;
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    assert!(!socket.parent().unwrap().exists(), "the run directory is gone");
    assert_eq!(rig.daemon_pid(), None, "nothing was started to take its place");
    let again = rig.run(&["remote", "stop", "box"]).await;
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stdout.contains("no agent runs on box"), "{}", again.stdout);
    assert_eq!(rig.daemon_pid(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_of_the_host_is_one_flag_away() {
    // A service on the host that answers in capitals.
    let service = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let far = service.local_addr().unwrap().port();
    let serving = async {
        loop {
            let (mut client, _) = service.accept().await.unwrap();
            let mut text = String::new();
            client.read_to_string(&mut text).await.unwrap();
            client.write_all(text.to_uppercase().as_bytes()).await.unwrap();
        }
    };
    let near = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let scenario = Scenario::new().reply(scripted_model::Reply::new().gate("held").say("Done."));
    let rig = Rig::new(scenario, HostOptions::installed()).await;
    let rule = format!("{near}:127.0.0.1:{far}");
    let run = rig.start(&[
        "run",
        "--remote",
        "box",
        "-L",
        &rule,
        "--output-format",
        "stream-json",
        "wait",
    ]);
    let asking = async {
        rig.model.wait_for_requests(1).await;
        let mut client = tokio::net::TcpStream::connect(("127.0.0.1", near)).await.unwrap();
        client.write_all(b"hello").await.unwrap();
        client.shutdown().await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "HELLO");
        rig.model.gate("held").open();
        let (_, status, stderr) = run.finish().await;
        assert_eq!(status.code(), Some(0), "{stderr}");
    };
    tokio::select! {
        () = serving => {}
        () = asking => {}
    }
    rig.model.push(scripted_model::Reply::new().say("Without it."));
    let public = rig
        .run(&["run", "--remote", "box", "-L", "0.0.0.0:1:a:1", "x"])
        .await;
    // Named, and the work goes on without it.
    assert_eq!(public.code, Some(0), "{}", public.stderr);
    assert!(
        public.stderr.contains("0.0.0.0:1:a:1 is not opened")
            && public.stderr.contains("--allow-public-bind"),
        "{}",
        public.stderr
    );
    let without = rig.run(&["run", "-L", "1:a:1", "x"]).await;
    assert_eq!(without.code, Some(2), "{}", without.stderr);
}
