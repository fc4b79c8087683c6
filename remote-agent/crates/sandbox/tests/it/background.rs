//! Commands whose shell exits before its children do.

use std::time::Duration;

use sandbox::{End, Mode, Outcome};

use crate::world::{World, running, unique_sleep, until};

async fn leave_behind(world: &World, mode: Mode, script: &str) -> Outcome {
    let outcome = world.run(mode, script).await;
    assert_eq!(outcome.end, End::Exited(0));
    assert!(
        outcome.output.text().contains("started\n"),
        "{}",
        outcome.output.text()
    );
    outcome
}

async fn check(mode: Mode, script: impl Fn(&str) -> String) {
    let world = World::new().await;
    if mode != Mode::Unconfined && !world.confines().await {
        return;
    }
    let mark = unique_sleep();
    let outcome = leave_behind(&world, mode, &script(&mark)).await;
    let background = outcome.background.unwrap();
    let groups = world.sandbox.background();
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0].group, background.group);
    // Forked is not yet executed.
    until("it runs", || !running(&format!("sleep\0{mark}")).is_empty()).await;
    // The next command is not held up.
    assert_eq!(world.run(mode, "echo next").await.output.text(), "next\n");
    world.sandbox.close().await;
    until("all are gone", || running(&format!("sleep\0{mark}")).is_empty()).await;
    // A killed process is listed until it is reaped.
    until("none is listed", || world.sandbox.background().is_empty()).await;
}

#[tokio::test]
async fn children_that_hold_the_output() {
    check(Mode::Unconfined, |mark| format!("sleep {mark} & echo started")).await;
    check(Mode::WorkspaceWrite, |mark| {
        format!("sleep {mark} & echo started")
    })
    .await;
}

#[tokio::test]
async fn silent_children() {
    let script = |mark: &str| format!("nohup sleep {mark} >/dev/null 2>&1 & disown; echo started");
    check(Mode::Unconfined, script).await;
    check(Mode::WorkspaceWrite, script).await;
}

#[tokio::test]
async fn children_holding_one_stream() {
    check(Mode::Unconfined, |mark| {
        format!("sleep {mark} >/dev/null & echo started")
    })
    .await;
}

#[tokio::test]
async fn confined_children_that_moved_away() {
    check(Mode::WorkspaceWrite, |mark| {
        format!("setsid sleep {mark} & echo started")
    })
    .await;
}

#[tokio::test]
async fn a_child_that_moved_away_is_noticed_by_its_output() {
    let world = World::new().await;
    let script = "setsid sh -c 'echo $$ >pid; exec sleep 3600' & while ! test -s pid; do sleep 0.01; done; echo started";
    let background = leave_behind(&world, Mode::Unconfined, script)
        .await
        .background
        .unwrap();
    assert!(background.holds_output && background.processes.is_empty());
    let pid: i32 = std::fs::read_to_string(world.workspace.join("pid"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
}

#[tokio::test]
async fn a_noisy_child_goes_on_after_its_output_is_let_go() {
    let world = World::new().await;
    let script = "(n=0; while :; do echo tick; n=$((n+1)); echo $n >count; sleep 0.01; done) & echo started";
    let outcome = leave_behind(&world, Mode::Unconfined, script).await;
    let background = outcome.background.unwrap();
    assert!(background.holds_output && !background.processes.is_empty());
    let count = || {
        std::fs::read_to_string(world.workspace.join("count"))
            .unwrap_or_default()
            .trim()
            .parse()
            .unwrap_or(0)
    };
    let seen: u32 = count();
    until("it has written more", || count() > seen + 5).await;
    world.sandbox.stop_background(Duration::from_secs(5)).await;
    assert!(world.sandbox.background().is_empty());
}
