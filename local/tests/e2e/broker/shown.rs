//! The screen over a host whose keys are here.

use scripted_model::Scenario;

use super::Brokered;
use crate::{
    attached::ending_processes,
    faults::{effects, held},
    rig::HostOptions,
    screen::rig::Terminal,
};

#[tokio::test(flavor = "multi_thread")]
async fn the_screen_asks_for_the_host_and_shows_how_it_stands() {
    let scenario = Scenario::new()
        .reply(held("held", "only"))
        .say("All of it is here.");
    let brokered = Brokered::new(scenario, HostOptions::installed()).await;
    let rig = &brokered.rig;
    let command = rig.command(&["remote", "connect", "box"]);
    let terminal = Terminal::open(&command, 140, 40).await;
    terminal.see("ready").await;
    terminal.see("keys here").await;
    terminal.write("go on").await;
    terminal.see("go on").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("keys here · 1 answering").await;
    terminal.see("only begins.").await;
    rig.proxy.cut();
    rig.model.gate("held").open();
    terminal.see("All of it is here.").await;
    terminal.see("until it is over.").await;
    assert_eq!(effects(&rig.work()), ["only"]);
    // Else leaving asks.
    terminal.see("tokens:").await;
    terminal.see("ready ·").await;
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    brokered.asked(2);
}

/// The screen over a link that is not cut: through a bridge, or with the agent on the connection itself.
async fn served(host: HostOptions) {
    let scenario = Scenario::new()
        .reply(held("held", "only"))
        .say("All of it is here.");
    let brokered = Brokered::new(scenario, host).await;
    let rig = &brokered.rig;
    let terminal = Terminal::open(&rig.command(&["remote", "connect", "box"]), 140, 40).await;
    terminal.see("ready").await;
    terminal.see("keys here").await;
    terminal.write("go on").await;
    terminal.see("go on").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("keys here · 1 answering").await;
    rig.model.gate("held").open();
    terminal.see("All of it is here.").await;
    assert_eq!(effects(&rig.work()), ["only"]);
    // Else leaving asks.
    terminal.see("tokens:").await;
    terminal.see("ready ·").await;
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    brokered.asked(2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_screen_asks_for_a_host_behind_a_bridge() {
    served(HostOptions {
        sshd: vec!["AllowStreamLocalForwarding no".to_owned()],
        ..HostOptions::installed()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_screen_asks_for_an_agent_that_lives_on_the_connection() {
    let folder = tempfile::tempdir().unwrap();
    served(ending_processes(folder.path())).await;
}
