//! What is not asked for a host: the vendor hears nothing of it, and a person is told what to do.

use std::fs;

use scripted_model::Scenario;
use serde_json::json;

use super::{Brokered, ENTRY};
use crate::{rig::HostOptions, screen::rig::Terminal};

#[tokio::test(flavor = "multi_thread")]
async fn only_the_exact_address_of_the_users_own_configuration_is_asked() {
    let scenario = Scenario::new().say("never").repeated();
    let brokered = Brokered::new(scenario, HostOptions::installed()).await;
    let rig = &brokered.rig;
    let base = rig.model.base_url();
    let port = rig.model.address().port().to_string();
    let other_port = if port == "4000" { "4001" } else { "4000" };
    for allowed in [
        base.replace("http://", "https://"),
        base.replace(&port, other_port),
        format!("{base}/other"),
        base.replace("127.0.0.1", "127.0.0.2"),
    ] {
        // What a project says of it must not count.
        let project = format!("[[providers]]\nname = \"scripted\"\nbase_url = \"{base}\"\nmodel = \"m\"\n");
        fs::write(rig.local_work().join("reasonix.toml"), project).unwrap();
        let line = |url: &str| format!("base_url = \"{url}\"");
        brokered.change(&line(&base), &line(&allowed));
        let ran = rig.run(&["run", "--remote", "box", "go"]).await;
        assert_eq!(ran.code, Some(6), "{allowed}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("only asks it at"), "{}", ran.stderr);
        assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
        brokered.change(&line(&allowed), &line(&base));
    }
    brokered.change("name = \"scripted\"", "name = \"another\"");
    brokered.change("default_model = \"scripted\"", "default_model = \"another\"");
    let ran = rig.run(&["run", "--remote", "box", "go"]).await;
    assert_eq!(ran.code, Some(6), "{}", ran.stderr);
    assert!(ran.stderr.contains("no provider of that name"), "{}", ran.stderr);
    brokered.asked(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_ends_a_turn_and_says_how_to_raise_it() {
    let scenario = Scenario::new()
        .call("bash", &json!({"command": "true"}))
        .say("never");
    let brokered = Brokered::new(scenario, HostOptions::installed()).await;
    brokered.set("broker_max_requests = 1");
    let ran = brokered.rig.run(&["run", "--remote", "box", "go"]).await;
    assert_eq!(ran.code, Some(6), "{}", ran.stderr);
    assert!(ran.stderr.contains("broker_max_requests"), "{}", ran.stderr);
    brokered.asked(1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_not_here_is_said_before_anything_is_dialled() {
    let brokered = Brokered::new(Scenario::new(), HostOptions::installed()).await;
    let rig = &brokered.rig;
    brokered.change(&rig.model.base_url(), "https://vendor.example/v1");
    fs::write(rig.laptop().join(".reasonix/.env"), "OTHER=x\n").unwrap();
    let ran = rig.run(&["run", "--remote", "box", "go"]).await;
    assert_eq!(ran.code, Some(6), "{}", ran.stderr);
    assert!(
        ran.stderr.contains(&format!("reasonix key {ENTRY}")),
        "{}",
        ran.stderr
    );
    // Nor does the screen say that everything is ready.
    let terminal = Terminal::open(&rig.command(&["remote", "connect", "box"]), 160, 24).await;
    assert_eq!(terminal.exit_code().await, 6);
    terminal.see(&format!("reasonix key {ENTRY}")).await;
    assert_eq!(rig.proxy.connections(), 0);
    brokered.asked(0);
}
