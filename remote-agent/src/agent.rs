//! The agent as a value: sessions, their HTTP face, and the way in.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use broker::Desk;
use controller::{Manager, ManagerOptions};
use protocol::{Hello, InstanceId, Preset};
use sandbox::{Backend, Environment, Guard, GuardProgram, Locales, LoginShell, Shell};
use settings::{Flag, Sources};
use stdx::{AbsPath, task::Scope};
use tokio::io::DuplexStream;

use crate::{
    assemble::{FromSettings, Host},
    environment::{self, Variables},
    identity,
    run_dir::RunDir,
};

/// Bytes that a pipe inside the process holds.
const PIPE: usize = 256 * 1024;
/// How long sessions may take to end their turns.
const GRACE: Duration = Duration::from_secs(20);
/// How long the guard may take to end after that.
const GUARD_GRACE: Duration = Duration::from_secs(5);

/// What an agent is opened with. Nothing is looked up beyond it.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// Reasonix's own folder (`REASONIX_HOME`): settings, keys, sessions.
    pub home: AbsPath,
    /// The user's home, for `~`.
    pub user_home: AbsPath,
    /// The environment of this process.
    pub environment: Variables,
    /// The login shell whose environment tools get; `None` takes [`AgentOptions::environment`] as it is.
    pub login_shell: Option<PathBuf>,
    /// Values from the command line.
    pub flags: Vec<Flag>,
    /// The daemon's socket, empty for an agent that has none.
    pub socket: String,
    /// How long to wait for the lease of a session that another agent without a socket holds: one that is about to end.
    pub lease_patience: Duration,
    /// The program that ends commands when this process is killed, with its arguments: it calls [`crate::guard()`].
    /// `None` leaves them running then.
    pub guard: Option<(PathBuf, Vec<OsString>)>,
}

/// Why an agent could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A settings file is broken.
    #[error("the configuration cannot be used")]
    Settings(#[from] settings::Error),
    /// A folder could not be made.
    #[error("could not make the folder {}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

/// An open agent. Close it; dropping it leaves its sessions to the end of the process.
#[derive(Debug)]
pub struct Agent {
    manager: Manager,
    scope: Scope,
    home: AbsPath,
    idle_exit: Duration,
    guard: Option<Arc<Guard>>,
    http: serve::Options,
}

impl Agent {
    /// Reads the settings and starts an agent. No network, no socket, no daemon.
    ///
    /// # Errors
    /// [`OpenError`] when the user's settings are broken or a folder cannot be made.
    pub async fn open(options: AgentOptions) -> Result<Self, OpenError> {
        let scope = Scope::root("agent");
        let sources = Sources {
            home: Some(options.home.to_path_buf()),
            project: None,
            environment: environment::texts(&options.environment),
            flags: options.flags.clone(),
        };
        let loaded = settings::load(&sources)?;
        for warning in &loaded.warnings {
            // The front end of a local session has printed it; a daemon's log keeps it.
            tracing::info!("{warning}");
        }
        let sessions = options.home.resolve("sessions");
        make_private(&options.home)?;
        make_private(&sessions)?;
        let key_agent = key_agent_socket(&options);
        let hello = hello(&options.socket, key_agent.as_ref());
        let login = login_environment(&options).await;
        let shell = shell(&options, login.clone());
        let host = Host {
            secrets: secret_places(&options),
            key_agent,
            environment: tool_environment(&options, login).await,
            backend: Backend::probe(search_path(&options.environment)).await,
            shell: Shell::find(search_path(&options.environment)),
            temp: AbsPath::new(std::env::temp_dir()).unwrap_or_else(|_| options.user_home.clone()),
            user_home: options.user_home.clone(),
            home: options.home.clone(),
            guard: None,
            desk: Desk::new(),
        };
        let guard = options.guard.map(|(program, arguments)| {
            Guard::new(GuardProgram {
                program,
                arguments,
                temp_parent: host.temp.to_path_buf(),
            })
        });
        let host = Host {
            guard: guard.clone(),
            ..host
        };
        let desk = host.desk.clone();
        sweep(&host.temp, &scope);
        let manager = Manager::start(ManagerOptions {
            hello,
            sessions,
            user_home: options.user_home.clone(),
            preset: preset(&loaded.settings),
            assembler: Arc::new(FromSettings::new(sources, host)),
            lease_patience: options.lease_patience,
            scope: scope.child("sessions"),
        });
        let http = serve::Options {
            desk,
            streams: scope.child("byte streams"),
            user_home: options.user_home.to_path_buf(),
            shell: Some(shell),
            ..serve::Options::default()
        };
        Ok(Self {
            manager,
            scope,
            home: options.home,
            idle_exit: loaded.settings.serve.idle_exit,
            guard,
            http,
        })
    }

    /// Gives the sessions.
    #[must_use]
    pub fn manager(&self) -> &Manager {
        &self.manager
    }

    /// Gives Reasonix's own folder.
    #[must_use]
    pub fn home(&self) -> &AbsPath {
        &self.home
    }

    /// Gives after how long without clients and turns a daemon ends; zero means never.
    #[must_use]
    pub fn idle_exit(&self) -> Duration {
        self.idle_exit
    }

    /// Gives the HTTP face.
    pub fn router(&self) -> serve::Router {
        serve::router(self.manager.clone(), self.http.clone())
    }

    /// Opens a pipe to the agent and serves its other end.
    #[must_use]
    pub fn connect(&self) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        self.scope.spawn(serve::serve_stream(
            theirs,
            self.router(),
            self.scope.child("pipe"),
        ));
        ours
    }

    /// Ends every session gracefully.
    pub async fn close(&self) {
        self.scope.close(GRACE).await;
        if let Some(guard) = self.guard.clone() {
            let ended = stdx::task::blocking(move || guard.close());
            // One that somebody has stopped is left to itself.
            if tokio::time::timeout(GUARD_GRACE, ended).await.is_err() {
                tracing::warn!("the guard of this agent does not end");
            }
        }
    }
}

/// Removes, beside everything else, the temporary folders of agents that were killed.
fn sweep(parent: &AbsPath, scope: &Scope) {
    let parent = parent.to_path_buf();
    let folders = [sandbox::PRIVATE_TMP, tools::SHELL_FOLDER];
    // Owned by the scope.
    drop(scope.spawn(async move {
        let swept = stdx::task::blocking(move || {
            // Commands of an agent that was killed together with its guard.
            let guards = [sandbox::GUARD_FOLDER];
            stdx::private_folder::sweep_after(&parent, &guards, sandbox::end_listed)
                + stdx::private_folder::sweep(&parent, &folders)
        })
        .await;
        tracing::debug!(swept, "temporary folders of dead agents");
    }));
}

/// Gives the preset of the settings in the wire's terms.
fn preset(settings: &settings::Settings) -> Preset {
    use settings::schema::PresetName;
    match settings.permissions.preset {
        PresetName::ReadOnly => Preset::ReadOnly,
        PresetName::WorkspaceWrite => Preset::WorkspaceWrite,
        PresetName::FullAccess => Preset::DangerFullAccess,
    }
}

fn search_path(environment: &Variables) -> &OsStr {
    environment
        .get(OsStr::new("PATH"))
        .map_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"), AsRef::as_ref)
}

/// Gives what a login of the user would see, without secrets.
async fn login_environment(options: &AgentOptions) -> Variables {
    match &options.login_shell {
        Some(shell) => environment::capture(shell, &options.environment).await,
        None => environment::scrub(options.environment.clone()),
    }
}

async fn tool_environment(options: &AgentOptions, login: Variables) -> Environment {
    Environment::new(login, &Locales::probe(search_path(&options.environment)).await)
}

/// Gives the shell that runs on terminals of this agent.
fn shell(options: &AgentOptions, login: Variables) -> Arc<LoginShell> {
    Arc::new(LoginShell {
        program: options
            .login_shell
            .clone()
            .unwrap_or_else(|| PathBuf::from("/bin/sh")),
        environment: login.into_iter().collect(),
        home: options.user_home.to_path_buf(),
    })
}

/// Files and folders that no tool may read: keys, and the sockets of programs that act for the user.
fn secret_places(options: &AgentOptions) -> Vec<AbsPath> {
    let run_dirs = [
        RunDir::locate(&options.home, None, false),
        RunDir::locate(&options.home, runtime_dir(options), true),
    ];
    let run_dirs = run_dirs.iter().filter_map(|dir| AbsPath::new(dir.path()).ok());
    [options.home.resolve(".env")]
        .into_iter()
        .chain(run_dirs)
        .collect()
}

fn hello(socket: &str, key_agent: Option<&AbsPath>) -> Hello {
    Hello {
        key_agent_socket: key_agent.map(ToString::to_string),
        ..identity::hello(InstanceId::fresh(), socket)
    }
}

/// Makes the place where a client puts the socket of an SSH agent; `None` for an agent that does not stay, and where
/// the place cannot be made.
fn key_agent_socket(options: &AgentOptions) -> Option<AbsPath> {
    let keys = RunDir::of_socket(&options.socket)?.keys();
    match keys.prepare() {
        Ok(()) => AbsPath::new(keys.socket()).ok(),
        Err(error) => {
            tracing::warn!(%error, "no SSH agent can be lent to tools");
            None
        }
    }
}

fn runtime_dir(options: &AgentOptions) -> Option<&Path> {
    options
        .environment
        .get(OsStr::new("XDG_RUNTIME_DIR"))
        .map(|dir| Path::new(dir.as_os_str()))
}

/// Makes a folder for the user alone.
fn make_private(path: &AbsPath) -> Result<(), OpenError> {
    use std::os::unix::fs::DirBuilderExt as _;
    let made = std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path.as_path());
    made.map_err(|source| OpenError::Folder {
        path: path.to_path_buf(),
        source,
    })
}
