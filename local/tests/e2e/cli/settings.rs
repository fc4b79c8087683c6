//! Commands that read and change settings.

use std::{fs, os::unix::fs::PermissionsExt as _};

use scripted_model::Scenario;
use serde_json::{Value, json};

use crate::local_rig::{LocalRig, only_line};

#[tokio::test(flavor = "multi_thread")]
async fn hosts_come_and_go_and_the_rest_of_the_file_stays() {
    let rig = LocalRig::new(Scenario::new()).await;
    let text = "# My settings.\n\n[agent]\ntemperature = 0.5 # warm\n\n# The old one.\n[[remote.hosts]]\nname = \"old\"\nhost = \"old.example\"\n";
    rig.replace_config(text);
    let add = [
        "remote",
        "add",
        "box",
        "me@box.example:2222",
        "--workspace",
        "~/work",
        "--identity-file",
        "~/.ssh/id",
        "--proxy-jump",
        "hop",
        "--install",
        "never",
    ];
    let missing = rig.run(&add).await;
    assert!(
        missing.code == Some(2) && missing.stderr.contains("~/.ssh/id does not exist"),
        "{missing:#?}"
    );
    fs::create_dir_all(rig.home().join(".ssh")).unwrap();
    fs::write(rig.home().join(".ssh/id"), "").unwrap();
    let ran = rig.run(&add).await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let changed = fs::read_to_string(rig.config_file()).unwrap();
    assert!(changed.starts_with(text), "{changed}");
    for line in [
        "identity_file = \"~/.ssh/id\"",
        "proxy_jump = \"hop\"",
        "install = \"never\"",
    ] {
        assert!(changed.contains(line), "{line}: {changed}");
    }
    let list = only_line(&rig.run(&["remote", "list", "--json"]).await);
    let want =
        json!({"name": "box", "host": "box.example", "port": 2222, "user": "me", "workspace": "~/work"});
    assert_eq!(list["hosts"][1], want);
    let shown = rig.run(&["remote", "list"]).await;
    assert!(
        shown.stdout.contains("box  me@box.example:2222  ~/work"),
        "{shown:#?}"
    );
    assert_eq!(rig.run(&add).await.code, Some(2), "twice");
    assert_eq!(rig.run(&["remote", "remove", "box"]).await.code, Some(0));
    let left = fs::read_to_string(rig.config_file()).unwrap();
    assert_eq!(left.trim_end(), text.trim_end());
    assert_eq!(rig.run(&["remote", "remove", "old"]).await.code, Some(0));
    let left = fs::read_to_string(rig.config_file()).unwrap();
    assert_eq!(
        left.trim_end(),
        "# My settings.\n\n[agent]\ntemperature = 0.5 # warm"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_added_where_there_is_no_file_yet() {
    let rig = LocalRig::new(Scenario::new()).await;
    fs::remove_file(rig.config_file()).unwrap();
    fs::remove_dir(rig.state()).unwrap();
    let ran = rig.run(&["remote", "add", "box", "box.example"]).await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let mode = fs::metadata(rig.config_file()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_read_from_standard_input_and_stored_for_its_owner_alone() {
    let rig = LocalRig::new(Scenario::new()).await;
    let file = rig.state().join(".env");
    fs::write(&file, "# mine\nOTHER_KEY=1\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    for value in ["first-secret", "second secret # with \"signs\""] {
        let ran = rig
            .run_with_input(&["key", "SOME_KEY"], format!("{value}\n").as_bytes())
            .await;
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        assert!(!format!("{ran:?}").contains("secret"), "{ran:#?}");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let keys = ::settings::EnvFile::load(&file).unwrap();
        assert_eq!(keys.get("SOME_KEY").unwrap().expose(), value);
        assert!(
            fs::read_to_string(&file)
                .unwrap()
                .starts_with("# mine\nOTHER_KEY=1\n")
        );
    }
    let ran = rig.run_with_input(&["key", "SOME_KEY"], b"two\nlines\n").await;
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(!ran.stderr.contains("two"), "{ran:#?}");
    let huge = "x".repeat(200_000);
    let ran = rig.run_with_input(&["key", "SOME_KEY"], huge.as_bytes()).await;
    assert_eq!(
        ran.code,
        Some(2),
        "a key that was cut would be stored: {}",
        ran.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn config_tells_values_and_where_they_come_from() {
    let rig = LocalRig::new(Scenario::new()).await;
    rig.configure("[agent]\ntemperature = 0.5\n");
    rig.put("reasonix.toml", "[agent]\ntemperature = 0.25\n");
    let explain = async |key: &str| rig.run(&["config", "explain", key]).await.stdout;
    let told = explain("agent.temperature").await;
    assert!(told.starts_with("agent.temperature = 0.25 ("), "{told}");
    assert!(told.contains("work/reasonix.toml:2:"), "{told}");
    assert!(
        told.contains("hides 0.5 (") && told.contains(".reasonix/config.toml:"),
        "{told}"
    );
    assert!(explain("sandbox.network").await.contains("= true (default)"));
    let check = rig.run(&["config", "check"]).await;
    assert_eq!(
        (check.code, check.stdout.contains("0 warning")),
        (Some(0), true),
        "{check:#?}"
    );
    rig.put("reasonix.toml", "[agent]\nwarmth = 1\n");
    let check = rig.run(&["config", "check"]).await;
    assert_eq!(check.code, Some(0), "{check:#?}");
    assert!(
        check.stdout.contains("1 warning") && check.stderr.contains("agent.warmth"),
        "{check:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn config_check_finds_a_default_model_that_no_provider_has_and_a_key_that_is_missing() {
    let rig = LocalRig::new(Scenario::new()).await;
    let config = fs::read_to_string(rig.config_file()).unwrap();
    rig.replace_config(&config.replace(
        "default_model = \"scripted\"",
        "default_model = \"deepseek-flash\"",
    ));
    let check = rig.run(&["config", "check"]).await;
    assert_eq!((check.code, check.stdout.as_str()), (Some(2), ""), "{check:#?}");
    for part in [
        "config.toml:1:1: default_model: unknown model \"deepseek-flash\" (configured: scripted/m)",
        "reasonix setup",
        "on the host",
    ] {
        assert!(check.stderr.contains(part), "{part}: {check:#?}");
    }
    let ran = rig.run(&["run", "x"]).await;
    assert!(
        ran.code == Some(2) && ran.stderr.contains("reasonix setup"),
        "{ran:#?}"
    );
    fs::remove_file(rig.config_file()).unwrap();
    let check = rig.run(&["config", "check"]).await;
    assert!(
        check.code == Some(0) && check.stderr.contains("reasonix key DEEPSEEK_API_KEY"),
        "{check:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_any_model_makes_no_session() {
    let rig = LocalRig::new(Scenario::new()).await;
    fs::remove_file(rig.config_file()).unwrap();
    let ran = rig.run(&["run", "x"]).await;
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(
        ran.stderr.contains("no model is configured yet") && ran.stderr.contains("reasonix setup"),
        "{ran:#?}"
    );
    let sessions = rig.run(&["sessions"]).await;
    assert!(sessions.stdout.contains("no sessions yet"), "{sessions:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_is_not_there_is_no_model_access() {
    let rig = LocalRig::new(Scenario::new()).await;
    let config = fs::read_to_string(rig.config_file()).unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}/v1", free.local_addr().unwrap());
    drop(free);
    let model = rig.model.base_url();
    for address in [nobody.as_str(), "http://no-such-host.invalid/v1"] {
        rig.replace_config(&config.replace(&model, address));
        let done = rig.task(&[]).await;
        assert_eq!(
            (done.code, done.result["exit_code"].as_u64()),
            (Some(6), Some(6)),
            "{address}: {done:#?}"
        );
        let message = done.result["outcome"]["message"].as_str().unwrap();
        assert!(
            message.contains("could not reach") && !message.contains('{'),
            "{message}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_listed_with_the_newest_first() {
    let rig = LocalRig::new(Scenario::new().say("One.").say("Two.")).await;
    let none = rig.run(&["sessions"]).await;
    assert_eq!(
        (none.code, none.stdout.contains("no sessions yet")),
        (Some(0), true),
        "{none:#?}"
    );
    let first = rig.task(&[]).await.ok().session();
    let second = rig.task(&[]).await.ok().session();
    let list = only_line(&rig.run(&["sessions", "--json"]).await);
    let ids: Vec<&str> = list["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|info| info["session"].as_str())
        .collect();
    assert_eq!(ids, [second.as_str(), &first]);
    assert!(
        list["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .all(|info| info["title"] != Value::Null)
    );
}
