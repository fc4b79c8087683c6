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

/// Walks through a server of this machine that is not there, and chooses again.
async fn in_vain(terminal: &Terminal) {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", free.local_addr().unwrap());
    drop(free);
    terminal.see("Which one").await;
    terminal.write("5").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("Address (base URL)").await;
    terminal.write(&address).await;
    terminal.keys(&["Enter"]).await;
    terminal.see("Model, as the server calls it").await;
    terminal.write("qwen").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("What now?").await;
    terminal.write("c").await;
    terminal.keys(&["Enter"]).await;
    terminal
        .wait_for("the menu again", |screen| {
            screen.matches("Which one").count() == 2
        })
        .await;
}

/// Walks through another endpoint that answers.
async fn with_success(rig: &LocalRig, terminal: &Terminal) {
    terminal.write("9").await;
    terminal.keys(&["Enter"]).await;
    terminal
        .wait_for("the address", |screen| {
            screen.trim_end().ends_with("Address (base URL):")
        })
        .await;
    terminal.write(&rig.model.base_url()).await;
    terminal.keys(&["Enter"]).await;
    terminal.see("Model, as the endpoint calls it").await;
    terminal.write("m").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("Does it take a key?").await;
    terminal.write("n").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("everything is ready").await;
    assert_eq!(terminal.exit_code().await, 0);
}

/// Runs a task with what was configured.
async fn works(rig: &LocalRig) {
    let checked = rig.run(&["config", "check"]).await;
    assert_eq!(checked.code, Some(0), "{checked:#?}");
    rig.model.push(scripted_model::Reply::new().say("Done."));
    let ran = rig.run(&["run", "go"]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Done.\n"), "{ran:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_choice_that_works_becomes_the_default_in_place_of_one_that_failed_before_it() {
    let rig = fresh(Scenario::new().say("ok")).await;
    let terminal = Terminal::open(&rig.command(&["setup"]), 120, 70).await;
    in_vain(&terminal).await;
    with_success(&rig, &terminal).await;
    let screen = terminal.everything().await;
    assert!(screen.contains("default_model was ollama/qwen"), "{screen}");
    works(&rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_default_that_no_provider_has_is_replaced() {
    let rig = fresh(Scenario::new().say("ok")).await;
    // The built-in providers end with the first that is configured.
    rig.replace_config("default_model = \"deepseek-flash\" # mine\n");
    let terminal = Terminal::open(&rig.command(&["setup"]), 120, 70).await;
    terminal.see("Which one").await;
    with_success(&rig, &terminal).await;
    let config = fs::read_to_string(rig.config_file()).unwrap();
    assert!(
        config.starts_with("default_model = \"custom-127-0-0-1/m\" # mine\n"),
        "{config}"
    );
    works(&rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_default_that_has_its_key_stays_and_is_still_there() {
    let rig = fresh(Scenario::new().say("ok")).await;
    rig.replace_config("default_model = \"deepseek-pro\"\n");
    let stored = rig.run_with_input(&["key", "DEEPSEEK_API_KEY"], b"k\n").await;
    assert_eq!(stored.code, Some(0), "{stored:#?}");
    let terminal = Terminal::open(&rig.command(&["setup"]), 120, 70).await;
    terminal.see("Which one").await;
    with_success(&rig, &terminal).await;
    let screen = terminal.everything().await;
    assert!(screen.contains("stays deepseek-pro"), "{screen}");
    let checked = rig.run(&["config", "check"]).await;
    assert_eq!(
        (checked.code, checked.stdout.contains("0 warning")),
        (Some(0), true),
        "{checked:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_place_of_a_model_is_not_taken() {
    let rig = fresh(Scenario::new()).await;
    let terminal = Terminal::open(&rig.command(&["setup"]), 100, 40).await;
    terminal.see("Which one").await;
    terminal.write("2").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("Model, such as gpt-").await;
    terminal.write("sk-proj-0123").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("looks like a key").await;
    terminal.keys(&["C-c"]).await;
    assert_eq!(terminal.exit_code().await, 130);
    assert!(!rig.config_file().exists());
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
