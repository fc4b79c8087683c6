//! Work in a session of this machine: answers, approvals, sizes of the window.

use scripted_model::{Reply, Scenario};
use serde_json::json;

use super::rig::Terminal;
use crate::local_rig::LocalRig;

/// Opens the screen on a new session.
pub(super) async fn open(rig: &LocalRig, columns: u16, rows: u16) -> Terminal {
    let terminal = Terminal::open(&rig.command(&[]), columns, rows).await;
    terminal.see("ready").await;
    terminal
}

/// Types a text and sends it.
pub(super) async fn ask(terminal: &Terminal, text: &str) {
    terminal.write(text).await;
    terminal.see(text).await;
    terminal.keys(&["Enter"]).await;
}

async fn with_question() -> LocalRig {
    let scenario = Scenario::new()
        .call("bash", &json!({"command": "echo done > result.txt"}))
        .say("That was it.");
    let rig = LocalRig::new(scenario).await;
    rig.configure("[permissions]\nask = [\"Bash\"]\n");
    rig
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_runs_when_the_person_allows_it() {
    let rig = with_question().await;
    let terminal = open(&rig, 100, 30).await;
    ask(&terminal, "write it down").await;
    let screen = terminal.see("May bash run?").await;
    assert!(screen.contains("echo done > result.txt"), "{screen}");
    assert!(!rig.has("result.txt"));
    terminal.answer("May bash run?", "y").await;
    terminal.see("That was it.").await;
    assert_eq!(rig.read("result.txt"), b"done\n");
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_does_not_run_when_the_person_denies_it() {
    let rig = with_question().await;
    let terminal = open(&rig, 100, 30).await;
    ask(&terminal, "write it down").await;
    terminal.answer("May bash run?", "n").await;
    terminal.see("That was it.").await;
    assert!(!rig.has("result.txt"));
    assert!(rig.answers()[0].contains("not approved"), "{:?}", rig.answers());
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_stops_a_turn_that_streams_and_one_that_asks() {
    let scenario = Scenario::new()
        .reply(Reply::new().say("Begin").gate("never").say(" end."))
        .call("bash", &json!({"command": "echo done > result.txt"}));
    let rig = LocalRig::new(scenario).await;
    rig.configure("[permissions]\nask = [\"Bash\"]\n");
    let terminal = open(&rig, 100, 30).await;
    ask(&terminal, "talk").await;
    terminal.see("Begin").await;
    terminal.keys(&["C-c"]).await;
    terminal.see("ready").await;
    ask(&terminal, "and now run").await;
    terminal.see("May bash run?").await;
    terminal.keys(&["C-c"]).await;
    terminal
        .wait_for("the question goes away", |screen| {
            !screen.contains("May bash run?") && screen.contains("ready")
        })
        .await;
    assert!(!rig.has("result.txt"));
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_sizes_while_text_streams_ends_in_a_sound_screen() {
    let mut reply = Reply::new();
    for line in 0..200 {
        reply = reply.say(format!("Line {line} of **many**, with `code` and 漢字.\n\n"));
    }
    let scenario = Scenario::new()
        .delay_ms(2)
        .reply(reply.say("The very last words."));
    let rig = LocalRig::new(scenario).await;
    let terminal = open(&rig, 100, 30).await;
    ask(&terminal, "tell me").await;
    for round in 0..40_u16 {
        let (columns, rows) = match round % 8 {
            0 => (1, 1),
            1 => (200, 5),
            2 => (3, 80),
            3 => (80, 24),
            4 => (10, 3),
            5 => (300, 100),
            6 => (2, 2),
            _ => (40 + round, 10 + round),
        };
        terminal.resize(columns, rows).await;
    }
    terminal.resize(90, 20).await;
    let screen = terminal
        .wait_for("the end of the answer", |screen| {
            screen.contains("The very last words.") && screen.contains("ready")
        })
        .await;
    assert_eq!(
        screen.lines().filter(|line| line.contains("ready")).count(),
        1,
        "{screen}"
    );
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    terminal.assert_restored().await;
}
