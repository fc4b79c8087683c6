//! A `Remote` that runs login shells on this machine, and the throwaway home they see.

use std::{
    fs,
    os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bootstrap::{BoxFuture, Exec, Output, Put, Remote, RemoteError, Status};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStdin},
};

/// A host: a home, a login shell and what stands between them and this machine.
pub(crate) struct Host {
    pub(crate) dir: tempfile::TempDir,
    /// Program that takes `-c COMMAND`.
    pub(crate) shell: PathBuf,
    /// Runs the shell: another user, another mount namespace.
    pub(crate) prefix: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    /// What is to go wrong with which exec.
    pub(crate) fault: Option<(usize, Fault)>,
    pub(crate) seen: Mutex<Vec<Seen>>,
    pub(crate) orphans: Mutex<Vec<Orphan>>,
    /// Whether it takes files without a command, and the files so taken: path, offset and bytes.
    pub(crate) takes_files: bool,
    pub(crate) taken: Mutex<Vec<(String, u64, usize)>>,
    busy: AtomicBool,
}

/// One exec, as it was asked for.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) command: String,
    pub(crate) stdin: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection goes away after so many bytes of standard input; the host sees its end.
    Cut(usize),
    /// The connection goes away, and the host does not notice: the command goes on waiting for input.
    Stall(usize),
    /// The input ends after so many bytes, and the connection stays.
    Short(usize),
    /// One byte changes on the way.
    Flip(usize),
}

/// A command whose client is gone.
pub(crate) struct Orphan {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) rest: Vec<u8>,
}

impl Host {
    pub(crate) fn new() -> Self {
        Self::with_shell("/bin/bash")
    }

    pub(crate) fn with_shell(shell: impl Into<PathBuf>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("home")).unwrap();
        fs::create_dir(dir.path().join("bin")).unwrap();
        let host = Self {
            dir,
            shell: shell.into(),
            prefix: Vec::new(),
            env: Vec::new(),
            fault: None,
            seen: Mutex::default(),
            orphans: Mutex::default(),
            takes_files: false,
            taken: Mutex::default(),
            busy: AtomicBool::new(false),
        };
        fs::set_permissions(host.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        host
    }

    /// A host whose login shell runs `startup` first.
    pub(crate) fn with_startup(startup: &str) -> Self {
        let mut host = Self::new();
        let path = host.dir.path().join("login-shell");
        write_program(&path, &format!("#!/bin/sh\n{startup}\nexec /bin/bash \"$@\"\n"));
        host.shell = path;
        host
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn programs(&self) -> PathBuf {
        self.home().join(".reasonix/bin")
    }

    /// Puts a program first on the host's PATH.
    pub(crate) fn fake(&self, name: &str, script: &str) {
        write_program(
            &self.dir.path().join("bin").join(name),
            &format!("#!/bin/sh\n{script}\n"),
        );
    }

    /// Makes everything run as a user without privileges.
    pub(crate) fn unprivileged(mut self) -> Self {
        if is_root() {
            for folder in [self.home(), self.dir.path().join("bin")] {
                std::os::unix::fs::chown(folder, Some(65534), Some(65534)).unwrap();
            }
            self.prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
                .map(String::from)
                .into();
        }
        self
    }

    pub(crate) fn execs(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    /// Names in the folder of programs, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        files(&self.programs())
    }

    fn command(&self, command: &str) -> tokio::process::Command {
        let mut words: Vec<String> = self.prefix.clone();
        words.extend([self.shell.display().to_string(), "-c".into(), command.into()]);
        let mut process = stdx::process::command(&words[0]);
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            self.dir.path().join("bin").display()
        );
        process
            .args(&words[1..])
            .env("PATH", path)
            .env("HOME", self.home())
            .env("SHELL", &self.shell);
        process
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir("/");
        process
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        process
    }

    /// Runs one command with given input.
    pub(crate) async fn raw(&self, command: &str, input: &[u8]) -> Output {
        let mut child = self.command(command).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let write = async {
            // The command may end without reading everything.
            let _early_end = stdin.write_all(input).await;
            drop(stdin);
        };
        let (_, read_out, read_err) =
            tokio::join!(write, out.read_to_end(&mut stdout), err.read_to_end(&mut stderr));
        read_out.unwrap();
        read_err.unwrap();
        let status = child.wait().await.unwrap();
        let status = status.code().map_or(Status::Unknown, |code| {
            Status::Exited(u32::try_from(code).unwrap())
        });
        Output {
            status,
            stdout,
            stderr,
        }
    }

    /// Starts a command, gives it the beginning of its input and leaves it.
    async fn abandon(&self, command: &str, input: &[u8], at: usize, stall: bool) -> RemoteError {
        let mut process = self.command(command);
        // Nobody reads what an abandoned command says.
        let mut child = process
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let (sent, rest) = input.split_at(at.min(input.len()));
        stdin.write_all(sent).await.unwrap();
        let orphan = Orphan {
            child,
            stdin: stall.then_some(stdin),
            rest: rest.to_vec(),
        };
        self.orphans.lock().unwrap().push(orphan);
        RemoteError::Lost("the connection was cut".into())
    }

    /// Lets abandoned commands go on with the rest of their input, and waits for their end.
    pub(crate) async fn settle(&self) {
        let orphans: Vec<Orphan> = self.orphans.lock().unwrap().drain(..).collect();
        for mut orphan in orphans {
            if let Some(mut stdin) = orphan.stdin.take() {
                let _early_end = stdin.write_all(&orphan.rest).await;
            }
            tokio::time::timeout(Duration::from_secs(60), orphan.child.wait())
                .await
                .unwrap()
                .unwrap();
        }
    }
}

impl Remote for Host {
    fn host(&self) -> &'static str {
        "testhost"
    }

    fn exec<'a>(&'a self, mut exec: Exec<'a>) -> BoxFuture<'a, Result<Output, RemoteError>> {
        Box::pin(async move {
            assert!(
                !self.busy.swap(true, Ordering::SeqCst),
                "MaxSessions 1: two commands at once"
            );
            let mut input = Vec::new();
            exec.stdin.read_to_end(&mut input).await.unwrap();
            let number = self.execs();
            self.seen.lock().unwrap().push(Seen {
                command: exec.command.to_owned(),
                stdin: input.clone(),
            });
            let fault = self.fault.filter(|(at, _)| *at == number).map(|(_, fault)| fault);
            let result = match fault {
                Some(Fault::Cut(at)) => Err(self.abandon(exec.command, &input, at, false).await),
                Some(Fault::Stall(at)) => Err(self.abandon(exec.command, &input, at, true).await),
                other => {
                    if let Some(Fault::Short(at)) = other {
                        input.truncate(at);
                    }
                    if let Some(Fault::Flip(at)) = other {
                        input[at] ^= 1;
                    }
                    let run = self.raw(exec.command, &input);
                    let limit = exec.deadline.total;
                    tokio::time::timeout(limit, run)
                        .await
                        .map_err(|_| RemoteError::TimedOut {
                            limit,
                            stderr: Vec::new(),
                        })
                }
            };
            self.busy.store(false, Ordering::SeqCst);
            result.map(|mut output| {
                for said in [&mut output.stdout, &mut output.stderr] {
                    if said.len() > exec.keep {
                        said.drain(exec.keep / 2..said.len() - exec.keep / 2);
                    }
                }
                output
            })
        })
    }

    fn put<'a>(&'a self, mut put: Put<'a>) -> BoxFuture<'a, Result<(), RemoteError>> {
        Box::pin(async move {
            if !self.takes_files {
                return Err(RemoteError::NoFiles);
            }
            assert!(!self.busy.load(Ordering::SeqCst), "MaxSessions 1: a command runs");
            if let Some(claim) = put.claim {
                fs::rename(claim, put.path).map_err(|_| RemoteError::Unclaimed)?;
            }
            let mut options = fs::File::options();
            let file = options
                .write(true)
                .create(true)
                .truncate(false)
                .open(put.path)
                .unwrap();
            let mut content = Vec::new();
            put.content.read_to_end(&mut content).await.unwrap();
            file.write_all_at(&content, put.offset).unwrap();
            let taken = (put.path.to_owned(), put.offset, content.len());
            self.taken.lock().unwrap().push(taken);
            Ok(())
        })
    }

    fn takes_files(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { self.takes_files })
    }
}

/// A mount namespace that lasts as long as the value.
pub(crate) struct Mounts {
    child: Child,
    pub(crate) enter: Vec<String>,
}

impl Mounts {
    /// Makes one and runs `setup` in it.
    pub(crate) async fn new(setup: &str) -> Self {
        let mut process = stdx::process::command("unshare");
        if !is_root() {
            process.args(["--user", "--map-root-user"]);
        }
        let script = format!("set -e\n{setup}\necho ready\nexec cat");
        process
            .args(["--mount", "sh", "-c", &script])
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        let mut child = process
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut word = [0; 6];
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut word)
            .await
            .unwrap();
        assert_eq!(&word, b"ready\n");
        let pid = child.id().unwrap();
        let mut enter = vec![
            "nsenter".to_owned(),
            "--mount".to_owned(),
            format!("--target={pid}"),
        ];
        if !is_root() {
            enter.extend(["--user", "--preserve-credentials"].map(String::from));
        }
        Self { child, enter }
    }

    /// Gives a path as seen from inside.
    pub(crate) fn inside(&self, path: &Path) -> PathBuf {
        PathBuf::from(format!(
            "/proc/{}/root{}",
            self.child.id().unwrap(),
            path.display()
        ))
    }

    pub(crate) async fn run(&self, script: &str) {
        let mut process = stdx::process::command(&self.enter[0]);
        process
            .args(&self.enter[1..])
            .args(["sh", "-c", script])
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        assert!(process.status().await.unwrap().success(), "{script}");
    }
}

pub(crate) fn files(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

pub(crate) fn write_program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
