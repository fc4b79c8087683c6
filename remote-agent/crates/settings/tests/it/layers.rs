//! Precedence and provenance.

use std::{fs, time::Duration};

use settings::{
    Origin,
    schema::{Confinement, Credentials, Fallback, Install, PresetName},
};

use crate::support::Fixture;

#[test]
fn flag_beats_variable_beats_project_beats_user_beats_default() {
    let mut fixture = Fixture::new();
    let temperature = |fixture: &Fixture| fixture.load().settings.agent.temperature.to_string();
    assert_eq!(temperature(&fixture), "0");
    fixture = fixture.user("agent.temperature = 0.1");
    assert_eq!(temperature(&fixture), "0.1");
    fixture = fixture.project("agent.temperature = 0.2");
    assert_eq!(temperature(&fixture), "0.2");
    fixture = fixture.variable("REASONIX_AGENT_TEMPERATURE", "0.3");
    assert_eq!(temperature(&fixture), "0.3");
    fixture = fixture.flag("--temperature", "agent.temperature", "0.4");
    assert_eq!(temperature(&fixture), "0.4");

    let explained = fixture.load().explain("agent.temperature").unwrap();
    let folder = fixture.path("");
    let place = |name: &str, column: usize| format!("{}{name}:1:{column}", folder.display());
    assert_eq!(
        (explained.value.as_str(), explained.origin),
        ("0.4", Origin::Flag("--temperature".into()))
    );
    let hidden: Vec<String> = explained
        .hidden
        .iter()
        .map(|(value, origin)| format!("{value} {origin}"))
        .collect();
    assert_eq!(
        hidden,
        [
            "0.3 environment variable REASONIX_AGENT_TEMPERATURE".to_owned(),
            format!("0.2 {}", place("project/reasonix.toml", 7)),
            format!("0.1 {}", place("home/config.toml", 7)),
            "0.0 default".to_owned(),
        ]
    );
}

#[test]
fn tables_merge_key_by_key() {
    let fixture = Fixture::new()
        .user("[agent]\ntemperature = 0.1\nsystem_prompt = \"u\"\n[tools]\nbash_timeout_seconds = 5\n")
        .project("[agent]\ncompact_ratio = 0.5\nsystem_prompt = \"\"\n");
    let loaded = fixture.load();
    assert_eq!(loaded.settings.agent.temperature.to_string(), "0.1");
    assert_eq!(loaded.settings.agent.compact_ratio.to_string(), "0.5");
    assert_eq!(loaded.settings.tools.bash_timeout_seconds, 5);
    assert_eq!(loaded.system_prompt, None, "an empty text unsets");
}

#[test]
fn variables_and_flags_are_checked_like_files() {
    for (name, value, line) in [
        (
            "REASONIX_SANDBOX_BASH",
            "offf",
            "sandbox.bash: expected one of off, enforce, found \"offf\"",
        ),
        (
            "REASONIX_AGENT_TEMPERATURE",
            "warm",
            "agent.temperature: expected a number, found a text",
        ),
        (
            "REASONIX_SERVE_IDLE_EXIT",
            "8",
            "serve.idle_exit: expected a duration, found \"8\"",
        ),
        (
            "REASONIX_PERMISSION_MODE",
            "plan",
            "permissions.preset: expected one of",
        ),
    ] {
        let lines = Fixture::new().variable(name, value).error_lines();
        assert!(
            lines[0].starts_with(&format!("environment variable {name}: {line}")),
            "{lines:?}"
        );
    }
    let lines = Fixture::new()
        .flag("--x", "permissions.allow", "Bash")
        .error_lines();
    assert_eq!(lines, ["flag --x: permissions.allow: no flag can set this key"]);
    let loaded = Fixture::new()
        .variable("REASONIX_MODEL", "deepseek-pro")
        .variable("REASONIX_SANDBOX_NETWORK", "0")
        .variable("REASONIX_LANG", "")
        .variable("REASONIX_LOG", "debug")
        .variable("REASONIX_SERVE_IDLE_EXIT", "1h30m")
        .flag("--permission-mode", "permissions.preset", "ask")
        .load();
    assert_eq!(loaded.settings.default_model, "deepseek-pro");
    assert!(!loaded.settings.sandbox.network);
    assert_eq!(loaded.settings.serve.idle_exit, Duration::from_secs(5_400));
    assert_eq!(loaded.settings.permissions.preset, PresetName::ReadOnly);
    assert!(loaded.warnings.is_empty());
}

#[test]
fn older_names_and_words_are_read() {
    let fixture = Fixture::new().user(
        "[[remote.hosts]]\nname = 'a'\nserve_install = 'npm'\ncredential_mode = 'local-proxy'\nidle_exit = 0\n[[remote.hosts]]\nname = 'b'\ncredentials = 'remote'\n",
    );
    let loaded = fixture.load();
    let [a, b] = loaded.settings.remote.hosts.as_slice() else {
        panic!("two hosts")
    };
    assert_eq!(
        (a.agent.install, a.agent.credentials),
        (Install::Auto, Credentials::Broker)
    );
    assert_eq!(
        (a.agent.idle_exit, b.agent.idle_exit),
        (Duration::ZERO, Duration::from_secs(28_800))
    );
    assert_eq!(b.agent.credentials, Credentials::Host);
    assert_eq!(fixture.warnings(), Vec::<String>::new());
}

#[test]
fn what_a_host_may_have_requested_is_limited() {
    let fixture = Fixture::new().user(
        "[[remote.hosts]]\nname = 'a'\ncredentials = 'broker'\nbroker_max_requests = 3\nbroker_expires = '90m'\n[[remote.hosts]]\nname = 'b'\nbroker_expires = 0\n",
    );
    let loaded = fixture.load();
    let limits = |index: usize| {
        let agent = &loaded.settings.remote.hosts[index].agent;
        (agent.broker_max_requests, agent.broker_expires)
    };
    assert_eq!(limits(0), (3, Duration::from_secs(5_400)));
    assert_eq!(limits(1), (2_000, Duration::ZERO));
    assert_eq!(fixture.warnings(), Vec::<String>::new());
}

#[test]
fn every_value_can_be_explained_and_no_secret_is() {
    let fixture = Fixture::new().user(
        "serve.token = 'hush'\nnetwork.proxy.password = 'hush'\nplugins = [{ env = { K = 'hush' } }]\n[[providers]]\nname = 'p'\nmodel = 'm'\nbase_url = 'http://x'\nheaders = { A = 'hush' }\n[[remote.hosts]]\nname = 'lab'\nport = 2222\n",
    );
    let loaded = fixture.load();
    let explain = |key: &str| loaded.explain(key).map(|explanation| explanation.value);
    assert_eq!(explain("remote.hosts.lab.port").as_deref(), Some("2222"));
    assert_eq!(explain("remote.hosts[0].port").as_deref(), Some("2222"));
    assert_eq!(explain("sandbox.bash").as_deref(), Some("\"enforce\""));
    assert_eq!(explain("agent.system_prompt").as_deref(), Some("unset"));
    assert_eq!(explain("agent.nothing"), None);
    for key in [
        "serve",
        "serve.token",
        "network",
        "network.proxy.password",
        "providers",
        "providers.p.headers",
        "providers.p",
        "plugins",
    ] {
        assert!(
            !explain(key).unwrap().contains("hush"),
            "{key}: {:?}",
            explain(key)
        );
    }
    for entry in settings::keys() {
        let key = entry.path.replace("[]", "[0]").replace("<name>", "x");
        assert!(explain(&key).is_some(), "{key}");
    }
}

#[test]
fn paths_of_the_sandbox_are_expanded() {
    let fixture = Fixture::new()
        .user("[sandbox]\nforbid_read = ['${HOME}/.ssh', '${X:-/y}/z']\nallow_write = ['/tmp/$X']\n")
        .variable("HOME", "/home/u");
    let sandbox = fixture.load().settings.sandbox;
    assert_eq!(sandbox.forbid_read, ["/home/u/.ssh", "/y/z"]);
    assert_eq!(sandbox.allow_write, ["/tmp/$X"]);
}

#[test]
fn the_persona_is_read_relative_to_the_file_that_names_it() {
    let fixture = Fixture::new().user("agent.system_prompt_file = 'p.md'\nagent.system_prompt = 'unused'");
    let lines = fixture.error_lines();
    assert!(
        lines[0].starts_with("home/config.toml:1:7: agent.system_prompt_file: could not read home/p.md"),
        "{lines:?}"
    );
    fs::write(fixture.path("home/p.md"), "be kind").unwrap();
    assert_eq!(fixture.load().system_prompt.as_deref(), Some("be kind"));
    let inline = Fixture::new().user("agent.system_prompt = 'be brief'").load();
    assert_eq!(inline.system_prompt.as_deref(), Some("be brief"));
}

#[test]
fn every_word_of_every_choice_can_be_used() {
    for entry in settings::keys() {
        let settings::schema::Kind::Choice(words, older) = entry.key.kind else {
            continue;
        };
        if entry.used == settings::schema::Use::Later || entry.path.contains('[') {
            continue;
        }
        for word in words.iter().chain(older.iter().map(|(word, _)| word)) {
            Fixture::new().user(&format!("{} = '{word}'", entry.path)).load();
        }
    }
    let loaded = Fixture::new()
        .user("sandbox.bash = 'off'\npermissions.mode = 'deny'")
        .load();
    assert_eq!(loaded.settings.sandbox.bash, Confinement::Off);
    assert_eq!(loaded.settings.permissions.mode, Fallback::Deny);
}
