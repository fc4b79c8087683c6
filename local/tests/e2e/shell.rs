//! `reasonix remote shell`, with the real program, a real terminal and a real sshd.

use std::{
    fs::{self, File},
    process::Stdio,
};

use rustix::process::Signal;
use scripted_model::Scenario;

use crate::{
    rig::{HostOptions, Ran, Rig, ended, send_signal},
    screen::rig::Terminal,
};

const STRANGE: &str = "it's a \"folder\" $(here)!";

async fn rig(sshd: &[&str]) -> Rig {
    let host = HostOptions {
        sshd: sshd.iter().map(ToString::to_string).collect(),
        ..HostOptions::default()
    };
    Rig::new(Scenario::new(), host).await
}

/// Opens a shell in a window, and waits until it takes commands.
async fn shell(rig: &Rig, place: &str) -> Terminal {
    let terminal = Terminal::open(&rig.command(&["remote", "shell", place]), 90, 24).await;
    // What is typed before the shell is there waits for it.
    enter(&terminal, "echo 'rea'dy").await;
    terminal.see("ready").await;
    terminal
}

async fn enter(terminal: &Terminal, line: &str) {
    terminal.write(line).await;
    terminal.keys(&["Enter"]).await;
}

async fn command(rig: &Rig, place: &str, words: &[&str]) -> Ran {
    let args = [&["remote", "shell", place, "--"], words].concat();
    rig.run(&args).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_has_a_size_and_keys_and_ends_with_the_code_of_its_shell() {
    let rig = rig(&["AcceptEnv LANG COLORTERM"]).await;
    let terminal = shell(&rig, "box").await;
    enter(&terminal, "stty size; echo $TERM-$COLORTERM; basename \"$PWD\"").await;
    terminal.see("24 90\ntmux-256color-truecolor\nwork\n").await;
    terminal.resize(100, 30).await;
    enter(&terminal, "until stty size | grep '30 100'; do :; done").await;
    terminal
        .wait_for("the new size", |screen| {
            screen.lines().any(|line| line == "30 100")
        })
        .await;

    // A key is the host's: it ends what runs there, and nothing here.
    enter(&terminal, "echo be'gun'; sleep 1000").await;
    terminal.see("begun").await;
    terminal.keys(&["C-c"]).await;
    enter(&terminal, "echo 'go'es on").await;
    terminal.see("goes on").await;
    enter(&terminal, "exit 7").await;
    assert_eq!(terminal.exit_code().await, 7);
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_up_and_signals_leave_the_terminal_as_it_was() {
    let rig = rig(&[]).await;
    let terminal = shell(&rig, "box:~").await;
    enter(&terminal, "~?").await;
    terminal.see("a single ~").await;
    enter(&terminal, "").await;
    terminal.write("~.").await;
    assert_eq!(terminal.exit_code().await, 130);
    terminal.assert_restored().await;
    for signal in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT] {
        let terminal = shell(&rig, "box").await;
        send_signal(terminal.pid().await, signal);
        assert_eq!(terminal.exit_code().await, 130, "{signal:?}");
        terminal.assert_restored().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_is_said_and_the_terminal_is_as_it_was() {
    let rig = rig(&[]).await;
    let terminal = shell(&rig, "box").await;
    rig.proxy.cut();
    assert_eq!(terminal.exit_code().await, 3);
    let screen = terminal.see("tmux").await;
    assert!(screen.contains("the connection to box was lost"), "{screen}");
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_bytes_pass_unchanged() {
    let rig = rig(&[]).await;
    // A multiplicative generator (Lehmer); every byte occurs, in no order.
    let bytes = std::iter::successors(Some(1_u64), |state| Some(state * 48_271 % 0x7fff_ffff));
    let bytes: Vec<u8> = bytes.map(|state| state.to_be_bytes()[6]).take(1 << 20).collect();
    let file = rig.laptop().join("bytes");
    fs::write(&file, &bytes).unwrap();
    let args = ["remote", "shell", "box", "--", "cat; echo said >&2; exit 5"];
    let mut command = rig.command(&args);
    let output = command.stdin(Stdio::from(File::open(&file).unwrap())).output();
    let output = tokio::time::timeout(crate::rig::DEADLINE, output)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(output.stdout == bytes, "{} bytes came back", output.stdout.len());
    assert!(String::from_utf8_lossy(&output.stderr).contains("said\n"));

    // Without a command the shell reads commands; a signal is told as shells tell it.
    for place in ["box", "box:~"] {
        let ran = rig
            .run_with_input(&["remote", "shell", place], "echo $((40 + 2))\nexit 6\n")
            .await;
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(6), "42\n"), "{ran:#?}");
    }
    let args = ["remote", "shell", "box", "--", "kill -KILL $$"];
    let ran = ended(&args, rig.command(&args).stdin(Stdio::null()).output()).await;
    assert_eq!(ran.code, Some(137), "{ran:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_may_have_any_name_under_any_login_shell() {
    for login in ["/bin/bash", "/bin/dash", "/usr/bin/fish", "/bin/tcsh"] {
        let host = HostOptions {
            shell: Some((login.to_owned(), String::new())),
            ..HostOptions::default()
        };
        let rig = Rig::new(Scenario::new(), host).await;
        let folder = rig.host().join(STRANGE);
        fs::create_dir(&folder).unwrap();
        let absolute = folder.to_str().unwrap();
        for place in [STRANGE, &format!("~/{STRANGE}"), absolute] {
            let ran = command(&rig, &format!("box:{place}"), &["/bin/pwd"]).await;
            assert_eq!(
                (ran.code, ran.stdout.trim_end()),
                (Some(0), absolute),
                "{login} {ran:#?}"
            );
        }
        let ran = command(&rig, "box", &["/bin/pwd"]).await;
        assert_eq!(
            ran.stdout.trim_end(),
            rig.work().to_str().unwrap(),
            "{login} {ran:#?}"
        );
        // It might do harm elsewhere.
        let ran = command(&rig, "box:~/gone", &["touch", "made"]).await;
        assert_eq!(ran.code, Some(2), "{login} {ran:#?}");
        assert!(ran.stderr.contains("the command was not run"), "{ran:#?}");
        assert!(!rig.host().join("made").exists(), "{login}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_begins_in_the_home_where_there_is_no_folder_and_says_so() {
    let rig = rig(&[]).await;
    let terminal = shell(&rig, "box:~/gone").await;
    terminal.see("there is no folder ~/gone").await;
    enter(&terminal, "basename \"$PWD\"; exit").await;
    terminal
        .wait_for("the home", |screen| screen.lines().any(|line| line == "host"))
        .await;
    assert_eq!(terminal.exit_code().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_who_forbids_terminals_is_named() {
    let rig = rig(&["PermitTTY no"]).await;
    let terminal = Terminal::open(&rig.command(&["remote", "shell", "box"]), 90, 24).await;
    assert_eq!(terminal.exit_code().await, 1);
    let screen = terminal.see("PermitTTY no").await;
    assert!(screen.contains("box gives no terminal"), "{screen}");
    terminal.assert_restored().await;
    let ran = command(&rig, "box", &["echo", "still", "$((1 + 1))"]).await;
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "still 2\n"),
        "{ran:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn where_sshd_gives_no_session_the_agent_opens_the_terminal() {
    let rig = Rig::new(Scenario::new().say("Hello."), HostOptions::installed()).await;
    let ran = rig.run(&["run", "--remote", "box", "say hello"]).await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let sshd = rig.stricter_sshd("MaxSessions 0").await;
    rig.trust(&sshd.host_keys()[0]);
    rig.proxy.retarget(sshd.address());
    let terminal = shell(&rig, "box").await;
    enter(&terminal, "stty size; basename \"$PWD\"; exit 9").await;
    terminal.see("24 90\nwork\n").await;
    assert_eq!(terminal.exit_code().await, 9);
    terminal.assert_restored().await;
}
