//! How the screen is opened, and what is said where it cannot be.

use std::fs;

use scripted_model::{Reply, Scenario};

use super::{
    rig::Terminal,
    work::{ask, open},
};
use crate::{local_rig::LocalRig, rig::program};

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_without_a_screen_is_told_what_to_use() {
    let rig = LocalRig::new(Scenario::new()).await;
    for (kind, words) in [("TERM=dumb", "TERM is dumb"), ("TERM=", "TERM is not set")] {
        let program = program();
        let args = [kind, program.to_str().unwrap()];
        let terminal = Terminal::open(&rig.other_command("/usr/bin/env", &args), 100, 24).await;
        let screen = terminal.see(words).await;
        assert!(screen.contains("reasonix run"), "{screen}");
        assert_eq!(terminal.exit_code().await, 2, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_waits_in_the_composer_and_the_log_goes_to_a_file() {
    let rig = LocalRig::new(Scenario::new().say("Done.")).await;
    let command = rig.command(&["-vv", "look around", "--permission-mode", "read-only"]);
    let terminal = Terminal::open(&command, 100, 30).await;
    terminal.see("look around").await;
    assert!(
        rig.model.requests().is_empty(),
        "nothing is asked before it is sent"
    );
    terminal.keys(&["Enter"]).await;
    terminal.see("Done.").await;
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    let everything = terminal.everything().await;
    assert!(!everything.contains("DEBUG"), "{everything}");
    let log = fs::read_to_string(rig.state().join("logs/screen.log")).unwrap();
    assert!(log.contains("DEBUG"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn attach_opens_the_screen_by_the_beginning_of_an_id_and_text_on_request() {
    let rig = LocalRig::new(Scenario::new().say("Said before.")).await;
    let terminal = open(&rig, 160, 30).await;
    ask(&terminal, "say something").await;
    terminal.see("Said before.").await;
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    let screen = terminal.see("reasonix attach ").await;
    let id = screen.split("reasonix attach ").nth(1).unwrap();
    let id: String = id.chars().take(36).collect();

    let plain = Terminal::open(&rig.command(&["attach", "--plain", &id]), 160, 30).await;
    plain.see("Said before.").await;
    assert_eq!(plain.exit_code().await, 0);
    assert!(plain.see("nothing is running").await.contains("session "));

    rig.model.push(Reply::new().say("Said after."));
    let again = Terminal::open(&rig.command(&["attach", &id[..18]]), 100, 30).await;
    again.see("Said before.").await;
    ask(&again, "and now?").await;
    again.see("Said after.").await;
    again.keys(&["C-d"]).await;
    assert_eq!(again.exit_code().await, 0);
    again.assert_restored().await;
}
