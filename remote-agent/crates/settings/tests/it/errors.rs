//! A file that exists and cannot be used stops everything, with file, line, column and key.

use std::{fs, os::unix::fs::symlink};

use settings::Error;

use crate::support::Fixture;

#[test]
fn every_broken_value_is_named_with_its_place() {
    for (text, line, hint) in [
        (
            "[permissions]\ndeny = [\"Bash(rm:*)\"]\nmode = \"offf\"\n",
            "home/config.toml:3:1: permissions.mode: expected one of allow, ask, deny, found \"offf\"",
            "use one of: allow, ask, deny",
        ),
        (
            "[sandbox]\n  bash = \"enforced\"\n",
            "home/config.toml:2:3: sandbox.bash: expected one of off, enforce, found \"enforced\"",
            "did you mean \"enforce\"?",
        ),
        (
            "[agent]\ntemperature = \"0.5\"\n",
            "home/config.toml:2:1: agent.temperature: expected a number, found a text",
            "write it without quotes",
        ),
        (
            "[permissions]\ndeny = \"Bash\"\n",
            "home/config.toml:2:1: permissions.deny: expected a list of texts, found a text",
            "write it in brackets: [\"…\"]",
        ),
        (
            "permissions.deny = [\"a\",\n  7]\n",
            "home/config.toml:2:3: permissions.deny[1]: expected a text, found a whole number",
            "write it in quotes",
        ),
        (
            "[serve]\nidle_exit = 8\n",
            "home/config.toml:2:1: serve.idle_exit: expected a duration, found 8",
            "write a number with a unit, such as \"8h\", \"90s\" or \"0\"",
        ),
        (
            "[[remote.hosts]]\nhost = \"x\"\n",
            "home/config.toml:1:1: remote.hosts[0]: `name` is missing",
            "add `name` to this entry",
        ),
        (
            "[[providers]]\nname = \"a\"\nmodel = \"m\"\n",
            "home/config.toml:1:1: providers[0]: `base_url` or `request_url` is missing",
            "add `base_url` or `request_url` to this entry",
        ),
        (
            "[[providers]]\nname = \"a\"\nbase_url = \"http://x\"\n",
            "home/config.toml:1:1: providers[0]: the provider has no model",
            "add `model` or `models`",
        ),
        (
            "[[remote.hosts]]\nname = 'a'\n[[remote.hosts]]\nname = 'a'\n",
            "home/config.toml:4:1: remote.hosts[1]: `a` is already defined at home/config.toml:2:1",
            "give one of them another name",
        ),
        (
            "[[remote.hosts]]\nname = 'a'\n[[remote.hosts.forwards]]\nbind = '80'\n",
            "home/config.toml:3:1: remote.hosts[0].forwards[0]: the forward has no target",
            "add `target`",
        ),
        (
            "sandbox.forbid_read = [\"${NOWHERE}/x\"]",
            "home/config.toml:1:24: sandbox.forbid_read[0]: `NOWHERE` has no value",
            "set the variable, or give a default: ${NAME:-default}",
        ),
        (
            "agent.temperature = 1.0\nagent = 1\n",
            "home/config.toml:2:1: this is not TOML: duplicate key",
            "correct the line; texts stand in quotes, lists in [ ]",
        ),
    ] {
        let lines = Fixture::new().user(text).error_lines();
        assert_eq!(lines, [line.to_owned(), format!("hint: {hint}")], "{text}");
    }
}

#[test]
fn ranges_and_tables_are_checked() {
    for (text, line) in [
        (
            "agent.compact_ratio = 2.0",
            "agent.compact_ratio: expected a number from 0.3 to 0.85, found 2.0",
        ),
        (
            "agent.temperature = nan",
            "agent.temperature: expected a number from 0 to 2, found nan",
        ),
        (
            "tools.bash_timeout_seconds = -1",
            "tools.bash_timeout_seconds: expected a number from 0 to 604800, found -1",
        ),
        (
            "tools.bash_timeout_seconds = 1.5",
            "tools.bash_timeout_seconds: expected a whole number, found a number",
        ),
        ("agent = 1", "agent: expected a table, found a whole number"),
        (
            "remote.hosts = 1",
            "remote.hosts: expected a list of tables, found a whole number",
        ),
        (
            "remote.hosts = [1]",
            "remote.hosts[0]: expected a table, found a whole number",
        ),
        (
            "[[remote.hosts]]\nname = 'x'\nbroker_max_requests = 0",
            "remote.hosts[0].broker_max_requests: expected a number from 1 to 1000000000, found 0",
        ),
        (
            "default_model = 1979-05-27",
            "default_model: expected a text, found a date, a time or too large a number",
        ),
        (
            "sandbox.network = 99999999999999999999",
            "sandbox.network: expected true or false, found a date, a time or too large a number",
        ),
    ] {
        let lines = Fixture::new().user(text).error_lines();
        assert!(lines[0].ends_with(line), "{text}: {lines:?}");
    }
}

#[test]
fn all_problems_of_both_files_are_reported_at_once() {
    let fixture = Fixture::new()
        .user("agent.temperature = true\ntools.enabled = 1\n")
        .project("[agent\n");
    let lines = fixture.error_lines();
    assert_eq!(
        lines.iter().filter(|line| !line.starts_with("hint")).count(),
        3,
        "{lines:?}"
    );
    assert!(
        lines[2].starts_with("project/reasonix.toml:1:7: this is not TOML"),
        "{lines:?}"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_no_missing_file() {
    let directory = Fixture::new();
    fs::create_dir(directory.path("project/reasonix.toml")).unwrap();
    let dangling = Fixture::new();
    symlink("/nowhere/at/all", dangling.path("home/config.toml")).unwrap();
    let huge = Fixture::new().user(&"#".repeat(2 << 20));
    for fixture in [directory, dangling, huge] {
        assert!(matches!(fixture.error(), Error::Unreadable { .. }));
    }
    let binary = Fixture::new();
    fs::write(binary.path("home/config.toml"), b"a = 1\nb\xff").unwrap();
    assert_eq!(
        binary.error_lines()[0],
        "home/config.toml:2:2: this is not UTF-8 text"
    );
}

#[test]
fn missing_files_give_defaults_without_a_word() {
    let fixture = Fixture::new();
    let loaded = fixture.load();
    assert!(loaded.warnings.is_empty());
    assert_eq!(loaded.settings.providers, settings::schema::presets());
    assert_eq!(
        loaded.settings.permissions,
        settings::schema::Permissions::default()
    );
}

#[test]
fn unknown_keys_are_warned_about_and_the_rest_holds() {
    let fixture = Fixture::new().user(
        "temprature = 1\ntemperature = 1\n[agent]\ntemprature = 1\n[agnet]\nx = 1\n[permissions]\ndeny = [\"Bash\"]\n[[remote.hosts]]\nname='a'\nprot = 1\n",
    );
    let mut warnings = fixture.warnings();
    warnings.sort();
    assert_eq!(
        warnings,
        [
            "home/config.toml:11:1: remote.hosts[0].prot: unknown key, ignored [did you mean `port`?]",
            "home/config.toml:1:1: temprature: unknown key, ignored",
            "home/config.toml:2:1: temperature: unknown key, ignored [`temperature` belongs to [agent]]",
            "home/config.toml:4:1: agent.temprature: unknown key, ignored [did you mean `temperature`?]",
            "home/config.toml:5:2: agnet: unknown key, ignored [did you mean `agent`?]",
        ]
    );
    assert_eq!(fixture.load().settings.permissions.deny, ["Bash"]);
}

#[test]
fn keys_of_later_parts_are_silent() {
    let fixture = Fixture::new().user(
        "config_version = 10\nui.theme = 7\nui.cursor_shape = \"beam\"\n[agent]\nmax_steps = 1\nauto_plan = true\n[lsp.servers.go]\ncommand = \"gopls\"\n[bot]\nmax_steps = 0\n[[plugins]]\nname = \"x\"\n[[mcp.servers]]\nname = \"y\"\n[desktop.window]\nx = 1\n",
    );
    assert_eq!(fixture.warnings(), Vec::<String>::new());
    let typo = Fixture::new().user("ui.thme = 'dark'");
    assert_eq!(
        typo.warnings(),
        ["home/config.toml:1:4: ui.thme: unknown key, ignored [did you mean `theme`?]"]
    );
}
