//! A laptop that was closed: the program did not run for a while, and its connection is gone.

use std::time::Duration;

use rustix::process::Signal;
use scripted_model::{Reply, Scenario};

use crate::rig::{HostOptions, Rig, edit, send_signal};

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_was_stopped_notices_on_waking_that_its_connection_is_gone() {
    let scenario = Scenario::new().reply(Reply::new().gate("held").say("Done."));
    let rig = Rig::new(scenario, HostOptions::installed()).await;
    // Silence alone would be noticed long after this test has given up.
    let settings = rig.laptop().join(".reasonix/config.toml");
    edit(&settings, "keepalive = \"500ms\"", "keepalive = \"10m\"");
    edit(&settings, "dead_after = \"2s\"", "dead_after = \"1h\"");
    let mut run = rig.start(&["run", "--remote", "box", "--output-format", "stream-json", "wait"]);
    rig.model.wait_for_requests(1).await;
    run.until(|line| line["frame"] == "event").await;
    let pid = run.child.id().unwrap();
    send_signal(pid, Signal::STOP);
    rig.proxy.black_hole(true);
    // Longer than any process waits for a processor: this is what is to be told apart.
    tokio::time::sleep(Duration::from_secs(3)).await;
    send_signal(pid, Signal::CONT);
    let connections = rig.proxy.connections();
    crate::rig::eventually("a second connection", || rig.proxy.connections() > connections).await;
    rig.proxy.restore();
    rig.model.gate("held").open();
    let (lines, status, stderr) = run.finish().await;
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert_eq!(lines.last().unwrap()["result"], "Done.");
    assert!(stderr.contains("no sign of life"), "{stderr}");
}
