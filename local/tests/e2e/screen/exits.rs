//! Every way out of the screen, and the terminal after each.

use rustix::process::Signal;
use scripted_model::{Reply, Scenario};

use super::{
    rig::Terminal,
    work::{ask, open},
};
use crate::{
    local_rig::LocalRig,
    rig::{eventually, send_signal},
};

/// How a person or a system ends it.
#[derive(Debug, Clone, Copy)]
enum Way {
    Keys(&'static [&'static str]),
    /// Ctrl-C, which stops the turn, and twice more.
    StopAndLeave,
    Command(&'static str),
    Signal(Signal),
}

const WAYS: [(Way, i32); 7] = [
    (Way::Keys(&["C-c", "C-c"]), 0),
    (Way::Keys(&["C-d"]), 0),
    (Way::Command("/quit"), 0),
    (Way::Command("/exit"), 0),
    (Way::Command("exit"), 0),
    (Way::Signal(Signal::TERM), 130),
    (Way::Signal(Signal::HUP), 130),
];

async fn take(terminal: &Terminal, way: Way) {
    match way {
        Way::Keys(keys) => terminal.keys(keys).await,
        Way::StopAndLeave => {
            terminal.keys(&["C-c"]).await;
            terminal.see("ready").await;
            terminal.keys(&["C-c", "C-c"]).await;
        }
        Way::Command(text) => ask(terminal, text).await,
        Way::Signal(signal) => send_signal(terminal.pid().await, signal),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_out_leaves_the_terminal_as_it_was_and_the_end_of_the_answer_on_it() {
    for (way, code) in WAYS {
        let rig = LocalRig::new(Scenario::new().say("These words stay.")).await;
        let terminal = open(&rig, 80, 24).await;
        ask(&terminal, "say something").await;
        terminal.see("These words stay.").await;
        terminal.see("ready").await;
        take(&terminal, way).await;
        assert_eq!(terminal.exit_code().await, code, "{way:?}");
        let screen = terminal.see("These words stay.").await;
        assert!(screen.contains("reasonix attach"), "{way:?}\n{screen}");
        terminal.assert_restored().await;
        rig.left_nothing();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_out_in_the_middle_of_an_answer_leaves_the_terminal_as_it_was() {
    let ways = [
        (Way::StopAndLeave, 0),
        (Way::Signal(Signal::TERM), 130),
        (Way::Signal(Signal::HUP), 130),
    ];
    for (way, code) in ways {
        let scenario = Scenario::new().reply(Reply::new().say("Begin").gate("never").say(" end."));
        let rig = LocalRig::new(scenario).await;
        let terminal = open(&rig, 80, 24).await;
        ask(&terminal, "say something").await;
        terminal.see("Begin").await;
        take(&terminal, way).await;
        assert_eq!(terminal.exit_code().await, code, "{way:?}");
        terminal.assert_restored().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_is_closed_ends_the_program() {
    let rig = LocalRig::new(Scenario::new().say("Hello.")).await;
    let terminal = open(&rig, 80, 24).await;
    ask(&terminal, "say something").await;
    terminal.see("Hello.").await;
    let pid = terminal.pid().await;
    terminal.close().await;
    eventually("the program is gone", || {
        !std::path::Path::new(&format!("/proc/{pid}")).exists()
    })
    .await;
    rig.left_nothing();
}
