//! One session's sandbox: its private temporary folder, and what its commands left running.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use process_wrap::tokio::{CommandWrap, ProcessSession};
use stdx::{AbsPath, PrivateFolder, task::Scope};
use tokio::net::unix::pipe;

use crate::{
    Backend, BackgroundGroup, Command, Environment, Guard, Mode, Outcome, Policy, RunOptions, SandboxError,
    Shell,
    bubblewrap::{self, OwnDirs},
    jobs::Jobs,
    kill::Group,
    supervise,
};

/// How long the groups left behind have to end at the session's end.
const CLOSE_GRACE: Duration = Duration::from_secs(2);

/// The longest script that every system passes as one argument (`MAX_ARG_STRLEN` of Linux, with its final NUL).
const MAX_SCRIPT: usize = 128 * 1024 - 1;

/// What the name of a session's private temporary folder begins with.
pub const PRIVATE_TMP: &str = "reasonix-session-tmp-";

/// What a sandbox is made from.
#[derive(Debug)]
pub struct SandboxOptions {
    /// What confines commands, probed once.
    pub backend: Backend,
    /// The shell that runs scripts.
    pub shell: Shell,
    /// Where the private temporary folder is made.
    pub temp_parent: AbsPath,
    /// The owner of the tasks that read the output of background processes.
    pub scope: Scope,
}

/// Runs the commands of one session.
#[derive(Debug)]
pub struct Sandbox {
    backend: Backend,
    shell: Shell,
    temp_parent: AbsPath,
    scope: Scope,
    private_tmp: Mutex<Option<Arc<PrivateFolder>>>,
    jobs: Jobs,
    guard: Option<Arc<Guard>>,
}

impl Sandbox {
    /// Makes a sandbox. Nothing is created before the first command.
    #[must_use]
    pub fn new(options: SandboxOptions) -> Self {
        let SandboxOptions {
            backend,
            shell,
            temp_parent,
            scope,
        } = options;
        Self {
            backend,
            shell,
            temp_parent,
            scope,
            private_tmp: Mutex::new(None),
            jobs: Jobs::default(),
            guard: None,
        }
    }

    /// Lets a guard end the commands if this process is killed.
    #[must_use]
    pub fn guarded(mut self, guard: Option<Arc<Guard>>) -> Self {
        self.guard = guard;
        self
    }

    /// Gives the mechanism in use.
    #[must_use]
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Runs `command` under `policy` and waits for its end.
    ///
    /// It ends when the shell exits, even if a background child keeps the output open: the child is reported and runs
    /// on until [`Sandbox::stop_background`] or [`Sandbox::close`]. Dropping the future kills the process group.
    ///
    /// # Errors
    /// [`SandboxError`] when the command could not be started or watched; a failing command is an [`Outcome`].
    pub async fn run(
        &self,
        command: Command,
        policy: &Policy,
        options: RunOptions,
    ) -> Result<Outcome, SandboxError> {
        let launch = self.launch(command, policy.clone()).await?;
        let (child, group, pipe) = launch.start()?;
        let watched = self.guard.as_ref().map(|guard| guard.watch(group));
        let finished = supervise::supervise(child, group, pipe, options)
            .await
            .map_err(SandboxError::Watch)?;
        if let Some(group) = finished.left {
            self.jobs.add(group);
            if let Some(watched) = watched {
                watched.leave();
            }
        }
        if let Some(pipe) = finished.pipe {
            // It ends by itself when the last writer does; the session's end aborts it.
            let token = self.scope.token().clone();
            let _reader = self.scope.spawn(async move {
                tokio::select! {
                    biased;
                    () = token.cancelled() => {}
                    () = supervise::discard(pipe) => {}
                }
            });
        }
        Ok(finished.outcome)
    }

    /// Lists what commands left running.
    #[must_use]
    pub fn background(&self) -> Vec<BackgroundGroup> {
        self.jobs.list()
    }

    /// Ends what commands left running: SIGTERM, `grace`, SIGKILL. Processes that moved to groups of their own are
    /// out of reach unless they are confined.
    pub async fn stop_background(&self, grace: Duration) {
        self.jobs.stop(grace).await;
    }

    /// Ends the session's processes and removes its temporary folder.
    pub async fn close(&self) {
        self.jobs.stop(CLOSE_GRACE).await;
        let folder = self
            .private_tmp
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        stdx::task::blocking(move || drop(folder)).await;
    }

    /// Decides the whole command line, touching the file system off the runtime's threads.
    async fn launch(&self, command: Command, policy: Policy) -> Result<Launch, SandboxError> {
        if command.script.len() >= MAX_SCRIPT {
            return Err(SandboxError::TooLong {
                program: self.shell.program().to_owned(),
                bytes: command.script.len(),
            });
        }
        let confined_by = match (policy.mode, &self.backend) {
            (Mode::Unconfined, _) => None,
            (_, Backend::Bubblewrap(program)) => Some(program.clone()),
            (_, Backend::None(reason)) => {
                return Err(SandboxError::Unavailable {
                    reason: reason.clone(),
                });
            }
        };
        let private_tmp = self.private_tmp()?;
        let shell = self.shell.program().to_owned();
        stdx::task::blocking(move || plan(command, &policy, shell, confined_by, private_tmp.path())).await
    }

    fn private_tmp(&self) -> Result<Arc<PrivateFolder>, SandboxError> {
        let mut folder = self.private_tmp.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = &*folder {
            return Ok(Arc::clone(folder));
        }
        let parent = self.temp_parent.as_path();
        let made = PrivateFolder::create(parent, PRIVATE_TMP).map_err(|source| SandboxError::PrivateTmp {
            parent: parent.to_owned(),
            source,
        })?;
        Ok(Arc::clone(folder.insert(Arc::new(made))))
    }
}

impl Drop for Sandbox {
    /// A sandbox that was not closed leaves no process either.
    fn drop(&mut self) {
        self.jobs.kill();
    }
}

/// A program with everything it is started with.
struct Launch {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Environment,
    folder: PathBuf,
}

fn plan(
    command: Command,
    policy: &Policy,
    shell: PathBuf,
    confined_by: Option<PathBuf>,
    private_tmp: &Path,
) -> Result<Launch, SandboxError> {
    let workspace = policy.workspace.as_path();
    if !workspace.is_dir() {
        return Err(SandboxError::WorkspaceMissing(workspace.to_owned()));
    }
    let missing = |_| SandboxError::WorkspaceMissing(workspace.to_owned());
    let mut script: Vec<OsString> = vec!["-c".into(), command.script.into()];
    script.extend(command.arguments);
    let Some(bwrap) = confined_by else {
        let environment = with_tmp(command.environment, private_tmp.as_os_str());
        return Ok(Launch {
            program: shell,
            arguments: script,
            environment,
            folder: workspace.to_owned(),
        });
    };
    let own = OwnDirs {
        tmp: private_tmp,
        writable: &command.private_dirs,
        shown: &command.shown_dirs,
    };
    let mut arguments = bubblewrap::arguments(policy, &own).map_err(missing)?;
    arguments.push(shell.into());
    arguments.extend(script);
    let inside = OsStr::new(bubblewrap::INSIDE_TMP);
    // The usual cache folder is read-only from inside.
    let environment = with_tmp(command.environment, inside).with("XDG_CACHE_HOME", inside);
    Ok(Launch {
        program: bwrap,
        arguments,
        environment,
        folder: "/".into(),
    })
}

fn with_tmp(environment: Environment, folder: &OsStr) -> Environment {
    environment
        .with("TMPDIR", folder)
        .with("TMP", folder)
        .with("TEMP", folder)
}

type Started = (Box<dyn process_wrap::tokio::ChildWrapper>, Group, pipe::Receiver);

impl Launch {
    /// Starts the program as the leader of a session, with one pipe for both outputs.
    fn start(self) -> Result<Started, SandboxError> {
        let program = self.program.clone();
        self.try_start()
            .map_err(|source| SandboxError::Spawn { program, source })
    }

    fn try_start(self) -> io::Result<Started> {
        let (reader, writer) = io::pipe()?;
        let mut command = stdx::process::command(&self.program);
        command
            .args(&self.arguments)
            .current_dir(&self.folder)
            .envs(self.environment.iter());
        command.stdout(writer.try_clone()?).stderr(writer);
        let mut command = CommandWrap::from(command);
        command.wrap(ProcessSession);
        let spawned = command.spawn();
        // The command holds ends of the pipe that would keep the output open.
        drop(command);
        // The wrapper's own wait would wait for the whole group.
        let child = spawned?.into_inner();
        let group = child
            .id()
            .and_then(Group::of_leader)
            .ok_or_else(|| io::Error::other("no process number"))?;
        Ok((child, group, pipe::Receiver::from_owned_fd(reader.into())?))
    }
}
