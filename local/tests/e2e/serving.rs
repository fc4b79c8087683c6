//! A daemon in the foreground and clients on its socket: one machine, no SSH.

use std::{
    fs, io,
    path::{Path, PathBuf},
    pin::Pin,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use client::{Agent, ByteStream, Connector, Options};
use protocol::{OpenSession, SessionId};
use remote_agent::{run_dir::RunDir, socket::UnixConnector};
use scripted_model::{Scenario, ScriptedModel};
use serde_json::Value;
use stdx::task::Scope;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    process::{Child, Command},
};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::rig::{eventually, kill, program};

/// A connection on its way.
type Dialling = Pin<Box<dyn Future<Output = io::Result<Box<dyn ByteStream>>> + Send>>;

/// A home with a model, in which daemons come and go.
pub(crate) struct Machine {
    pub(crate) model: ScriptedModel,
    dir: tempfile::TempDir,
    run_dir: RunDir,
    scope: Scope,
}

impl Machine {
    /// Makes a home whose model plays `scenario`.
    pub(crate) async fn new(scenario: Scenario) -> Self {
        // Without characters that the name of the sessions' folder spells otherwise.
        let dir = tempfile::Builder::new().prefix("rxmachine_").tempdir().unwrap();
        let home = dir.path().join(".reasonix");
        fs::create_dir(&home).unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        let model = ScriptedModel::start(scenario).await.unwrap();
        let settings = format!(
            "default_model = \"scripted\"\n[[providers]]\nname = \"scripted\"\nbase_url = \"{}\"\nmodel = \"m\"\n\
             [sandbox]\nbash = \"off\"\n",
            model.base_url()
        );
        fs::write(home.join("config.toml"), settings).unwrap();
        let run_dir = RunDir::locate(&home, None, false);
        Self {
            model,
            dir,
            run_dir,
            scope: Scope::root("machine"),
        }
    }

    /// Gives the workspace.
    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// Gives a path in the machine's folder, outside the workspace.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Gives where the log of a session is, or will be.
    pub(crate) fn log(&self, session: SessionId) -> PathBuf {
        let slug = self.work().display().to_string().replace('/', "-");
        let sessions = self.dir.path().join(".reasonix/sessions");
        sessions.join(slug).join(session.to_string()).join("log.jsonl")
    }

    /// Starts a daemon, as an argument of `tracer` if there is one, and waits until it can be spoken with or is gone.
    /// Only one thread runs tasks, so that a tracer that counts per thread counts what a session writes.
    pub(crate) async fn serve(&self, tracer: &[String]) -> Child {
        let mut command = match tracer {
            [] => stdx::process::command(program()),
            [tracer, arguments @ ..] => {
                let mut command = stdx::process::command(tracer);
                command.args(arguments).arg(program());
                command
            }
        };
        let errors = fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(self.file("daemon.errors"))
            .unwrap();
        command.arg("serve").current_dir(self.dir.path());
        environment(&mut command, self.dir.path());
        let mut child = command.stderr(Stdio::from(errors)).spawn().unwrap();
        let socket = self.run_dir.socket();
        eventually("the daemon listens", || {
            std::os::unix::net::UnixStream::connect(&socket).is_ok() || child.try_wait().unwrap().is_some()
        })
        .await;
        child
    }

    /// Gives the daemons' standard error.
    pub(crate) fn errors(&self) -> String {
        fs::read_to_string(self.file("daemon.errors")).unwrap_or_default()
    }

    /// Connects to the daemon; a request is tried `attempts` times.
    pub(crate) fn agent(&self, attempts: u32) -> Agent {
        self.agent_through(UnixConnector::new(self.run_dir.socket()), attempts)
    }

    /// Connects to the daemon so that answers can be lost.
    pub(crate) fn lossy_agent(&self, attempts: u32) -> (Agent, Loss) {
        let loss = Loss::default();
        let (socket, losing) = (UnixConnector::new(self.run_dir.socket()), loss.clone());
        let connector = move || -> Dialling {
            let (socket, losing) = (socket.clone(), losing.clone());
            Box::pin(async move { Ok(losing.on(socket.connect().await?)) })
        };
        (self.agent_through(connector, attempts), loss)
    }

    fn agent_through(&self, connector: impl Connector, attempts: u32) -> Agent {
        let options = Options {
            attempts,
            ..Options::default()
        };
        Agent::new(connector, options, &self.scope)
    }

    /// Gives the request that opens a session in the workspace.
    pub(crate) fn open(&self, session: SessionId) -> OpenSession {
        OpenSession {
            session,
            workspace: Some(self.work().display().to_string()),
            model: None,
            preset: None,
            credentials: None,
        }
    }

    /// Gives the process id of the daemon that listens.
    pub(crate) fn daemon_pid(&self) -> Option<u32> {
        let text = fs::read(self.run_dir.identity()).ok()?;
        let identity: Value = serde_json::from_slice(&text).ok()?;
        let pid = u32::try_from(identity["identity"]["pid"].as_u64()?).unwrap();
        let ours = fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| words.ends_with(b"serve\0"));
        ours.then_some(pid)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.scope.cancel();
        // A killed tracer lets its daemon go on.
        if let Some(pid) = self.daemon_pid() {
            kill(pid);
        }
        drop(fs::remove_dir_all(self.run_dir.path()));
        // A killed daemon leaves what is beside it, too.
        let keys = format!("{}-keys", self.run_dir.path().display());
        drop(fs::remove_dir_all(keys));
    }
}

fn environment(command: &mut Command, home: &Path) {
    command
        .env("HOME", home)
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LANG", "C.UTF-8")
        .env("TOKIO_WORKER_THREADS", "1");
}

/// Reads a log.
pub(crate) fn records(log: &Path) -> Vec<Value> {
    let text = fs::read_to_string(log).unwrap_or_default();
    assert!(
        text.is_empty() || text.ends_with('\n'),
        "a line is written at once"
    );
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Swallows what an agent says, and later ends the connection; the next one is sound.
#[derive(Debug, Clone, Default)]
pub(crate) struct Loss {
    deaf: Arc<AtomicBool>,
    end: CancellationToken,
}

impl Loss {
    /// Swallows what comes from now on.
    pub(crate) fn swallow(&self) {
        self.deaf.store(true, Ordering::SeqCst);
    }

    /// Ends the connection.
    pub(crate) fn end(&self) {
        self.end.cancel();
    }

    fn on(&self, inner: Box<dyn ByteStream>) -> Box<dyn ByteStream> {
        if self.end.is_cancelled() {
            return inner;
        }
        Box::new(LossyStream {
            inner,
            deaf: Arc::clone(&self.deaf),
            end: Box::pin(self.end.clone().cancelled_owned()),
        })
    }
}

struct LossyStream {
    inner: Box<dyn ByteStream>,
    deaf: Arc<AtomicBool>,
    end: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl AsyncRead for LossyStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        loop {
            if self.end.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
            ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
            let swallowed = buffer.filled().len() > before && self.deaf.load(Ordering::SeqCst);
            if !swallowed {
                return Poll::Ready(Ok(()));
            }
            buffer.set_filled(before);
        }
    }
}

impl AsyncWrite for LossyStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
