//! A laptop and a host in throwaway folders: the laptop runs the real program, the host is OpenSSH's sshd, and between
//! them is a proxy that can break the link.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{ExitStatus, Output, Stdio},
    time::Duration,
};

use protocol::SessionId;
use remote_agent::run_dir::RunDir;
use scripted_model::{Scenario, ScriptedModel};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};
use transport::testing::{FaultProxy, KeyKind, KeyPair, RealSshd, SshdOptions};

/// Long enough for a loaded machine; a test that waits longer hangs for a reason.
pub(crate) const DEADLINE: Duration = Duration::from_secs(90);

/// How the host is.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostOptions {
    /// Lines for sshd's configuration, such as `MaxSessions 1`.
    pub(crate) sshd: Vec<String>,
    /// A forced command that stands in for another login shell (see `transport::testing::login_shell_wrapper`); `HOME`
    /// is then what it sets.
    pub(crate) shell: Option<(String, String)>,
    /// Whether the program lies on the host already, so that a test need not upload it.
    pub(crate) installed: bool,
    /// Whether the rig is put outside `/tmp`, of which a sandbox shows an empty one.
    pub(crate) outside_tmp: bool,
}

impl HostOptions {
    /// A host that has the program.
    pub(crate) fn installed() -> Self {
        Self {
            installed: true,
            ..Self::default()
        }
    }
}

/// A laptop and a host.
pub(crate) struct Rig {
    pub(crate) model: ScriptedModel,
    pub(crate) proxy: FaultProxy,
    pub(crate) sshd: RealSshd,
    login: SshdOptions,
    dir: tempfile::TempDir,
}

/// How a run of the program ended.
#[derive(Debug, Clone)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Rig {
    /// Makes a laptop with host `box` configured, and a host whose model plays `scenario`.
    pub(crate) async fn new(scenario: Scenario, host: HostOptions) -> Self {
        let parent = if host.outside_tmp { "/var/tmp" } else { "/tmp" };
        let dir = tempfile::Builder::new()
            .prefix("rx-e2e-")
            .tempdir_in(parent)
            .unwrap();
        for folder in ["laptop", "laptop/work", "host", "host/work", "ssh"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let model = ScriptedModel::start(scenario).await.unwrap();
        let key = KeyPair::generate(KeyKind::Ed25519).unwrap();
        key.write(&dir.path().join("ssh/key")).unwrap();
        let home = dir.path().join("host");
        let forced = host
            .shell
            .as_ref()
            .map(|(shell, noise)| transport::testing::login_shell_wrapper(&home, shell, noise));
        let options = SshdOptions {
            authorized_keys: vec![key.public()],
            config: host.sshd,
            home: Some(home),
            forced_command: forced,
            ..SshdOptions::default()
        };
        let sshd = RealSshd::start(options.clone()).await.unwrap();
        let proxy = FaultProxy::start(sshd.address()).await.unwrap();
        let rig = Self {
            model,
            proxy,
            sshd,
            login: options,
            dir,
        };
        rig.configure();
        if host.installed {
            rig.install();
        }
        rig
    }

    /// Gives the folder that is `HOME` on the laptop.
    pub(crate) fn laptop(&self) -> PathBuf {
        self.dir.path().join("laptop")
    }

    /// Gives the folder that is `HOME` on the host.
    pub(crate) fn host(&self) -> PathBuf {
        self.dir.path().join("host")
    }

    /// Gives the workspace on the host.
    pub(crate) fn work(&self) -> PathBuf {
        self.host().join("work")
    }

    /// Gives the workspace on the laptop.
    pub(crate) fn local_work(&self) -> PathBuf {
        self.laptop().join("work")
    }

    /// Gives the log of a session, wherever it is.
    pub(crate) fn session_log(&self, home: &Path, session: SessionId) -> PathBuf {
        let sessions = home.join(".reasonix/sessions");
        let slugs = fs::read_dir(&sessions)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let found = slugs
            .map(|slug| slug.join(session.to_string()).join("log.jsonl"))
            .find(|log| log.exists());
        found.unwrap_or_else(|| panic!("no log of {session} in {}", sessions.display()))
    }

    /// Writes both configurations: the host's model, and the laptop's host `box` behind the proxy.
    fn configure(&self) {
        let model = format!(
            "default_model = \"scripted\"\n[[providers]]\nname = \"scripted\"\nbase_url = \"{}\"\nmodel = \"m\"\n[sandbox]\nbash = \"off\"\n[serve]\nidle_exit = \"60s\"\n",
            self.model.base_url()
        );
        for home in [self.laptop(), self.host()] {
            fs::create_dir_all(home.join(".reasonix")).unwrap();
            fs::write(home.join(".reasonix/config.toml"), &model).unwrap();
        }
        let address = self.proxy.address();
        let host = format!(
            "[[remote.hosts]]\nname = \"box\"\nhost = \"127.0.0.1\"\nport = {}\nidentity_file = \"{}\"\nworkspace = \"{}\"\nuse_ssh_config = false\nkeepalive = \"500ms\"\ndead_after = \"2s\"\n",
            address.port(),
            self.dir.path().join("ssh/key").display(),
            self.work().display(),
        );
        fs::write(self.laptop().join(".reasonix/config.toml"), model + &host).unwrap();
        self.trust(&self.sshd.host_keys()[0]);
    }

    /// Makes the laptop trust exactly this host key.
    pub(crate) fn trust(&self, key: &str) {
        let line = format!("[127.0.0.1]:{} {key}\n", self.proxy.address().port());
        fs::write(self.laptop().join(".reasonix/known_hosts"), line).unwrap();
    }

    /// Gives the file of host keys that the laptop trusts.
    pub(crate) fn known_hosts(&self) -> PathBuf {
        self.laptop().join(".reasonix/known_hosts")
    }

    /// Starts another machine with the same account and another host key.
    pub(crate) async fn another_sshd(&self) -> RealSshd {
        RealSshd::start(self.login.clone()).await.unwrap()
    }

    /// Starts another machine with the same account and one line more in sshd's configuration.
    pub(crate) async fn stricter_sshd(&self, line: &str) -> RealSshd {
        let mut options = self.login.clone();
        options.config.push(line.to_owned());
        RealSshd::start(options).await.unwrap()
    }

    /// Gives the file with the laptop's key.
    pub(crate) fn identity(&self) -> PathBuf {
        self.dir.path().join("ssh/key")
    }

    /// Gives the folder for programs on the host.
    pub(crate) fn programs(&self) -> PathBuf {
        self.host().join(".reasonix/bin")
    }

    /// Lists what runs from the host's folder for programs: process ids.
    pub(crate) fn running_programs(&self) -> Vec<u32> {
        let programs = self.programs();
        let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| {
            fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|file| file.starts_with(&programs))
        })
        .collect()
    }

    /// Gives the daemons of the host that run: process ids.
    pub(crate) fn running_daemons(&self) -> Vec<u32> {
        let ours = |identity: &Value| {
            let home = identity["home"].as_str().unwrap_or_default();
            Path::new(home).starts_with(self.dir.path())
        };
        let all = identities().into_iter().filter(ours);
        let pids = all.filter_map(|identity| u32::try_from(identity["identity"]["pid"].as_u64()?).ok());
        pids.filter(|pid| Path::new(&format!("/proc/{pid}")).exists())
            .collect()
    }

    /// Puts the program on the host, as an upload would.
    pub(crate) fn install(&self) {
        let program = program();
        let sum = Sha256::digest(fs::read(&program).unwrap());
        let short: String = sum.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let bin = self.host().join(".reasonix/bin");
        fs::create_dir_all(&bin).unwrap();
        let name = format!("reasonix-{}-{short}", env!("CARGO_PKG_VERSION"));
        // A link costs nothing; where the folders are on different file systems a copy does it.
        fs::hard_link(&program, bin.join(&name))
            .or_else(|_| fs::copy(&program, bin.join(&name)).map(drop))
            .unwrap();
    }

    /// Prepares the program on the laptop, in its own process group, with nothing but what it needs.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = stdx::process::command(program());
        command.args(args).current_dir(self.local_work());
        command
            .env("HOME", self.laptop())
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
        ended(args, self.command(args).output()).await
    }

    /// Runs the program to its end with something on standard input.
    pub(crate) async fn run_with_input(&self, args: &[&str], input: &str) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        ended(args, child.wait_with_output()).await
    }

    /// Starts `run --output-format stream-json`, to be followed line by line.
    pub(crate) fn start(&self, args: &[&str]) -> Streaming {
        Streaming::follow(self.command(args))
    }

    /// Gives the identity of the daemon on the host, if one says who it is.
    pub(crate) fn daemon(&self) -> Option<Value> {
        daemon_below(self.dir.path())
    }

    /// Gives the process id of the daemon on the host.
    pub(crate) fn daemon_pid(&self) -> Option<u32> {
        daemon_pid_below(self.dir.path())
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        end_daemons(self.dir.path());
        // A daemon that ended by itself leaves its lock; there may be none at all.
        let home = self.host().join(".reasonix");
        drop(fs::remove_dir_all(RunDir::locate(&home, None, false).path()));
    }
}

/// Gives the identity of a daemon whose home lies in a folder, if one says who it is.
pub(crate) fn daemon_below(folder: &Path) -> Option<Value> {
    identities().into_iter().find(|identity| {
        let home = identity["home"].as_str().unwrap_or_default();
        Path::new(home).starts_with(folder)
    })
}

/// Gives the process id of a daemon whose home lies in a folder.
pub(crate) fn daemon_pid_below(folder: &Path) -> Option<u32> {
    let identity = daemon_below(folder)?;
    let pid = u32::try_from(identity["identity"]["pid"].as_u64()?).unwrap();
    Path::new(&format!("/proc/{pid}")).exists().then_some(pid)
}

/// Ends the daemons of the homes in a folder, by the pid that they wrote down themselves.
pub(crate) fn end_daemons(folder: &Path) {
    let below = |identity: &Value| {
        let home = identity["home"].as_str().unwrap_or_default();
        Path::new(home).starts_with(folder)
    };
    let all: Vec<Value> = identities().into_iter().filter(below).collect();
    for identity in &all {
        let pid = u32::try_from(identity["identity"]["pid"].as_u64().unwrap_or(0)).unwrap();
        if Path::new(&format!("/proc/{pid}")).exists() {
            kill(pid);
        }
    }
    for identity in &all {
        let socket = identity["identity"]["socket"].as_str().map(PathBuf::from);
        if let Some(folder) = socket.as_deref().and_then(Path::parent) {
            drop(fs::remove_dir_all(folder));
        }
        let lent = identity["key_agent_socket"].as_str().map(PathBuf::from);
        if let Some(folder) = lent.as_deref().and_then(Path::parent) {
            drop(fs::remove_dir_all(folder));
        }
    }
}

/// Signals a process; it may have ended by itself at this very moment.
pub(crate) fn send_signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let _gone = rustix::process::kill_process(pid, signal);
}

/// A run that is being followed.
pub(crate) struct Streaming {
    pub(crate) child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    errors: Option<tempfile::TempPath>,
}

impl Streaming {
    /// Starts a command that prints JSON lines. Its standard error goes to a file, which is never full.
    pub(crate) fn follow(mut command: Command) -> Self {
        let errors = tempfile::NamedTempFile::new().unwrap();
        command.stderr(errors.reopen().unwrap());
        Self::spawn(command, Some(errors.into_temp_path()))
    }

    /// Starts a command that prints JSON lines, with a terminal as standard error.
    pub(crate) fn on_terminal(mut command: Command, terminal: fs::File) -> Self {
        command.stderr(terminal);
        Self::spawn(command, None)
    }

    fn spawn(mut command: Command, errors: Option<tempfile::TempPath>) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines, errors }
    }

    /// Gives what was written to standard error so far, where that is no terminal.
    pub(crate) fn stderr(&self) -> String {
        let bytes = self.errors.as_ref().map(|file| fs::read(file).unwrap());
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    }

    /// Gives the next line as JSON; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(DEADLINE, self.lines.next_line()).await;
        let line = line
            .unwrap_or_else(|_| panic!("no line came: {}", self.stderr()))
            .unwrap()?;
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// Reads until a line fits, and gives every line up to it.
    pub(crate) async fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut seen = Vec::new();
        while let Some(line) = self.next().await {
            let done = fits(&line);
            seen.push(line);
            if done {
                return seen;
            }
        }
        panic!("the run ended before: {}\n{seen:#?}", self.stderr())
    }

    /// Reads to the end and gives every line, the exit status and standard error.
    pub(crate) async fn finish(mut self) -> (Vec<Value>, ExitStatus, String) {
        let mut seen = Vec::new();
        while let Some(line) = self.next().await {
            seen.push(line);
        }
        let status = tokio::time::timeout(DEADLINE, self.child.wait())
            .await
            .unwrap()
            .unwrap();
        let stderr = self.stderr();
        (seen, status, stderr)
    }
}

/// Ends a process that this test started, at once.
pub(crate) fn kill(pid: u32) {
    send_signal(pid, rustix::process::Signal::KILL);
}

/// Waits for the end of the program.
pub(crate) async fn ended(args: &[&str], output: impl Future<Output = std::io::Result<Output>>) -> Ran {
    let output = tokio::time::timeout(DEADLINE, output).await;
    let output = output
        .unwrap_or_else(|_| panic!("reasonix {args:?} did not end"))
        .unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Replaces text in a file, which must have it.
pub(crate) fn edit(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{} has no {from:?}", file.display());
    fs::write(file, text.replace(from, to)).unwrap();
}

/// Gives the program under test: the static one that `cargo xtask test` built, else the debug build.
#[expect(
    clippy::disallowed_methods,
    reason = "a test binary is its own composition root"
)]
pub(crate) fn program() -> PathBuf {
    std::env::var_os("REASONIX_TEST_BINARY")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_reasonix")), PathBuf::from)
}

/// Reads what daemons of this user say of themselves.
fn identities() -> Vec<Value> {
    let own = format!("reasonix-{}-", rustix::process::getuid().as_raw());
    let folders = fs::read_dir("/tmp").unwrap().filter_map(Result::ok);
    let ours = folders.filter(|entry| entry.file_name().to_string_lossy().starts_with(&own));
    // A daemon beside another one has a numbered folder in that one's.
    let places = ours.flat_map(|entry| {
        (0..9).map(move |place| match place {
            0 => entry.path(),
            _ => entry.path().join(place.to_string()),
        })
    });
    let read = |place: PathBuf| serde_json::from_slice(&fs::read(place.join("identity.json")).ok()?).ok();
    places.filter_map(read).collect()
}

/// Waits for a condition.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let wait = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(DEADLINE, wait)
        .await
        .unwrap_or_else(|_| panic!("never came true: {what}"));
}

/// Gives the durable event numbers among printed lines, in the order in which they came.
pub(crate) fn numbers(lines: &[Value]) -> Vec<u64> {
    lines
        .iter()
        .filter(|line| line["frame"] == "event")
        .map(|line| line["n"].as_u64().unwrap())
        .collect()
}

/// Gives the session that a run printed.
pub(crate) fn session_of(lines: &[Value]) -> SessionId {
    let opened = lines
        .iter()
        .find(|line| line["event"]["type"] == "opened")
        .unwrap();
    opened["event"]["session"].as_str().unwrap().parse().unwrap()
}
