//! `reasonix demo` on the screen: a person presses Enter, approves, sees the connection go and come back, and leaves.

use rustix::process::Signal;
use scripted_model::Scenario;

use super::rig::Terminal;
use crate::{local_rig::LocalRig, rig::send_signal};

/// Starts the demo on a laptop that has nothing but the program, and waits until the host is reached.
pub(super) async fn open(rig: &LocalRig, columns: u16, rows: u16) -> Terminal {
    let terminal = Terminal::open(&rig.command(&["demo"]), columns, rows).await;
    terminal.see("Find out why and fix it").await;
    terminal
}

async fn rig() -> LocalRig {
    LocalRig::new(Scenario::new()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_is_played_by_a_person_and_counts_at_its_end() {
    let rig = rig().await;
    let terminal = open(&rig, 110, 36).await;
    terminal.keys(&["Enter"]).await;
    let screen = terminal.see("May edit_file run?").await;
    assert!(screen.contains("add.sh"), "{screen}");
    terminal.answer("May edit_file run?", "y").await;
    terminal.see("While you read this sentence").await;
    terminal.see("Next try in").await;
    terminal.see("nothing is shown twice.").await;
    terminal.see("ready").await;
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    terminal.see("demo: ok lost=0 doubled=0").await;
    terminal.assert_restored().await;
    rig.left_nothing();
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_says_no_is_believed() {
    let rig = rig().await;
    let terminal = open(&rig, 110, 36).await;
    terminal.keys(&["Enter"]).await;
    terminal.answer("May edit_file run?", "n").await;
    terminal.see("You said no").await;
    terminal.see("ready").await;
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    terminal.see("demo: left before its end").await;
    terminal.assert_restored().await;
    rig.left_nothing();
}

/// When the demo is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Upload,
    Question,
    Outage,
}

/// Leaves it with the keyboard and by signals, each time on a fresh laptop.
async fn leave(moment: Moment) {
    for signal in [None, Some(Signal::TERM), Some(Signal::HUP)] {
        let rig = rig().await;
        let terminal = open(&rig, 110, 36).await;
        if moment != Moment::Upload {
            terminal.see("ready").await;
            terminal.keys(&["Enter"]).await;
            terminal.see("May edit_file run?").await;
        }
        if moment == Moment::Outage {
            terminal.answer("May edit_file run?", "y").await;
            terminal.see("Next try in").await;
        }
        match signal {
            Some(signal) => send_signal(terminal.pid().await, signal),
            // Clears the text or stops the turn or warns first, so as often as it takes.
            None => terminal.keys(&["C-c", "C-c", "C-c", "C-c"]).await,
        }
        let code = terminal.exit_code().await;
        let wanted = if signal.is_some() { 130 } else { 0 };
        assert_eq!(code, wanted, "{signal:?}\n{}", terminal.screen().await);
        terminal.assert_restored().await;
        rig.left_nothing();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn left_during_the_upload_nothing_stays() {
    leave(Moment::Upload).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn left_at_the_question_nothing_stays() {
    leave(Moment::Question).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn left_while_the_host_is_away_nothing_stays() {
    leave(Moment::Outage).await;
}
