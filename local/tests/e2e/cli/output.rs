//! What is printed, and what happens when it cannot be.

use std::{fs, process::Stdio};

use scripted_model::{Reply, Scenario};
use serde_json::json;

use crate::{
    local_rig::{LocalRig, only_line, sound},
    rig::{ended, numbers, session_of},
};

fn some_work() -> Scenario {
    Scenario::new()
        .reply(Reply::new().say("I look.\n").call("ls", &json!({})))
        .say("All is well.")
}

#[tokio::test(flavor = "multi_thread")]
async fn text_is_the_answer_with_a_line_for_each_call() {
    let rig = LocalRig::new(some_work()).await;
    let ran = rig.run(&["run", "look"]).await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(ran.stdout, "I look.\n-> ls {}\nAll is well.\n");
    assert!(ran.stderr.contains("reasonix attach "), "the way back: {ran:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn json_is_one_line_and_a_stream_ends_with_it() {
    let rig = LocalRig::new(some_work()).await;
    let ran = rig.run(&["run", "--output-format", "json", "look"]).await;
    let result = only_line(&ran);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    for (key, value) in [
        ("type", json!("result")),
        ("subtype", json!("success")),
        ("schema", json!(1)),
        ("is_error", json!(false)),
        ("exit_code", json!(0)),
        ("num_turns", json!(2)),
        ("result", json!("All is well.")),
        ("workspace", json!(rig.work())),
        ("denied_calls", json!([])),
    ] {
        assert_eq!(result[key], value, "{key}: {result}");
    }
    assert!(result["usage"]["output_tokens"].as_u64().unwrap() > 0, "{result}");

    let rig = LocalRig::new(some_work()).await;
    let run = rig.start(&["run", "--output-format", "stream-json", "look"]);
    let (lines, status, stderr) = run.finish().await;
    assert_eq!(status.code(), Some(0), "{stderr}");
    for line in &lines {
        assert_eq!(line["schema"], 1, "{line}");
    }
    let seen = numbers(&lines);
    assert_eq!(seen, (1..=seen.len() as u64).collect::<Vec<_>>());
    let (last, before) = lines.split_last().unwrap();
    assert_eq!(last["type"], "result");
    assert!(before.iter().all(|line| line["type"] != "result"));
    assert_eq!(last["session_id"], session_of(&lines).to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_leaves_is_no_error() {
    let rows: [&[&str]; 4] = [
        &["run", "look"],
        &["run", "--output-format", "json", "look"],
        &["run", "--output-format", "stream-json", "look"],
        &["sessions"],
    ];
    for args in rows {
        let rig = LocalRig::new(some_work()).await;
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = rig.command(args).stdout(Stdio::from(writer)).spawn().unwrap();
        let ran = sound(ended(args, child.wait_with_output()).await);
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:#?}");
        if args[0] == "run" {
            assert_eq!(
                rig.model.requests().len(),
                2,
                "{args:?}: the task is done all the same"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_output_is_an_error() {
    let rows: [&[&str]; 3] = [
        &["run", "--output-format", "json", "look"],
        &["config", "explain", "agent.temperature"],
        &["remote", "list"],
    ];
    for args in rows {
        let rig = LocalRig::new(some_work()).await;
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let child = rig.command(args).stdout(full).spawn().unwrap();
        let ran = sound(ended(args, child.wait_with_output()).await);
        assert_eq!(ran.code, Some(1), "{args:?}: {ran:#?}");
        assert!(ran.stderr.contains("standard output"), "{args:?}: {ran:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_turn_says_so_and_goes_on_later() {
    let scenario = Scenario::new().call("ls", &json!({})).say("Going on.");
    let rig = LocalRig::new(scenario).await;
    let done = rig.task(&["--max-steps", "1"]).await;
    assert_eq!(
        (done.code, done.result["exit_code"].as_u64()),
        (Some(7), Some(7)),
        "{done:#?}"
    );
    let session = done.session();
    let done = rig.task(&["--resume", &session]).await.ok();
    assert_eq!(done.result["result"], "Going on.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_session_takes_a_stricter_preset() {
    let write = json!({"path": "made", "content": "x"});
    let rig = LocalRig::new(
        Scenario::new()
            .say("Hello.")
            .call("write_file", &write)
            .say("No."),
    )
    .await;
    let session = rig.task(&[]).await.ok().session();
    let done = rig
        .task(&["--resume", &session, "--permission-mode", "read-only"])
        .await;
    assert_eq!(
        (done.code, done.denied("path")),
        (Some(1), vec!["made".to_owned()])
    );
    assert!(!rig.has("made"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_has_help_and_running_ones_name_exit_codes() {
    let rig = LocalRig::new(Scenario::new()).await;
    let commands: [&[&str]; 22] = [
        &[],
        &["run"],
        &["attach"],
        &["sessions"],
        &["remote"],
        &["remote", "add"],
        &["remote", "list"],
        &["remote", "remove"],
        &["remote", "key"],
        &["remote", "stop"],
        &["remote", "show"],
        &["remote", "test"],
        &["remote", "connect"],
        &["remote", "status"],
        &["remote", "logs"],
        &["setup"],
        &["demo"],
        &["config"],
        &["config", "explain"],
        &["config", "check"],
        &["serve"],
        &["key"],
    ];
    for command in commands {
        let ran = rig.run(&[command, &["--help"]].concat()).await;
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{command:?}");
        assert!(ran.stdout.contains("Usage: reasonix"), "{command:?}: {ran:#?}");
        let word = rig.run(&[&["help"], command].concat()).await;
        assert_eq!(
            (word.code, word.stdout),
            (Some(0), ran.stdout.clone()),
            "{command:?}"
        );
        if matches!(command, [] | ["run"] | ["attach"]) {
            assert!(
                ran.stdout.contains("Exit codes:") && ran.stdout.contains("130"),
                "{command:?}: {ran:#?}"
            );
        }
    }
    let version = rig.run(&["--version"]).await;
    assert_eq!(
        version.stdout.lines().next(),
        Some(concat!("reasonix ", env!("CARGO_PKG_VERSION")))
    );
}
