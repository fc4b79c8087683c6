//! `reasonix remote add` with a person, on a real terminal.

use std::fs;

use scripted_model::Scenario;

use super::rig::Terminal;
use crate::rig::{HostOptions, Rig, edit};

async fn answer(terminal: &Terminal, question: &str, text: &str) {
    terminal.see(question).await;
    if !text.is_empty() {
        terminal.write(text).await;
    }
    terminal.keys(&["Enter"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_looked_at_and_written_down() {
    let rig = Rig::new(Scenario::new().say("Hello."), HostOptions::installed()).await;
    fs::remove_file(rig.known_hosts()).unwrap();
    let port = rig.proxy.address().port();
    let key = rig.laptop().parent().unwrap().join("ssh/key");
    let terminal = Terminal::open(&rig.command(&["remote", "add"]), 160, 50).await;
    answer(&terminal, "Name of the host", "new box").await;
    answer(&terminal, "one word", "box").await;
    answer(&terminal, "already a host named box", "dev").await;
    answer(&terminal, "Where it is", &format!("127.0.0.1:{port}")).await;
    answer(&terminal, "Trust it?", "y").await;
    answer(&terminal, "[k]ey file", "k").await;
    answer(&terminal, "Private key file", key.to_str().unwrap()).await;
    let screen = terminal.see("Workspace folder on the host").await;
    for part in ["logged in: Linux", "is installed", "sandbox:"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    let folder = rig.work().join("made/here");
    answer(
        &terminal,
        "Workspace folder on the host",
        folder.to_str().unwrap(),
    )
    .await;
    answer(&terminal, "does not exist. Make it?", "").await;
    assert_eq!(terminal.exit_code().await, 0);
    terminal.assert_restored().await;
    assert!(folder.is_dir());
    let config = fs::read_to_string(rig.laptop().join(".reasonix/config.toml")).unwrap();
    for line in [
        "name = \"dev\"".to_owned(),
        format!("identity_file = \"{}\"", key.display()),
        format!("workspace = \"{}\"", folder.display()),
    ] {
        assert!(config.contains(&line), "{line}: {config}");
    }
    let ran = rig.run(&["run", "--remote", "dev", "go"]).await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_not_there_may_be_written_down_all_the_same() {
    let rig = Rig::new(Scenario::new(), HostOptions::default()).await;
    let terminal = Terminal::open(&rig.command(&["remote", "add", "dev"]), 160, 50).await;
    answer(&terminal, "Where it is", "127.0.0.1:1").await;
    answer(&terminal, "What now?", "w").await;
    assert_eq!(terminal.exit_code().await, 0);
    let config = rig.laptop().join(".reasonix/config.toml");
    edit(&config, "name = \"dev\"", "name = \"other\"");

    let terminal = Terminal::open(&rig.command(&["remote", "add", "dev"]), 160, 50).await;
    answer(&terminal, "Where it is", "127.0.0.1:1").await;
    answer(&terminal, "What now?", "q").await;
    assert_eq!(terminal.exit_code().await, 3);
    let terminal = Terminal::open(&rig.command(&["remote", "add", "dev", "--no-check"]), 160, 50).await;
    answer(&terminal, "Where it is", "127.0.0.1:1").await;
    terminal.see("Workspace folder on the host").await;
    terminal.keys(&["C-c"]).await;
    assert_eq!(terminal.exit_code().await, 130);
    assert!(!fs::read_to_string(&config).unwrap().contains("\"dev\""));
}
