//! What commands run ends when their agent is killed, and when its guard is killed as well.

use std::{fs, path::Path};

use scripted_model::{Reply, Scenario};
use serde_json::json;

use crate::{
    faults::{children, streaming},
    local_rig::LocalRig,
    rig::{HostOptions, Rig, eventually, kill},
};

/// A background child that is left behind, then a command that runs on.
fn endless() -> Scenario {
    let left = "sleep 1000 >/dev/null 2>&1 & echo $! > left";
    let runs = "echo $$ > leader; sleep 1001 & echo $! > child; wait";
    Scenario::new()
        .reply(Reply::new().call("bash", &json!({ "command": left })))
        .reply(Reply::new().call("bash", &json!({ "command": runs })))
}

fn pid(work: &Path, name: &str) -> Option<u32> {
    fs::read_to_string(work.join(name)).ok()?.trim().parse().ok()
}

fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

/// Waits for all three processes and gives them.
async fn started(work: &Path) -> Vec<u32> {
    let all = || -> Option<Vec<u32>> {
        ["left", "leader", "child"]
            .iter()
            .map(|name| pid(work, name))
            .collect()
    };
    eventually("the commands run", || all().is_some()).await;
    let all = all().unwrap();
    assert!(all.iter().all(|pid| runs(*pid)), "{all:?}");
    all
}

/// Gives the guard among the children of an agent.
fn guard_of(agent: u32) -> Option<u32> {
    let is_guard = |pid: &u32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).nth(1) == Some(b"guard")
    };
    children(agent).into_iter().find(is_guard)
}

async fn gone(pids: &[u32]) {
    for pid in pids {
        eventually("a process of the killed agent is gone", || !runs(*pid)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_daemon_ran_ends_with_it() {
    let rig = Rig::new(endless(), HostOptions::installed()).await;
    let run = streaming(&rig, &["go"]);
    let pids = started(&rig.work()).await;
    let daemon = rig.daemon_pid().unwrap();
    let guard = guard_of(daemon).expect("a guard");
    let environment = fs::read(format!("/proc/{guard}/environ")).unwrap();
    assert!(
        environment.is_empty(),
        "{}",
        String::from_utf8_lossy(&environment)
    );
    kill(daemon);
    gone(&pids).await;
    gone(&[guard]).await;
    let (_, code, stderr) = run.finish().await;
    assert_eq!(code, Some(1), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_local_run_ran_ends_with_it() {
    let rig = LocalRig::new(endless()).await;
    let mut run = rig.start(&["run", "--output-format", "stream-json", "go"]);
    let pids = started(&rig.work()).await;
    let agent = run.child.id().unwrap();
    let guard = guard_of(agent).expect("a guard");
    kill(agent);
    run.child.wait().await.unwrap();
    gone(&pids).await;
    gone(&[guard]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_ends_by_itself_takes_its_guard_along() {
    let scenario = Scenario::new()
        .call("bash", &json!({"command": "echo $PPID > agent"}))
        .say("Done.");
    let rig = LocalRig::new(scenario).await;
    rig.task(&[]).await.ok();
    rig.left_nothing();
    let agent = pid(&rig.work(), "agent").unwrap();
    assert!(!runs(agent) && guard_of(agent).is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_guard_left_that_was_killed_too_ends_with_the_next_start() {
    let rig = Rig::new(endless(), HostOptions::installed()).await;
    let run = streaming(&rig, &["go"]);
    let pids = started(&rig.work()).await;
    let daemon = rig.daemon_pid().unwrap();
    let guard = guard_of(daemon).expect("a guard");
    kill(guard);
    gone(&[guard]).await;
    kill(daemon);
    // The link starts another one, which looks for what is proven to be left: groups whose leader runs.
    gone(&pids[1..]).await;
    let (_, code, stderr) = run.finish().await;
    assert_eq!(code, Some(1), "{stderr}");
    kill(pids[0]);
}
