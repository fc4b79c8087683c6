//! A daemon's sessions without the daemon.

use std::{collections::BTreeMap, ffi::OsString, path::Path, sync::Arc, time::Duration};

use agent_loop::{ModelOptions, TurnOptions};
use controller::{
    AssembleFuture, Assembler, Manager, ManagerOptions, SessionHandle, SessionParts, Subscription, Wanted,
};
use permission::Policy;
use protocol::{
    Build, Command, CommandId, CommandRequest, Event, EventEnvelope, Frame, Hello, Identity, InstanceId,
    OpenSession, Preset, Receipt, SessionId, TurnCommand, TurnEvent, VersionRange,
};
use provider::{Currency, Price};
use sandbox::{Backend, Environment, Locales, Mode, Sandbox, SandboxOptions, Shell};
use scripted_model::{Scenario, ScriptedModel};
use stdx::{AbsPath, task::Scope};
use tools::{FileAccess, NoCopies, Observed, Registry, ShellContext, ShellState, ToolContext, WriteScope};

/// Long enough for a loaded machine; a test that waits longer hangs for a reason.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// Sessions over a scripted model, in throwaway folders.
pub(crate) struct Rig {
    pub(crate) manager: Manager,
    pub(crate) model: ScriptedModel,
    pub(crate) dir: tempfile::TempDir,
    scope: Scope,
    window: Option<u64>,
}

struct Parts {
    base_url: String,
    temp: AbsPath,
    window: Option<u64>,
}

impl Assembler for Parts {
    fn assemble<'a>(&'a self, wanted: &'a Wanted, scope: &'a Scope) -> AssembleFuture<'a> {
        Box::pin(async move {
            let options = provider::Options::new("scripted", self.base_url.as_str());
            let provider = provider::build("openai", options).unwrap();
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
                context_window: self.window,
                price: Some(Price {
                    cache_hit: 1_000_000.0,
                    input: 1_000_000.0,
                    output: 1_000_000.0,
                    currency: Currency::Usd,
                    half_off_peak: false,
                }),
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
}

impl Rig {
    pub(crate) async fn new(scenario: Scenario) -> Self {
        Self::measured(scenario, None).await
    }

    /// Makes a rig whose model has a context window.
    pub(crate) async fn measured(scenario: Scenario, window: Option<u64>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["sessions", "work", "tmp"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let model = ScriptedModel::start(scenario).await.unwrap();
        let (manager, scope) = start(dir.path(), &model, window);
        Self {
            window,
            manager,
            model,
            dir,
            scope,
        }
    }

    /// Ends this daemon gracefully and starts another one on the same folders.
    pub(crate) async fn restart(&mut self) {
        self.scope.close(DEADLINE).await;
        (self.manager, self.scope) = start(self.dir.path(), &self.model, self.window);
    }

    /// Says how large the model's context window is from the next daemon on.
    pub(crate) fn window(&mut self, window: Option<u64>) {
        self.window = window;
    }

    pub(crate) fn work(&self) -> String {
        self.dir.path().join("work").display().to_string()
    }

    pub(crate) async fn open(&self, preset: Preset) -> (SessionId, SessionHandle) {
        let session = SessionId::fresh();
        let request = OpenSession {
            session,
            workspace: Some(self.work()),
            model: None,
            preset: Some(preset),
            credentials: None,
        };
        (session, self.manager.open(request).await.unwrap())
    }
}

fn start(dir: &Path, model: &ScriptedModel, window: Option<u64>) -> (Manager, Scope) {
    let at = |name: &str| AbsPath::new(dir.join(name)).unwrap();
    let scope = Scope::root("test");
    let options = ManagerOptions {
        lease_patience: Duration::ZERO,
        hello: hello(),
        sessions: at("sessions"),
        user_home: at(""),
        preset: Preset::WorkspaceWrite,
        assembler: Arc::new(Parts {
            base_url: model.base_url(),
            temp: at("tmp"),
            window,
        }),
        scope: scope.clone(),
    };
    (Manager::start(options), scope)
}

fn hello() -> Hello {
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

pub(crate) fn command(command: Command) -> CommandRequest {
    CommandRequest {
        id: CommandId::fresh(),
        command,
    }
}

pub(crate) async fn submit(session: &SessionHandle, text: &str) -> Receipt {
    let submit = TurnCommand::Submit {
        text: text.to_owned(),
        max_steps: 0,
    };
    session.command(command(Command::Turn(submit))).await.unwrap()
}

/// Follows until an event fits, and gives every frame up to it.
pub(crate) async fn until(events: &mut Subscription, fits: impl Fn(&Event) -> bool) -> Vec<Frame> {
    let mut seen = Vec::new();
    let wait = async {
        loop {
            let frame = events.next().await.unwrap();
            let done = matches!(&frame, Frame::Event(EventEnvelope { event, .. }) if fits(event));
            seen.push(frame);
            if done {
                return;
            }
        }
    };
    tokio::time::timeout(DEADLINE, wait).await.unwrap();
    seen
}

pub(crate) fn is_end(event: &Event) -> bool {
    matches!(event, Event::Turn(TurnEvent::Ended { .. }))
}
