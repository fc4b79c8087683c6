//! The screens that `cargo xtask shots` draws for the README and docs/TUI.md: each is reached as a person reaches it, and
//! left where the variable says, without what differs from run to run.

use std::{fs, path::PathBuf};

use scripted_model::{Reply, Scenario};
use serde_json::json;
use transport::testing::LoginStep;

use super::{
    hosts::{Embedded, hears},
    rig::Terminal,
    work::{ask, open},
};
use crate::{
    local_rig::LocalRig,
    rig::{HostOptions, Rig},
};

const COLUMNS: u16 = 100;
const ROWS: u16 = 30;

/// Gives the folder for screens; `None` when nobody wants them and the tests only reach them.
#[expect(
    clippy::disallowed_methods,
    reason = "a test binary is its own composition root"
)]
fn wanted() -> Option<PathBuf> {
    std::env::var_os("REASONIX_SCREENS").map(PathBuf::from)
}

/// Leaves what the terminal shows under a name. `places` are texts of this run and what stands there instead.
async fn keep(terminal: &Terminal, name: &str, title: &str, places: &[(&str, &str)]) {
    let Some(folder) = wanted() else { return };
    let mut text = terminal.picture(title).await;
    for (from, to) in places {
        text = text.replace(from, to);
    }
    fs::write(folder.join(format!("{name}.screen")), steady(&text)).unwrap();
}

/// Replaces times, keys and ids by some that are always the same, without moving what is beside them.
fn steady(text: &str) -> String {
    let is_spinner = |c: char| "⠋⠙⠸⠴⠦⠧⠇⠏".contains(c);
    let text: String = text
        .chars()
        .map(|c| if is_spinner(c) { '⠹' } else { c })
        .collect();
    let mut text = same_digits(&text, " ms", '2');
    for unit in [" s ", " s,", " s\u{1b}", " s\n", " s ago"] {
        text = same_digits(&text, unit, '2');
    }
    text = same_date(&text);
    for (mark, same) in SAME {
        text = same_word(&text, mark, same);
    }
    text
}

/// Words that are made anew in each run, by what stands before them, and words of the same length.
const SAME: [(&str, &str); 2] = [
    ("SHA256:", "p2Qp9bWfTlOk3RzCnVdYx7uJhE1sG5mA8iKoLw0NqXc"),
    ("reasonix-demo-", "Xa1b2c"),
];

/// Replaces each digit of a number that stands before a word.
fn same_digits(text: &str, before: &str, digit: char) -> String {
    let mut parts: Vec<String> = text.split(before).map(str::to_owned).collect();
    let last = parts.len() - 1;
    for part in &mut parts[..last] {
        let kept = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let number: String = part[kept.len()..].chars().map(|_| digit).collect();
        *part = format!("{kept}{number}");
    }
    parts.join(before)
}

/// Replaces date and time of day before `UTC`.
fn same_date(text: &str) -> String {
    const SAME: &str = "2026-01-31 12:00";
    let mut parts: Vec<String> = text.split(" UTC").map(str::to_owned).collect();
    let last = parts.len() - 1;
    for part in &mut parts[..last] {
        if let Some(start) = part.len().checked_sub(SAME.len()) {
            part.replace_range(start.., SAME);
        }
    }
    parts.join(" UTC")
}

/// Replaces the word behind a mark.
fn same_word(text: &str, mark: &str, same: &str) -> String {
    let mut parts = text.split(mark);
    let mut steady = parts.next().unwrap().to_owned();
    for part in parts {
        let is_word = |c: char| c.is_ascii_alphanumeric() || "+/".contains(c);
        let length = part.chars().take(same.len()).take_while(|c| is_word(*c)).count();
        steady = steady + mark + same + &part[length..];
    }
    steady
}

#[test]
fn what_differs_from_run_to_run_is_replaced_in_place() {
    assert_eq!(steady("⠧ working 7 s · 13 ms"), "⠹ working 2 s · 22 ms");
    assert_eq!(steady("⠧ working 17 s , 3 s ago"), "⠹ working 22 s , 2 s ago");
    assert_eq!(steady("on 2031-12-24 23:59 UTC"), "on 2026-01-31 12:00 UTC");
    assert_eq!(
        steady("key SHA256:abc+/1 end in reasonix-demo-thZF7V/home"),
        "key SHA256:p2Qp9bWfTlOk3RzCnVdYx7uJhE1sG5mA8iKoLw0NqXc end in reasonix-demo-Xa1b2c/home"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_from_the_task_to_the_end() {
    let rig = LocalRig::new(Scenario::new()).await;
    let mut command = rig.command(&["demo"]);
    // Paths that are short enough to be read.
    command.env("TMPDIR", "/tmp");
    let terminal = Terminal::open(&command, COLUMNS, ROWS).await;
    let keep = |name, title| keep(&terminal, name, title, &[]);
    terminal.see("ready").await;
    keep("demo-start", "reasonix demo").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("May edit_file run?").await;
    keep("demo-approval", "reasonix demo: a change wants to be approved").await;
    terminal.answer("May edit_file run?", "y").await;
    terminal.see("While you read").await;
    terminal.see("Next try in").await;
    keep("demo-away", "reasonix demo: the host is away").await;
    terminal.see("nothing is shown twice.").await;
    terminal.see("ready").await;
    keep("demo-finished", "reasonix demo: nothing lost, nothing doubled").await;
    terminal.keys(&["C-d"]).await;
    terminal.see("demo: ok").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_on_the_way_and_its_key() {
    let rig = Rig::new(Scenario::new(), HostOptions::installed()).await;
    fs::remove_file(rig.known_hosts()).unwrap();
    rig.proxy.black_hole(true);
    let terminal = Terminal::open(&rig.command(&["--remote", "box"]), COLUMNS, 16).await;
    terminal.see("Connecting to box").await;
    keep(&terminal, "connecting", "reasonix --remote box", &[]).await;
    rig.proxy.restore();
    rig.proxy.cut();
    terminal.see("trust and remember").await;
    let port = rig.proxy.address().port().to_string();
    let places = [(port.as_str(), "22022")];
    keep(
        &terminal,
        "host-key",
        "reasonix --remote box: an unknown host key",
        &places,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password() {
    let login = vec![LoginStep::Password("secret".to_owned())];
    let host = Embedded::new(Scenario::new(), login).await;
    let terminal = Terminal::open(&host.command(&["--remote", "box"]), COLUMNS, 16).await;
    hears(&terminal, "Password for").await;
    terminal.write("not shown").await;
    terminal.see("•••••••••").await;
    keep(&terminal, "password", "reasonix --remote box: a password", &[]).await;
}

const ANSWER: &str = "\
The greeting was in the wrong language. What I did:

1. read `greet.py`,
2. changed **one** line,
3. ran it.

```python
print(\"你好, world\")
```

| File | Change |
| --- | --- |
| greet.py | says hello in Chinese |
";

#[tokio::test(flavor = "multi_thread")]
async fn a_session_on_this_machine_its_help_and_the_others() {
    let scenario = Scenario::new()
        .say("Nothing to do.")
        .say("It is written down.")
        .reply(
            Reply::new()
                .say("I look at it first.")
                .call("read_file", &json!({"path": "greet.py"})),
        )
        .call(
            "edit_file",
            &json!({"path": "greet.py", "old_string": "\"hello, world\"", "new_string": "\"你好, world\""}),
        )
        .call("bash", &json!({"command": "cat greet.py"}))
        .say(ANSWER);
    let rig = LocalRig::new(scenario).await;
    rig.put("greet.py", "#!/usr/bin/env python3\nprint(\"hello, world\")\n");
    rig.run(&["run", "Check the spelling of the README"]).await;
    rig.run(&["run", "Write a change log for 0.2"]).await;
    let terminal = open(&rig, COLUMNS, 44).await;
    ask(&terminal, "Greet in Chinese, please.").await;
    terminal.see("says hello in Chinese").await;
    terminal.see("ready").await;
    let root = rig.root().to_str().unwrap().to_owned();
    let places = [(root.as_str(), "/home/anna/project")];
    keep(&terminal, "session", "reasonix", &places).await;

    terminal.resize(COLUMNS, ROWS).await;
    terminal.keys(&["F1"]).await;
    terminal.see("Esc closes").await;
    keep(&terminal, "help", "reasonix: keys and commands", &places).await;
    terminal
        .press_until("Escape", "the help closes", |screen| {
            !screen.contains("Esc closes")
        })
        .await;

    ask(&terminal, "/sessions").await;
    terminal.see("Check the spelling").await;
    keep(&terminal, "sessions", "reasonix: sessions", &places).await;
    terminal
        .press_until("Escape", "the list closes", |screen| {
            !screen.contains("Esc close")
        })
        .await;
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
}
