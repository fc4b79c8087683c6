//! Commands without a screen of their own, on a terminal: questions, signals, and the terminal after them.

use std::fs;

use rustix::process::Signal;
use scripted_model::{Reply, Scenario};

use super::rig::Terminal;
use crate::{
    local_rig::LocalRig,
    rig::{HostOptions, Rig, send_signal},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_run_on_a_terminal_leaves_it_as_it_was() {
    let rig = LocalRig::new(Scenario::new().say("Hello, 漢字.")).await;
    let terminal = Terminal::open(&rig.command(&["run", "hello"]), 80, 24).await;
    assert_eq!(terminal.exit_code().await, 0);
    terminal.see("Hello, 漢字.").await;
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_host_key_is_asked_about_once() {
    let rig = Rig::new(
        Scenario::new().say("First.").say("Second."),
        HostOptions::installed(),
    )
    .await;
    fs::remove_file(rig.known_hosts()).unwrap();
    let terminal = Terminal::open(&rig.command(&["run", "--remote", "box", "go"]), 100, 24).await;
    terminal.see("Trust it?").await;
    terminal.write("yes").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("First.").await;
    assert_eq!(terminal.exit_code().await, 0);
    terminal.assert_restored().await;

    let terminal = Terminal::open(&rig.command(&["run", "--remote", "box", "go"]), 100, 24).await;
    let screen = terminal.see("Second.").await;
    assert!(!screen.contains("Trust it?"), "{screen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_in_the_middle_of_an_answer_leaves_the_terminal_as_it_was() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 130)] {
        let scenario = Scenario::new().reply(Reply::new().say("Begin ").gate("held").say("end."));
        let rig = LocalRig::new(scenario).await;
        let terminal = Terminal::open(&rig.command(&["run", "hello"]), 80, 24).await;
        rig.held("held").await;
        if signal == Signal::INT {
            terminal.keys(&["C-c"]).await;
        } else {
            send_signal(terminal.pid().await, signal);
        }
        assert_eq!(terminal.exit_code().await, code);
        terminal.assert_restored().await;
    }
}
