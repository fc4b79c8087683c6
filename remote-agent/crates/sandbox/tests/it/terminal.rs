//! Terminals with a shell.

use std::{path::Path, time::Duration};

use sandbox::{LoginShell, Terminal, TerminalOptions};

const DEADLINE: Duration = Duration::from_secs(60);

fn open(home: &Path, command: Option<&str>) -> Terminal {
    let shell = LoginShell {
        program: "/bin/bash".into(),
        environment: vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("MARK".into(), "here".into()),
        ],
        home: home.to_owned(),
    };
    let options = TerminalOptions {
        term: "xterm",
        columns: 91,
        rows: 33,
        folder: None,
        command,
    };
    shell.open(&options).unwrap()
}

async fn until(terminal: &Terminal, word: &str) -> String {
    let mut seen = Vec::new();
    let reading = async {
        let mut buffer = [0; 4096];
        while !String::from_utf8_lossy(&seen).contains(word) {
            let count = terminal.master().read(&mut buffer).await.unwrap();
            assert!(count > 0, "ended: {}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&buffer[..count]);
        }
    };
    tokio::time::timeout(DEADLINE, reading).await.unwrap();
    String::from_utf8_lossy(&seen).into_owned()
}

#[tokio::test]
async fn a_command_has_a_controlling_terminal_of_the_size_that_was_told_and_of_the_next() {
    let home = tempfile::tempdir().unwrap();
    let command = "echo $MARK $TERM $PWD >/dev/tty; stty size; read -r line; stty size; exit 7";
    let mut terminal = open(home.path(), Some(command));
    let first = until(&terminal, "33 91").await;
    assert!(
        first.contains(&format!("here xterm {}", home.path().display())),
        "{first}"
    );
    terminal.master().resize(120, 50).unwrap();
    terminal.master().write_all(b"go\n").await.unwrap();
    until(&terminal, "50 120").await;
    assert_eq!(terminal.wait().await.unwrap().code(), Some(7));
}

#[tokio::test]
async fn keys_and_signals_reach_the_foreground_and_hanging_up_ends_the_shell() {
    let home = tempfile::tempdir().unwrap();
    // A shell that runs a command takes no signal that the command has just outlived; one that waits takes all.
    let command = "sleep 600 & trap 'echo ended-$((40 + 2)); kill $!; exit 5' INT; echo ready; wait";
    for by_key in [true, false] {
        let mut terminal = open(home.path(), Some(command));
        until(&terminal, "ready").await;
        if by_key {
            terminal.master().write_all(b"\x03").await.unwrap();
        } else {
            terminal.master().signal("INT");
        }
        until(&terminal, "ended-42").await;
        assert_eq!(terminal.wait().await.unwrap().code(), Some(5));
    }

    let terminal = open(home.path(), None);
    terminal
        .master()
        .write_all(b"echo $((40 + 2))-$(ps -o stat= -p $$)\n")
        .await
        .unwrap();
    let shell = until(&terminal, "42-Ss").await;
    assert!(shell.contains("42-Ss"), "a session's leader: {shell}");
    tokio::time::timeout(DEADLINE, terminal.close()).await.unwrap();
}
