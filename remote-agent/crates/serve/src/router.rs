//! The route table, and nothing else.

use std::{path::PathBuf, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware,
    routing::{get, post, put},
};
use broker::Desk;
use controller::Manager;
use protocol::limits;
use sandbox::LoginShell;

use stdx::task::Scope;

use crate::{
    auth, forward, handlers,
    streams::{self, Listeners},
};

/// Times and counts of the HTTP face.
#[derive(Debug, Clone)]
pub struct Options {
    /// An event stream says something at least this often.
    pub keep_alive: Duration,
    /// A follower that is more events behind than this gets a snapshot first.
    pub snapshot_when_behind: u64,
    /// Listeners that clients asked for. Every router of one agent shares them.
    pub listeners: Arc<Listeners>,
    /// Where byte streams run: they end with it.
    pub streams: Scope,
    /// Requests to models that wait for who has the key. Every router of one agent shares it.
    pub desk: Desk,
    /// The user's home: where names of files begin.
    pub user_home: PathBuf,
    /// Whose shell runs on terminals; `None` opens none.
    pub shell: Option<Arc<LoginShell>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            keep_alive: Duration::from_secs(10),
            snapshot_when_behind: 5_000,
            listeners: Arc::default(),
            streams: Scope::root("byte streams"),
            desk: Desk::new(),
            user_home: PathBuf::from("/"),
            shell: None,
        }
    }
}

/// What handlers are given.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub(crate) manager: Manager,
    pub(crate) options: Options,
    pub(crate) ports: handlers::ports::Seen,
}

/// Makes the routes for the sessions of a manager.
pub fn router(manager: Manager, options: Options) -> Router {
    use handlers::{broker, commands, daemon, events, fallback, history, ports, sessions};
    Router::new()
        .route("/v1/hello", get(daemon::hello))
        .route("/v1/ports", get(ports::list))
        .route("/v1/drain", post(daemon::drain))
        .route("/v1/shutdown", post(daemon::shutdown))
        .route("/v1/sessions", get(sessions::list).post(sessions::open))
        .route("/v1/sessions/{id}/snapshot", get(sessions::snapshot))
        .route("/v1/sessions/{id}/events", get(events::follow))
        .route("/v1/sessions/{id}/commands", post(commands::run))
        .route("/v1/sessions/{id}/history", get(history::page))
        .fallback(fallback::not_found)
        .method_not_allowed_fallback(fallback::wrong_method)
        .layer(middleware::from_fn(forward::pass_on))
        .layer(DefaultBodyLimit::max(limits::REQUEST_BODY))
        .route("/v1/broker/requests", get(broker::announce))
        .route("/v1/broker/requests/{number}", get(broker::fetch))
        // Below what reads whole bodies.
        .route("/v1/broker/requests/{number}/answer", put(broker::answer))
        .route("/v1/streams", post(streams::open))
        .layer(middleware::from_fn(auth::refuse_web_pages))
        .with_state(Shared {
            manager,
            options,
            ports: ports::Seen::default(),
        })
}
