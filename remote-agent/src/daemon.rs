//! `reasonix serve`: one agent per user and home, on a unix socket, until it is told to stop or nobody needs it.

use std::{fs, io, time::Duration};

use stdx::{Gauge, task::Scope};

use crate::{
    Agent, AgentOptions, OpenError,
    run_dir::{RunDir, RunDirError},
    run_lock::RunLock,
};

/// How long requests in flight may take when the daemon ends.
const GRACE: Duration = Duration::from_secs(20);

/// Why the daemon did not start.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The run directory cannot be used.
    #[error(transparent)]
    RunDir(#[from] RunDirError),
    /// Another daemon of this home runs.
    #[error("a daemon of this home runs already: its lock {0} is held")]
    Running(String),
    /// The lock or the identity file could not be made.
    #[error("could not write {path}")]
    Prepare {
        /// The path.
        path: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The socket could not be opened.
    #[error(transparent)]
    Listen(#[from] serve::Error),
    /// The agent could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Serves until `stop` resolves, a client asks for shutdown, it has drained, or nobody has needed the daemon for its idle time.
///
/// # Errors
/// [`DaemonError`] when it cannot start.
pub async fn serve(
    options: AgentOptions,
    run_dir: &RunDir,
    stop: impl Future<Output = ()>,
) -> Result<(), DaemonError> {
    let lock = RunLock::take(run_dir)?;
    let socket = run_dir.socket();
    let agent = Agent::open(AgentOptions {
        socket: socket.display().to_string(),
        ..options
    })
    .await?;
    let listener = serve::bind_unix(&socket)?;
    write_identity(run_dir, &agent)?;
    tracing::info!(socket = %socket.display(), pid = std::process::id(), "serving");

    let scope = Scope::root("daemon");
    let clients = Gauge::default();
    scope.spawn(serve::serve_unix(
        listener,
        agent.router(),
        clients.clone(),
        scope.child("connections"),
    ));
    tokio::select! {
        biased;
        () = stop => tracing::info!("told to stop by a signal"),
        () = asked_to_end(&agent, run_dir) => tracing::info!("told to stop by a client"),
        () = idle(agent.manager().turns(), &clients, agent.idle_exit()) => {
            tracing::info!("nobody has needed this daemon; it ends");
        }
    }
    // New connections find nobody, so that a client starts another daemon instead of waiting for this one.
    for path in [socket, run_dir.identity()] {
        // It may be gone already; the lock is what counts.
        drop(fs::remove_file(path));
    }
    agent.close().await;
    scope.close(GRACE).await;
    run_dir.keys().remove();
    drop(lock);
    Ok(())
}

/// Leaves the identity beside the socket, for a client that looks before it connects.
fn write_identity(run_dir: &RunDir, agent: &Agent) -> Result<(), DaemonError> {
    let path = run_dir.identity();
    let failed = |source| DaemonError::Prepare {
        path: path.display().to_string(),
        source,
    };
    let mut value =
        serde_json::to_value(agent.manager().hello()).map_err(|error| failed(io::Error::other(error)))?;
    if let Some(object) = value.as_object_mut() {
        object.insert("home".to_owned(), agent.home().to_string().into());
    }
    stdx::atomic_write::atomic_write(&path, value.to_string().as_bytes(), 0o600).map_err(failed)
}

/// Waits until a client has asked for the end, or the turns of a daemon that drains have ended.
async fn asked_to_end(agent: &Agent, run_dir: &RunDir) {
    agent.manager().drain_requested().await;
    // A client that looks before it connects goes elsewhere.
    if let Err(error) = write_identity(run_dir, agent) {
        // Who connects hears it from the hello.
        tracing::warn!(%error, "could not leave word of draining");
    }
    agent.manager().shutdown_requested().await;
}

/// Waits until no client was connected and no turn ran for `limit`; zero waits for ever.
async fn idle(turns: &Gauge, clients: &Gauge, limit: Duration) {
    if limit.is_zero() {
        std::future::pending::<()>().await;
    }
    loop {
        clients.none().await;
        turns.none().await;
        let needed = async {
            tokio::select! {
                biased;
                () = clients.some() => {}
                () = turns.some() => {}
            }
        };
        if tokio::time::timeout(limit, needed).await.is_err() {
            return;
        }
    }
}
