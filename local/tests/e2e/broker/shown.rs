//! The screen over a host whose keys are here.

use scripted_model::Scenario;

use super::Brokered;
use crate::{
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
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    brokered.asked(2);
}
