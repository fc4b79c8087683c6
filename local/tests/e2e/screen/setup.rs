//! The first start, on a real terminal.

use std::{fs, os::unix::fs::PermissionsExt as _};

use scripted_model::{Fault, Scenario};

use super::rig::Terminal;
use crate::local_rig::LocalRig;

/// What is typed as a key, and must never be seen.
const KEY: &str = "sk-never-on-the-screen";

async fn fresh(scenario: Scenario) -> LocalRig {
    let rig = LocalRig::new(scenario).await;
    fs::remove_file(rig.config_file()).unwrap();
    rig
}

/// Walks to the key of another endpoint.
async fn to_the_key(rig: &LocalRig, terminal: &Terminal) {
    terminal.see("Which one").await;
    terminal.write("9").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("Address (base URL)").await;
    terminal.write(&rig.model.base_url()).await;
    terminal.keys(&["Enter"]).await;
    terminal.see("Model, as the endpoint calls it").await;
    terminal.write("m").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("Does it take a key?").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("_API_KEY").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn setup_leads_to_a_model_that_answers() {
    let rig = fresh(Scenario::new().say("ok")).await;
    let terminal = Terminal::open(&rig.command(&["setup"]), 100, 40).await;
    to_the_key(&rig, &terminal).await;
    terminal.write(KEY).await;
    terminal.keys(&["Enter"]).await;
    terminal.see("everything is ready").await;
    assert_eq!(terminal.exit_code().await, 0);
    assert!(!terminal.everything().await.contains(KEY));
    terminal.assert_restored().await;

    let keys = settings::EnvFile::load(&rig.state().join(".env")).unwrap();
    let name = keys.names().next().unwrap().to_owned();
    assert_eq!(keys.get(&name).unwrap().expose(), KEY);
    for file in [rig.state().join(".env"), rig.config_file()] {
        let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.display());
    }
    let config = fs::read_to_string(rig.config_file()).unwrap();
    assert!(config.contains(&name) && !config.contains(KEY), "{config}");
    assert!(
        rig.model.requests()[0].authorization.is_some(),
        "the key was used"
    );

    // The next command needs nothing more.
    rig.model.push(scripted_model::Reply::new().say("Done."));
    let ran = rig.run(&["run", "go"]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Done.\n"), "{ran:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_key_is_said_and_can_be_typed_again() {
    let refused = Fault::Status {
        status: 401,
        retry_after: None,
        body: None,
    };
    let rig = fresh(Scenario::new().fault(0, refused).say("ok")).await;
    let text = "# Mine.\n[agent]\ntemperature = 0.5 # warm\n";
    rig.replace_config(text);
    let terminal = Terminal::open(&rig.command(&["setup"]), 100, 40).await;
    to_the_key(&rig, &terminal).await;
    terminal.write("wrong").await;
    terminal.keys(&["Enter"]).await;
    let screen = terminal.see("What now?").await;
    assert!(screen.contains("authentication failed (HTTP 401)"), "{screen}");
    terminal.write("n").await;
    terminal.keys(&["Enter"]).await;
    terminal
        .wait_for("the key again", |screen| {
            screen.matches("what is typed is not shown").count() == 2
        })
        .await;
    terminal.write(KEY).await;
    terminal.keys(&["Enter"]).await;
    terminal.see("everything is ready").await;
    assert_eq!(terminal.exit_code().await, 0);
    let config = fs::read_to_string(rig.config_file()).unwrap();
    assert!(config.contains(text), "what was there stays: {config}");
    assert_eq!(config.matches("[[providers]]").count(), 1, "{config}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_can_be_kept() {
    let rig = fresh(Scenario::new()).await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", free.local_addr().unwrap());
    drop(free);
    let terminal = Terminal::open(&rig.command(&["setup"]), 100, 40).await;
    terminal.see("Which one").await;
    terminal.write("5").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("http://127.0.0.1:11434/v1").await;
    terminal.write(&address).await;
    terminal.keys(&["Enter"]).await;
    terminal.see("Model, as the server calls it").await;
    terminal.write("qwen").await;
    terminal.keys(&["Enter"]).await;
    let screen = terminal.see("What now?").await;
    assert!(screen.contains("could not reach 127.0.0.1"), "{screen}");
    terminal.keys(&["Enter"]).await;
    assert_eq!(terminal.exit_code().await, 6);
    assert!(!rig.state().join(".env").exists(), "no key was asked for");
    let config = fs::read_to_string(rig.config_file()).unwrap();
    assert!(config.contains(&address), "{config}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_in_the_middle_leaves_nothing_and_the_terminal_as_it_was() {
    let rig = fresh(Scenario::new()).await;
    let terminal = Terminal::open(&rig.command(&["setup"]), 100, 40).await;
    to_the_key(&rig, &terminal).await;
    terminal.write("half a k").await;
    terminal.keys(&["C-c"]).await;
    assert_eq!(terminal.exit_code().await, 130);
    terminal.assert_restored().await;
    assert!(!rig.config_file().exists() && !rig.state().join(".env").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_start_without_a_command_leads_through_the_setup() {
    let rig = fresh(Scenario::new()).await;
    let terminal = Terminal::open(&rig.command(&[]), 100, 40).await;
    terminal.see("Which one").await;
    terminal.keys(&["C-c"]).await;
    assert_eq!(terminal.exit_code().await, 130);
    assert!(!rig.config_file().exists());
}
