//! What went away and came back, with the screen attached all the time: the agent, the link, the laptop itself.

use std::fs;

use scripted_model::{Reply, Scenario};
use serde_json::json;

use super::{rig::Terminal, work::ask};
use crate::rig::{HostOptions, Rig, eventually, kill};

async fn open(rig: &Rig, args: &[&str]) -> Terminal {
    let terminal = Terminal::open(&rig.command(args), 100, 30).await;
    terminal.see("ready").await;
    terminal
}

/// Gives the sessions that the host has.
async fn sessions(rig: &Rig) -> Vec<String> {
    let ran = rig.run(&["sessions", "--remote", "box", "--json"]).await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let list: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let ids = list["sessions"].as_array().unwrap().iter();
    ids.map(|session| session["session"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_agent_is_started_again_and_the_same_session_goes_on() {
    // So much that it does not only stand in memory.
    let long = Reply::new()
        .say("So it begins. ".repeat(400))
        .say("Last words.")
        .gate("held");
    let rig = Rig::new(Scenario::new().reply(long), HostOptions::installed()).await;
    let terminal = open(&rig, &["--remote", "box"]).await;
    ask(&terminal, "go").await;
    terminal.see("Last words.").await;
    let old = rig.daemon_pid().unwrap();
    kill(old);
    eventually("another agent", || rig.daemon_pid().is_some_and(|new| new != old)).await;
    let screen = terminal
        .wait_for("the end of the turn", |screen| {
            screen.contains("The agent ended in the middle of this turn") && screen.contains("ready")
        })
        .await;
    // What had come of the answer is still there, and nobody has to decide anything.
    assert!(screen.contains("So it begins."), "{screen}");
    assert!(
        !screen.contains("cannot be shown") && !screen.contains("No connection"),
        "{screen}"
    );

    rig.model.gate("held").open();
    rig.model.push(Reply::new().say("Taken up again."));
    ask(&terminal, "go on").await;
    terminal.see("Taken up again.").await;
    assert_eq!(sessions(&rig).await.len(), 1, "no new session beside it");
    assert_eq!(rig.model.refusals(), Vec::<String>::new());

    // The same while nothing runs.
    let old = rig.daemon_pid().unwrap();
    kill(old);
    eventually("a third agent", || rig.daemon_pid().is_some_and(|new| new != old)).await;
    rig.model.push(Reply::new().say("Still the same."));
    ask(&terminal, "and now?").await;
    terminal.see("Still the same.").await;
    assert_eq!(sessions(&rig).await.len(), 1);
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wait_for_a_host_is_counted_down_and_one_key_ends_it() {
    let rig = Rig::new(Scenario::new().say("Back."), HostOptions::installed()).await;
    let terminal = open(&rig, &["--remote", "box"]).await;
    // A port that was had and given back refuses at once.
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = free.local_addr().unwrap();
    drop(free);
    rig.proxy.retarget(nobody);
    rig.proxy.cut();
    // A wait so long that the test would not see its end by chance: `next try in 10 s` and more.
    let long_wait = |screen: &str| {
        let rest = screen.rsplit("next try in ").next().unwrap_or_default();
        let seconds: String = rest.chars().take_while(char::is_ascii_digit).collect();
        screen.contains("next try in ") && seconds.parse::<u32>().is_ok_and(|seconds| seconds >= 5)
    };
    let screen = terminal.wait_for("a long wait", long_wait).await;
    assert!(screen.contains("Ctrl+R tries now"), "{screen}");
    ask(&terminal, "sent meanwhile").await;
    terminal.see("queued").await;
    rig.proxy.retarget(rig.sshd.address());
    terminal.keys(&["C-r"]).await;
    let screen = terminal.see("Back.").await;
    assert!(
        !screen.contains("next try in") && !screen.contains("queued"),
        "{screen}"
    );
    assert_eq!(rig.model.requests().len(), 1);
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_falls_silent_is_said_to_be_before_it_counts_as_lost() {
    let rig = Rig::new(Scenario::new().say("Heard again."), HostOptions::installed()).await;
    let terminal = open(&rig, &["--remote", "box"]).await;
    rig.proxy.black_hole(true);
    terminal.see("silent").await;
    terminal
        .wait_for("the loss", |screen| {
            screen.contains("Lost box")
                || screen.contains("Connecting to box")
                || screen.contains("Cannot reach")
        })
        .await;
    rig.proxy.restore();
    rig.proxy.cut();
    ask(&terminal, "hello").await;
    terminal.keys(&["C-r"]).await;
    terminal.see("Heard again.").await;
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_waited_while_the_laptop_was_off_is_shown_and_answered() {
    let scenario = Scenario::new()
        .reply(
            Reply::new()
                .say("I will write. ")
                .call("write_file", &json!({"path": "made.txt", "content": "made"})),
        )
        .say("Written.");
    let rig = Rig::new(scenario, HostOptions::installed()).await;
    let terminal = open(&rig, &["--remote", "box", "--permission-mode", "read-only"]).await;
    ask(&terminal, "write it").await;
    terminal.see("May write_file").await;
    kill(terminal.pid().await);
    assert_eq!(terminal.exit_code().await, 137);
    drop(terminal);
    let ids = sessions(&rig).await;
    assert_eq!(ids.len(), 1);
    assert!(!rig.work().join("made.txt").exists());

    let again = Terminal::open(&rig.command(&["attach", "--remote", "box", &ids[0]]), 100, 30).await;
    let screen = again.see("May write_file").await;
    assert_eq!(screen.matches("I will write.").count(), 1, "{screen}");
    again.answer("May write_file", "y").await;
    let screen = again.see("Written.").await;
    assert_eq!(screen.matches("I will write.").count(), 1, "{screen}");
    assert_eq!(fs::read_to_string(rig.work().join("made.txt")).unwrap(), "made");
    again.keys(&["C-d"]).await;
    assert_eq!(again.exit_code().await, 0);
    again.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_screens_that_meet_a_host_without_the_program_share_one_upload_and_one_agent() {
    let scenario = Scenario::new()
        .say("One of three.")
        .say("One of three.")
        .say("One of three.");
    let rig = Rig::new(scenario, HostOptions::default()).await;
    let mut terminals = Vec::new();
    for _ in 0..3 {
        terminals.push(Terminal::open(&rig.command(&["--remote", "box"]), 100, 30).await);
    }
    for terminal in &terminals {
        terminal.see("ready").await;
        terminal
            .wait_for("a live link", |screen| {
                screen.lines().last().is_some_and(|line| line.ends_with(" ms"))
            })
            .await;
    }
    let names = fs::read_dir(rig.programs()).unwrap();
    let names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        matches!(&names[..], [name] if name.starts_with("reasonix-")),
        "{names:?}"
    );
    for terminal in &terminals {
        ask(terminal, "hello").await;
        terminal.see("One of three.").await;
        terminal.keys(&["C-d"]).await;
        assert_eq!(terminal.exit_code().await, 0);
    }
    // A running program is a daemon or its helper for nobody: exactly one remains.
    let daemon = rig.daemon_pid().unwrap();
    eventually("one agent", || rig.running_programs() == [daemon]).await;
}
