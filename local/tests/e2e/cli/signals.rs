//! A person, a terminal or a supervisor ends a run.

use rustix::process::Signal;
use scripted_model::{Reply, Scenario};
use serde_json::json;

use crate::{
    local_rig::LocalRig,
    rig::{Streaming, eventually, send_signal},
};

/// Starts a run and waits until its command runs; gives the command's process id.
async fn busy(rig: &LocalRig) -> (Streaming, u32) {
    let run = rig.start(&["run", "--output-format", "stream-json", "wait"]);
    eventually("the command runs", || rig.has("pid")).await;
    let pid = String::from_utf8(rig.read("pid"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    (run, pid)
}

async fn gone(pid: u32) {
    let process = format!("/proc/{pid}/cwd");
    eventually("the command has ended", || {
        !std::path::Path::new(&process).exists()
    })
    .await;
}

/// A command that lasts, and writes its process id when it is ready.
fn lasting(prelude: &str) -> Scenario {
    let command = format!("{prelude} echo $$ > new; mv new pid; while :; do sleep 0.1; done");
    Scenario::new()
        .call("bash", &json!({"command": command}))
        .say("Never said.")
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_stops_the_turn_and_what_it_runs() {
    let rig = LocalRig::new(lasting("")).await;
    let (run, pid) = busy(&rig).await;
    send_signal(run.child.id().unwrap(), Signal::INT);
    let (lines, status, stderr) = run.finish().await;
    assert_eq!(status.code(), Some(130), "{stderr}");
    let result = lines.last().unwrap();
    assert_eq!(
        (&result["exit_code"], &result["outcome"]["outcome"]),
        (&json!(130), &json!("cancelled")),
        "{result}"
    );
    gone(pid).await;
    rig.left_nothing();
    assert_eq!(rig.model.requests().len(), 1, "nothing is asked after it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_ignores_signals_ends_all_the_same() {
    let rig = LocalRig::new(lasting("trap '' INT TERM HUP;")).await;
    let (run, pid) = busy(&rig).await;
    let program = run.child.id().unwrap();
    send_signal(program, Signal::INT);
    send_signal(program, Signal::INT);
    let (_, status, stderr) = run.finish().await;
    assert_eq!(status.code(), Some(130), "{stderr}");
    gone(pid).await;
    rig.left_nothing();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_ctrl_c_leaves_a_turn_that_does_not_stop() {
    let scenario = Scenario::new().reply(Reply::new().say("I am").gate("held").say(" slow."));
    let rig = LocalRig::new(scenario).await;
    let run = rig.start(&["run", "--output-format", "stream-json", "wait"]);
    rig.held("held").await;
    for _ in 0..2 {
        send_signal(run.child.id().unwrap(), Signal::INT);
    }
    let (_, status, stderr) = run.finish().await;
    assert_eq!(status.code(), Some(130), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hangup_and_a_termination_leave_nothing_behind() {
    for signal in [Signal::HUP, Signal::TERM] {
        let rig = LocalRig::new(lasting("")).await;
        let (run, pid) = busy(&rig).await;
        send_signal(run.child.id().unwrap(), signal);
        let (_, status, stderr) = run.finish().await;
        assert_eq!(status.code(), Some(130), "{signal:?}: {stderr}");
        assert!(stderr.contains("reasonix attach "), "the way back: {stderr}");
        gone(pid).await;
        rig.left_nothing();
    }
}
