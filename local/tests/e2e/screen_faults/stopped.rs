//! A screen whose machine slept: the program did not run for a while, and its connection is gone.

use std::time::Duration;

use rustix::process::Signal;
use scripted_model::{Reply, Scenario};

use crate::{
    rig::{HostOptions, Rig, edit, eventually, send_signal},
    screen::rig::Terminal,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_screen_that_was_stopped_comes_back_with_everything_that_happened_meanwhile() {
    let scenario = Scenario::new()
        .reply(
            Reply::new()
                .say("It began ")
                .gate("held")
                .say("and it ended meanwhile."),
        )
        .say("And this came later.");
    let rig = Rig::new(scenario, HostOptions::installed()).await;
    // Silence alone would be noticed long after this test has given up.
    let settings = rig.laptop().join(".reasonix/config.toml");
    edit(&settings, "keepalive = \"500ms\"", "keepalive = \"10m\"");
    edit(&settings, "dead_after = \"2s\"", "dead_after = \"1h\"");
    let terminal = Terminal::open(&rig.command(&["--remote", "box"]), 100, 30).await;
    terminal.see("ready").await;
    terminal.write("first").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("It began").await;

    let pid = terminal.pid().await;
    send_signal(pid, Signal::STOP);
    rig.proxy.black_hole(true);
    rig.model.gate("held").open();
    // Longer than any process waits for a processor: this is what is to be told apart.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let connections = rig.proxy.connections();
    send_signal(pid, Signal::CONT);
    eventually("a second connection", || rig.proxy.connections() > connections).await;
    terminal.write("second").await;
    terminal.see("second").await;
    terminal.keys(&["Enter"]).await;
    rig.proxy.restore();
    terminal.see("and it ended meanwhile.").await;
    let screen = terminal.see("And this came later.").await;
    assert_eq!(screen.matches("It began").count(), 1, "{screen}");
    assert_eq!(rig.model.requests().len(), 2, "each text was sent once");
    terminal
        .wait_for("the end", |screen| screen.contains("ready"))
        .await;
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    terminal.assert_restored().await;
}
