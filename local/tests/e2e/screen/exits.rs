//! Every way out of the screen, and the terminal after each.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    process::Stdio,
};

use rustix::{
    process::Signal,
    termios::{Winsize, tcsetwinsize},
};
use scripted_model::{Reply, Scenario};

use super::{
    rig::Terminal,
    work::{ask, open},
};
use crate::{
    local_rig::{LocalRig, in_time},
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

const WAYS: [(Way, i32); 8] = [
    (Way::Keys(&["C-c", "C-c"]), 0),
    (Way::Keys(&["C-d"]), 0),
    (Way::Command("/quit"), 0),
    (Way::Command("/exit"), 0),
    (Way::Command("exit"), 0),
    (Way::Signal(Signal::TERM), 130),
    (Way::Signal(Signal::HUP), 130),
    (Way::Signal(Signal::QUIT), 130),
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

/// A terminal whose other end is held by the test, which reads from it or does not.
fn deaf_terminal() -> (File, File) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let slave = File::options().read(true).write(true).open(name).unwrap();
    let size = Winsize {
        ws_row: 50,
        ws_col: 200,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&slave, size).unwrap();
    (File::from(master), slave)
}

fn read_until(master: &mut File, text: &str) {
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(text) {
        let mut bytes = [0; 4096];
        let length = master.read(&mut bytes).unwrap();
        seen.extend_from_slice(&bytes[..length]);
    }
}

/// A window that hangs, such as one over a network that is gone, takes no output. That keeps nobody in the program.
#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_that_does_not_read_keeps_nobody() {
    let page = "words without end ".repeat(2_000);
    let reply = Reply::new().say(&page).gate("never").say(" end.");
    let rig = LocalRig::new(Scenario::new().reply(reply)).await;
    let (mut master, slave) = deaf_terminal();
    let mut command = rig.command(&[]);
    command.env("TERM", "xterm");
    let end = || Stdio::from(slave.try_clone().unwrap());
    command.stdin(end()).stdout(end()).stderr(end());
    let mut program = command.spawn().unwrap();
    drop(command);
    read_until(&mut master, "Ask for something");
    // A line end that comes with other keys would be taken for one of a paste.
    master.write_all(b"zq").unwrap();
    read_until(&mut master, "zq");
    master.write_all(b"\r").unwrap();
    rig.held("never").await;
    // Pictures until none goes through any more: the whole screen again and again (Ctrl-L).
    for _ in 0..20 {
        master.write_all(b"\x0c").unwrap();
        eventually("the key is taken", || {
            rustix::io::ioctl_fionread(&slave).unwrap() == 0
        })
        .await;
    }
    eventually("the terminal is full", || {
        rustix::io::ioctl_fionread(&master).unwrap() > 4_000
    })
    .await;
    drop(slave);
    send_signal(program.id().unwrap(), Signal::TERM);
    let ended = in_time("the end of the program", program.wait()).await.unwrap();
    assert_eq!(ended.code(), Some(130));
    let mut left = Vec::new();
    // The end of a terminal is an error for who reads it.
    drop(master.read_to_end(&mut left));
    assert!(
        String::from_utf8_lossy(&left).contains("\u{1b}[?1049l"),
        "the screen was left"
    );
}
