//! RA-11: the tools of a remote session run on the host, also while the link is down.

use std::fs;

use scripted_model::{Reply, Scenario};
use serde_json::json;

use crate::local_rig::in_time;
use crate::rig::{HostOptions, Rig, eventually};

fn there(extra: &[&str]) -> HostOptions {
    let mut options = HostOptions::installed();
    options.sshd = extra.iter().map(|line| (*line).to_owned()).collect();
    options
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_11_every_tool_works_on_the_host() {
    let scenario = Scenario::new()
        .call("bash", &json!({"command": "echo $SIDE; touch here.txt"}))
        .call("write_file", &json!({"path": "written.txt", "content": "one\n"}))
        .call(
            "edit_file",
            &json!({"path": "written.txt", "old_string": "one", "new_string": "two"}),
        )
        .call("grep", &json!({"pattern": "two"}))
        .call("glob", &json!({"pattern": "*.txt"}))
        .say("Done.");
    let rig = Rig::new(scenario, there(&["SetEnv SIDE=remote"])).await;
    let ran = rig.run(&["run", "--remote", "box", "look around"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let answers = rig.model.requests().pop().unwrap().tool_results();
    assert_eq!(answers[0].trim(), "remote");
    let work = rig.work().display().to_string();
    assert!(
        answers[3].contains(&format!("{work}/written.txt:1:two")),
        "{}",
        answers[3]
    );
    for name in ["here.txt", "written.txt"] {
        assert!(answers[4].contains(&format!("{work}/{name}")), "{}", answers[4]);
        assert!(rig.work().join(name).exists());
    }
    assert_eq!(
        fs::read_dir(rig.local_work()).unwrap().count(),
        0,
        "nothing on the laptop"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_11_a_cut_link_brings_no_call_to_the_laptop() {
    let scenario = Scenario::new()
        .call("bash", &json!({"command": "echo $SIDE"}))
        .reply(
            Reply::new()
                .gate("cut")
                .call("bash", &json!({"command": "echo $SIDE > where.txt"})),
        )
        .say("Done.");
    let rig = Rig::new(scenario, there(&["SetEnv SIDE=remote"])).await;
    let run = rig.start(&["run", "--remote", "box", "--output-format", "stream-json", "work"]);
    let gate = rig.model.gate("cut");
    in_time("the gate", gate.reached(1)).await;
    rig.proxy.black_hole(true);
    rig.proxy.cut();
    gate.open();
    let file = rig.work().join("where.txt");
    eventually("the call runs on the host", || {
        fs::read(&file).is_ok_and(|text| text == b"remote\n")
    })
    .await;
    assert_eq!(
        fs::read_dir(rig.local_work()).unwrap().count(),
        0,
        "nothing on the laptop"
    );
    rig.proxy.restore();
    let (lines, status, stderr) = run.finish().await;
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert_eq!(lines.last().unwrap()["result"], "Done.");
    assert_eq!(
        fs::read_dir(rig.local_work()).unwrap().count(),
        0,
        "nothing on the laptop"
    );
}
