//! A laptop alone, in a throwaway folder: the program and a scripted model.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
};

use scripted_model::{Scenario, ScriptedModel};
use serde_json::Value;
use tokio::{io::AsyncWriteExt as _, process::Command};

use crate::rig::{DEADLINE, Ran, Streaming, end_daemons, ended, kill, program};

/// A laptop alone.
pub(crate) struct LocalRig {
    pub(crate) model: ScriptedModel,
    dir: tempfile::TempDir,
}

impl LocalRig {
    /// Makes a laptop whose model plays `scenario`; its shell commands are not confined.
    pub(crate) async fn new(scenario: Scenario) -> Self {
        let dir = tempfile::Builder::new().prefix("rx-e2e-").tempdir().unwrap();
        fs::create_dir_all(dir.path().join("home/.reasonix")).unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        fs::create_dir(dir.path().join("temp")).unwrap();
        let rig = Self {
            model: ScriptedModel::start(scenario).await.unwrap(),
            dir,
        };
        rig.configure("");
        rig
    }

    /// Adds tables to the configuration that every rig has.
    pub(crate) fn configure(&self, more: &str) {
        let base_url = self.model.base_url();
        self.replace_config(&format!(
            "default_model = \"scripted\"\n[[providers]]\nname = \"scripted\"\nbase_url = \"{base_url}\"\nmodel = \"m\"\n[sandbox]\nbash = \"off\"\n{more}"
        ));
    }

    /// Replaces the whole configuration.
    pub(crate) fn replace_config(&self, text: &str) {
        fs::write(self.config_file(), text).unwrap();
    }

    /// Gives the user's configuration file.
    pub(crate) fn config_file(&self) -> PathBuf {
        self.state().join("config.toml")
    }

    /// Gives the folder that is `HOME`.
    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Gives Reasonix's own folder.
    pub(crate) fn state(&self) -> PathBuf {
        self.home().join(".reasonix")
    }

    /// Gives the workspace.
    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// Gives the folder for temporary files.
    pub(crate) fn temp(&self) -> PathBuf {
        self.dir.path().join("temp")
    }

    /// Fails when the program has left something among the temporary files.
    pub(crate) fn left_nothing(&self) {
        let left: Vec<_> = fs::read_dir(self.temp())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }

    /// Gives the folder that holds everything.
    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file of the workspace and gives its path.
    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Sets a file's mode.
    pub(crate) fn chmod(&self, name: &str, mode: u32) {
        fs::set_permissions(self.work().join(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Reads a file of the workspace.
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.work().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Says whether the workspace has a file of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        fs::symlink_metadata(self.work().join(name)).is_ok()
    }

    /// Prepares the program in the workspace, in its own process group, with nothing but what it needs.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.other_command(program(), args)
    }

    /// Prepares another program as [`LocalRig::command`] does this one.
    pub(crate) fn other_command(&self, program: impl AsRef<Path>, args: &[&str]) -> Command {
        let mut command = stdx::process::command(program.as_ref());
        command.args(args).current_dir(self.work());
        command
            .env("HOME", self.home())
            .env("TMPDIR", self.temp())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("LANG", "C.UTF-8");
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        command
    }

    /// Runs the program to its end.
    pub(crate) async fn run(&self, args: &[&str]) -> Ran {
        sound(ended(args, self.command(args).output()).await)
    }

    /// Runs the program to its end with something on standard input.
    pub(crate) async fn run_with_input(&self, args: &[&str], input: &[u8]) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let write = async {
            // A program that has read enough closes the pipe.
            drop(stdin.write_all(input).await);
            drop(stdin);
        };
        let (ran, ()) = tokio::join!(ended(args, child.wait_with_output()), write);
        sound(ran)
    }

    /// Runs a task with these options and gives its result.
    pub(crate) async fn task(&self, options: &[&str]) -> Done {
        let args = [&["run", "--output-format", "json"], options, &["do it"]].concat();
        Done::new(self.run(&args).await)
    }

    /// Starts a command that prints JSON lines.
    pub(crate) fn start(&self, args: &[&str]) -> Streaming {
        Streaming::follow(self.command(args))
    }

    /// Waits until the model's reply has come to a gate.
    pub(crate) async fn held(&self, gate: &str) {
        in_time(gate, self.model.gate(gate).reached(1)).await;
    }

    /// Waits until the model has been asked this often.
    pub(crate) async fn asked(&self, times: usize) {
        in_time("requests", self.model.wait_for_requests(times)).await;
    }

    /// Gives what the tools answered, as the model saw it in its last request.
    pub(crate) fn answers(&self) -> Vec<String> {
        self.model.requests().last().unwrap().tool_results()
    }

    /// Gives the log of the only session, or of the one with this id.
    pub(crate) fn log(&self, session: &str) -> PathBuf {
        let slugs = fs::read_dir(self.state().join("sessions")).unwrap();
        let mut logs = slugs.map(|slug| slug.unwrap().path().join(session).join("log.jsonl"));
        logs.find(|log| log.exists()).unwrap()
    }
}

impl Drop for LocalRig {
    fn drop(&mut self) {
        end_daemons(self.dir.path());
        for pid in running_in(self.dir.path()) {
            kill(pid);
        }
    }
}

/// A task that has ended.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) result: Value,
    pub(crate) stderr: String,
}

impl Done {
    fn new(ran: Ran) -> Self {
        Self {
            code: ran.code,
            result: only_line(&ran),
            stderr: ran.stderr,
        }
    }

    /// Fails unless the task ended well.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// Gives the id of the session.
    pub(crate) fn session(&self) -> String {
        self.result["session_id"].as_str().unwrap().to_owned()
    }

    /// Gives the calls that were denied, as tool and the one argument that matters.
    pub(crate) fn denied(&self, argument: &str) -> Vec<String> {
        let calls = self.result["denied_calls"].as_array().unwrap();
        let text = |call: &Value| call["arguments"][argument].as_str().unwrap().to_owned();
        calls.iter().map(text).collect()
    }
}

/// Gives the one line of JSON that a program printed.
pub(crate) fn only_line(ran: &Ran) -> Value {
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 1, "{ran:#?}");
    serde_json::from_str(lines[0]).unwrap_or_else(|error| panic!("{error}: {ran:#?}"))
}

/// Fails when a program has panicked, whatever it was asked.
pub(crate) fn sound(ran: Ran) -> Ran {
    for words in ["panicked", "RUST_BACKTRACE"] {
        assert!(!ran.stderr.contains(words), "{ran:#?}");
    }
    ran
}

/// Waits for something, but not for ever.
pub(crate) async fn in_time<T>(what: &str, wait: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(DEADLINE, wait).await;
    waited.unwrap_or_else(|_| panic!("never came: {what}"))
}

/// Lists the processes that work in a folder, this one's and others': process ids.
pub(crate) fn running_in(folder: &Path) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let inside = |entry: &fs::DirEntry| {
        fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
    };
    let pid = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    processes.filter(inside).filter_map(pid).collect()
}
