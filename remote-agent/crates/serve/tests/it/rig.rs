//! An agent in throwaway folders: a scripted model, real tools, a real log, and the routes over in-memory pipes.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::Path,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use agent_loop::{ModelOptions, TurnOptions};
use axum::Router;
use broker::Desk;
use client::{Agent, ByteStream, Connector, Update};
use controller::{AssembleFuture, Assembler, Manager, ManagerOptions, SessionParts, Wanted};
use futures_util::{FutureExt as _, future::BoxFuture};
use permission::Policy;
use protocol::{
    Build, Command, CommandId, CommandRequest, Credentials, ErrorBody, Event, EventEnvelope, Frame, Hello,
    Identity, InstanceId, OpenSession, Preset, SessionId, TurnCommand, TurnEvent, VersionRange,
};
use provider::Provider;
use sandbox::{Backend, Environment, Locales, Mode, Sandbox, SandboxOptions, Shell};
use scripted_model::{Scenario, ScriptedModel};
use stdx::{AbsPath, task::Scope};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tools::{FileAccess, NoCopies, Observed, Registry, ShellContext, ShellState, ToolContext, WriteScope};

/// Long enough for a loaded machine; a test that waits longer hangs for a reason.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);

/// The agent.
pub(crate) struct Rig {
    pub(crate) router: Router,
    pub(crate) manager: Manager,
    pub(crate) model: ScriptedModel,
    pub(crate) desk: Desk,
    pub(crate) dir: tempfile::TempDir,
    pub(crate) scope: Scope,
}

impl Rig {
    pub(crate) async fn new(scenario: Scenario) -> Self {
        Self::with(scenario, serve::Options::default()).await
    }

    pub(crate) async fn with(scenario: Scenario, options: serve::Options) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["sessions", "work", "tmp"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let model = ScriptedModel::start(scenario).await.unwrap();
        let scope = Scope::root("test");
        let desk = options.desk.clone();
        let manager = manager_at(dir.path(), &model, hello(), desk.clone(), &scope);
        let router = serve::router(manager.clone(), options);
        Self {
            router,
            manager,
            model,
            desk,
            dir,
            scope,
        }
    }

    /// Gives one end of a pipe whose other end is served.
    pub(crate) fn pipe(&self) -> DuplexStream {
        let (near, far) = tokio::io::duplex(256 * 1024);
        let task = serve::serve_stream(far, self.router.clone(), self.scope.child("pipe"));
        self.scope.spawn(task);
        near
    }

    pub(crate) fn open_request(&self, preset: Preset) -> OpenSession {
        OpenSession {
            session: SessionId::fresh(),
            workspace: Some(self.dir.path().join("work").display().to_string()),
            model: None,
            preset: Some(preset),
            credentials: None,
        }
    }
}

/// Starts the sessions of a daemon in the folder of a rig.
pub(crate) fn manager(dir: &Path, model: &ScriptedModel, hello: Hello, scope: &Scope) -> Manager {
    manager_at(dir, model, hello, Desk::new(), scope)
}

fn manager_at(dir: &Path, model: &ScriptedModel, hello: Hello, desk: Desk, scope: &Scope) -> Manager {
    let at = |name: &str| AbsPath::new(dir.join(name)).unwrap();
    Manager::start(ManagerOptions {
        hello,
        sessions: at("sessions"),
        user_home: at(""),
        preset: Preset::WorkspaceWrite,
        assembler: Arc::new(Parts {
            base_url: model.base_url(),
            temp: at("tmp"),
            desk,
        }),
        lease_patience: Duration::ZERO,
        scope: scope.child("sessions"),
    })
}

/// Connects a client by pipes that can be cut, and counts what comes through them.
#[derive(Clone)]
pub(crate) struct Pipes {
    router: Router,
    scope: Scope,
    current: Arc<Mutex<Option<Scope>>>,
    connects: Arc<AtomicUsize>,
    received: Arc<AtomicU64>,
}

impl Pipes {
    pub(crate) fn new(rig: &Rig) -> Self {
        Self {
            router: rig.router.clone(),
            scope: rig.scope.clone(),
            current: Arc::default(),
            connects: Arc::default(),
            received: Arc::default(),
        }
    }

    pub(crate) fn agent(&self) -> Agent {
        Agent::new(self.clone(), client::Options::default(), &self.scope)
    }

    /// Cuts the newest pipe: both ends fail at once.
    pub(crate) fn cut(&self) {
        if let Some(scope) = self.current.lock().unwrap().take() {
            scope.cancel();
        }
    }

    pub(crate) fn connects(&self) -> usize {
        self.connects.load(Ordering::SeqCst)
    }

    /// Bytes that came from the agent.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::SeqCst)
    }
}

impl Connector for Pipes {
    fn connect(&self) -> BoxFuture<'_, io::Result<Box<dyn ByteStream>>> {
        async {
            self.connects.fetch_add(1, Ordering::SeqCst);
            let (near, far) = tokio::io::duplex(256 * 1024);
            let pipe = self.scope.child("pipe");
            *self.current.lock().unwrap() = Some(pipe.clone());
            let served = serve::serve_stream(far, self.router.clone(), self.scope.child("served"));
            let token = pipe.token().clone();
            pipe.spawn(async move {
                tokio::select! {
                    biased;
                    () = token.cancelled() => {}
                    () = served => {}
                }
            });
            let counted = Counted {
                inner: near,
                received: Arc::clone(&self.received),
            };
            Ok(Box::new(counted) as Box<dyn ByteStream>)
        }
        .boxed()
    }
}

struct Counted {
    inner: DuplexStream,
    received: Arc<AtomicU64>,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        let new = buf.filled().len() - before;
        self.received.fetch_add(new as u64, Ordering::SeqCst);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Counted {
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

pub(crate) fn command(command: Command) -> CommandRequest {
    CommandRequest {
        id: CommandId::fresh(),
        command,
    }
}

pub(crate) fn submit(text: &str) -> CommandRequest {
    command(Command::Turn(TurnCommand::Submit {
        text: text.to_owned(),
        max_steps: 0,
    }))
}

pub(crate) fn is_end(event: &Event) -> bool {
    matches!(event, Event::Turn(TurnEvent::Ended { .. }))
}

/// Follows until an event fits, reconnecting where needed.
pub(crate) async fn view_until(view: &mut client::SessionView, fits: impl Fn(&Event) -> bool) {
    let wait = async {
        loop {
            match view.next().await {
                Ok(Update::Frame(Frame::Event(EventEnvelope { event, .. }))) if fits(&event) => return,
                Ok(_) => {}
                Err(error) => assert!(error.is_retryable(), "{error:?}"),
            }
        }
    };
    tokio::time::timeout(DEADLINE, wait).await.unwrap();
}

/// Waits for a condition of another task.
pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    let wait = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    if tokio::time::timeout(DEADLINE, wait).await.is_err() {
        panic!("{what} did not happen");
    }
}

struct Parts {
    base_url: String,
    temp: AbsPath,
    desk: Desk,
}

impl Assembler for Parts {
    fn assemble<'a>(&'a self, wanted: &'a Wanted, scope: &'a Scope) -> AssembleFuture<'a> {
        Box::pin(async move {
            let provider = self.provider(wanted)?;
            let sandbox = Sandbox::new(SandboxOptions {
                backend: Backend::None("not used".to_owned()),
                shell: Shell::find("/usr/bin:/bin".as_ref()),
                temp_parent: self.temp.clone(),
                scope: scope.clone(),
            });
            let path: BTreeMap<OsString, OsString> = [("PATH".into(), "/usr/bin:/bin".into())].into();
            let tools = ToolContext {
                workspace: wanted.workspace.clone(),
                files: FileAccess {
                    write: WriteScope::Roots(vec![wanted.workspace.clone()]),
                    protected: Vec::new(),
                    forbid_read: Vec::new(),
                },
                observed: Arc::new(Observed::default()),
                copies: Arc::new(NoCopies),
                shell: ShellContext {
                    sandbox: Arc::new(sandbox),
                    policy: sandbox::Policy::new(Mode::WorkspaceWrite, wanted.workspace.clone()),
                    environment: Environment::new(path, &Locales::from_names(["C.UTF-8"])),
                    state: Arc::new(ShellState::new(self.temp.clone())),
                    time_limit: Some(Duration::from_secs(30)),
                    key_agent: None,
                },
                response: None,
                live: None,
                token: scope.token().clone(),
            };
            let model = ModelOptions {
                name: "m".to_owned(),
                temperature: None,
                max_tokens: None,
                context_window: None,
                price: None,
            };
            let registry = Arc::new(Registry::with_builtin());
            let turn = TurnOptions::new(provider, model, registry, tools, "system text", "context text");
            Ok(SessionParts {
                model: wanted.model.clone().unwrap_or_else(|| "scripted/m".to_owned()),
                system: "system text".to_owned(),
                context: "context text".to_owned(),
                turn,
                policy: Policy::default(),
            })
        })
    }

    fn provider(&self, wanted: &Wanted) -> Result<Arc<dyn Provider>, ErrorBody> {
        let options = provider::Options::new("scripted", self.base_url.as_str());
        let provider = match wanted.credentials {
            Credentials::Broker => {
                provider::build_brokered("openai", options, self.desk.clone(), wanted.session)
            }
            _ => provider::build("openai", options),
        };
        Ok(provider.unwrap())
    }
}

pub(crate) fn hello() -> Hello {
    Hello {
        protocol: VersionRange { min: 1, max: 1 },
        build: Build {
            version: "0".to_owned(),
            target: "test".to_owned(),
        },
        identity: Identity {
            instance: InstanceId::fresh(),
            pid: std::process::id(),
            start_time: 1,
            boot_id: "b".to_owned(),
            machine: "m".to_owned(),
            uid: 0,
            socket: String::new(),
            program: String::new(),
        },
        capabilities: Vec::new(),
        draining: false,
        key_agent_socket: None,
    }
}
