//! Secrets are where they belong and nowhere else: not in arguments, environments, logs, sessions or answers.

use std::{
    fs,
    path::{Path, PathBuf},
};

use protocol::SessionId;
use scripted_model::{Reply, Scenario};
use serde_json::{Value, json};

use crate::rig::{HostOptions, Rig, edit, eventually};

/// Programs are not searched: nothing writes into them.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Lists the files below a folder that hold a text.
pub(crate) fn files_with(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            let Ok(kind) = fs::symlink_metadata(&path) else {
                continue;
            };
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file()
                && kind.len() < LARGEST
                && fs::read(&path).is_ok_and(|content| has(&content, text))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Lists the processes of this machine that show a text in their arguments or their environment.
fn processes_with(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        for file in ["cmdline", "environ"] {
            let path = entry.path().join(file);
            if fs::read(&path).is_ok_and(|content| has(&content, text)) {
                let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                found.push(format!(
                    "{}: {}",
                    path.display(),
                    String::from_utf8_lossy(&arguments)
                ));
            }
        }
    }
    found
}

fn has(content: &[u8], text: &str) -> bool {
    content
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

/// A host with a provider key in its `.env` and a password in the environment of its logins.
struct Vault {
    rig: Rig,
    /// The provider key.
    key: String,
    /// The password.
    password: String,
}

impl Vault {
    async fn new(scenario: Scenario, confinement: &str) -> Self {
        let fresh = |what: &str| format!("{what}-{}", SessionId::fresh());
        let (key, password) = (fresh("key"), fresh("password"));
        // Temporary files of the host are kept where they are searched afterwards.
        let noise = format!(
            "export DEPLOY_PASSWORD='{password}' REASONIX_LOG=debug TMPDIR=\"$HOME/tmp\"; mkdir -p \"$TMPDIR\""
        );
        let host = HostOptions {
            shell: Some(("/bin/bash".into(), noise)),
            outside_tmp: true,
            ..HostOptions::installed()
        };
        let rig = Rig::new(scenario, host).await;
        let home = rig.host().join(".reasonix");
        edit(
            &home.join("config.toml"),
            "model = \"m\"",
            "model = \"m\"\napi_key_env = \"RX_TEST_API_KEY\"",
        );
        edit(
            &home.join("config.toml"),
            "bash = \"off\"",
            &format!("bash = \"{confinement}\""),
        );
        fs::write(home.join(".env"), format!("RX_TEST_API_KEY={key}\n")).unwrap();
        Self { rig, key, password }
    }

    /// Runs one turn, looks at all processes while a command of it runs, and searches everything afterwards.
    async fn turn_shows_nothing(&self) {
        self.turn_in("box").await;
    }

    /// The same in another workspace.
    async fn turn_in(&self, host: &str) {
        let rig = &self.rig;
        let run = rig.start(&[
            "-vv",
            "run",
            "--remote",
            host,
            "--output-format",
            "stream-json",
            "go",
        ]);
        eventually("the command runs", || rig.work().join("started").exists()).await;
        assert_eq!(processes_with(&self.key), [""; 0]);
        // The logins themselves have the password in their environment; daemon, command and laptop outlive them.
        eventually("no process shows the password", || {
            processes_with(&self.password).is_empty()
        })
        .await;
        fs::write(rig.work().join("go"), "").unwrap();
        let (lines, status, stderr) = run.finish().await;
        assert_eq!(status.code(), Some(0), "{stderr}");
        let root = rig.host().parent().unwrap().to_owned();
        let socket = rig.daemon().unwrap()["identity"]["socket"]
            .as_str()
            .unwrap()
            .to_owned();
        let run_dir = Path::new(&socket).parent().unwrap().to_owned();
        assert_eq!(files_with(&root, &self.key), [rig.host().join(".reasonix/.env")]);
        assert_eq!(files_with(&root, &self.password), Vec::<PathBuf>::new());
        let printed: Vec<String> = lines.iter().map(Value::to_string).collect();
        for secret in [&self.key, &self.password] {
            assert_eq!(files_with(&run_dir, secret), Vec::<PathBuf>::new());
            assert!(!stderr.contains(secret.as_str()), "{stderr}");
            assert!(!printed.iter().any(|line| line.contains(secret.as_str())));
            let requests = rig.model.requests();
            assert!(!requests.iter().any(|request| has(&request.bytes, secret)));
        }
        // The search would find something: the log is there, at its most talkative, and the model got the key.
        let log = fs::read_to_string(rig.host().join(".reasonix/logs/daemon.log")).unwrap();
        assert!(log.contains("DEBUG"), "{log}");
        assert!(rig.model.requests()[0].authorization.is_some());
    }

    /// Gives what the tools of the turn answered.
    fn results(&self) -> Vec<String> {
        self.rig.model.requests().last().unwrap().tool_results()
    }
}

/// Tells the test that it runs, and waits until the test has looked.
const WAIT: &str = "touch started; while [ ! -e go ]; do sleep 0.05; done";

#[tokio::test(flavor = "multi_thread")]
async fn a_confined_command_finds_no_secret() {
    let command = format!(
        "{WAIT}; env; echo; cat ~/.reasonix/.env ../.reasonix/.env; ln -s ../.reasonix/.env link; cat link; \
         cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'; echo processes=$(ls -d /proc/[0-9]* | wc -l); ls /tmp/reasonix-*; \
         grep -r RX_TEST ~/.reasonix/; cat /proc/1/root{{,/proc/*}}/environ; echo all tried"
    );
    let scenario = Scenario::new()
        .call("bash", &json!({ "command": command }))
        .say("Nothing.");
    let vault = Vault::new(scenario, "enforce").await;
    vault.turn_shows_nothing().await;
    let seen = vault.results().join("\n");
    assert!(seen.contains("all tried") && seen.contains("PATH="), "{seen}");
    // Neither the daemon nor any other process of the host is in sight, nor is its socket.
    let count = seen.lines().find_map(|line| line.strip_prefix("processes="));
    let count: usize = count.unwrap().trim().parse().unwrap();
    assert!((1..12).contains(&count), "{seen}");
    assert!(!seen.contains("identity.json"), "{seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keys_stay_hidden_in_a_workspace_that_holds_them() {
    let command = format!(
        "cd ~/work; {WAIT}; cd ~; cat .reasonix/.env; ln .reasonix/.env hard; cat hard; cp .reasonix/.env copy; cat copy; \
         tar cf - .reasonix/.env | tar xOf -; mv .reasonix moved; cat moved/.env; mv moved .reasonix; \
         rm -f hard copy; umount .reasonix/.env; cat .reasonix/.env; unshare -Urm cat .reasonix/.env; echo all tried"
    );
    let scenario = Scenario::new()
        .call("bash", &json!({ "command": command }))
        .say("Nothing.");
    let vault = Vault::new(scenario, "enforce").await;
    vault.turn_in("box:~").await;
    assert!(vault.results()[0].contains("all tried"));
    assert!(!vault.results()[0].contains("RX_TEST_API_KEY"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unconfined_command_finds_no_secret_in_any_process() {
    // It may read the user's files, since it is the user; what processes show it must not tell.
    let command = format!(
        "{WAIT}; env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n' | grep -a -e key- -e password-; echo all tried"
    );
    let scenario = Scenario::new()
        .call("bash", &json!({ "command": command }))
        .say("Nothing.");
    let vault = Vault::new(scenario, "off").await;
    vault.turn_shows_nothing().await;
    assert!(vault.results()[0].contains("all tried"));
}

#[tokio::test(flavor = "multi_thread")]
async fn file_tools_do_not_show_the_keys() {
    let mut reply = Reply::new().call(
        "bash",
        &json!({ "command": format!("ln -s ../.reasonix/.env link; ln -s ../.reasonix dir; {WAIT}") }),
    );
    let paths = [
        "~/.reasonix/.env",
        "../.reasonix/.env",
        "link",
        "dir/.env",
        "dir/../.reasonix/./.env",
    ];
    for path in paths {
        reply = reply.call("read_file", &json!({ "path": path }));
    }
    reply = reply
        .call(
            "grep",
            &json!({"pattern": "RX_TEST_API_KEY=", "path": "~/.reasonix"}),
        )
        .call("grep", &json!({"pattern": "RX_TEST_API_KEY=", "path": "dir"}))
        .call("grep", &json!({"pattern": "RX_TEST_API_KEY=", "path": "link"}))
        .call(
            "edit_file",
            &json!({"path": "~/.reasonix/.env", "old_string": "RX", "new_string": "RY"}),
        )
        .call("write_file", &json!({"path": "link", "content": "gone"}));
    let vault = Vault::new(Scenario::new().reply(reply).say("Nothing."), "off").await;
    let file = vault.rig.host().join(".reasonix/.env");
    let before = fs::read_to_string(&file).unwrap();
    let rig = &vault.rig;
    let run = rig.start(&[
        "-vv",
        "run",
        "--remote",
        "box",
        "--output-format",
        "stream-json",
        "go",
    ]);
    eventually("the command runs", || rig.work().join("started").exists()).await;
    fs::write(rig.work().join("go"), "").unwrap();
    let (_lines, _status, stderr) = run.finish().await;
    let results = vault.results();
    assert_eq!(results.len(), 1 + paths.len() + 5, "{stderr}");
    for (path, result) in paths.iter().zip(results.iter().skip(1)) {
        assert!(
            result.contains("not exist") || result.contains("no such") || result.contains("not found"),
            "{path}: {result}"
        );
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    assert_eq!(files_with(rig.host().parent().unwrap(), &vault.key), [file]);
    assert!(
        !rig.model
            .requests()
            .iter()
            .any(|request| has(&request.bytes, &vault.key))
    );
}
