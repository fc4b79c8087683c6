//! Every open session of a daemon. One task owns the table, so opening an id twice gives one session.

use std::{collections::HashMap, sync::Arc, time::Duration};

use protocol::{
    Credentials, DrainReply, DrainRequest, ErrorBody, ErrorCode, Hello, OpenSession, Phase, Preset,
    SessionId, SessionInfo, SessionList, ShutdownReply, ShutdownRequest,
};
use session_store::{Holder, Sessions, StoreError, Summary};
use stdx::{AbsPath, Gauge, task::Scope};
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    actor::Actor,
    effects::{Executor, Turns},
    feed::Feed,
    handle::{Ends, SessionHandle, Status},
    life::Life,
    open::{self, Birth, Opened},
    parts::{Assembler, SessionParts, Wanted},
    projection,
    session::Session,
};

/// How often a lease is asked for again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// What a manager is made from.
pub struct ManagerOptions {
    /// Who this daemon is.
    pub hello: Hello,
    /// The folder with all sessions.
    pub sessions: AbsPath,
    /// The user's home, for `~` in workspaces.
    pub user_home: AbsPath,
    /// What new sessions may do without asking, unless their client says otherwise.
    pub preset: Preset,
    /// Builds the parts of sessions.
    pub assembler: Arc<dyn Assembler>,
    /// How long to wait for the lease of a session whose holder has no socket. Other requests to open wait meanwhile.
    pub lease_patience: Duration,
    /// The owner of every session.
    pub scope: Scope,
}

/// A handle to the daemon's sessions. Cloning gives another one.
#[derive(Debug, Clone)]
pub struct Manager {
    hello: Arc<Hello>,
    /// Bounded; opening and listing wait for their turn.
    requests: mpsc::Sender<Request>,
    busy: Gauge,
    life: watch::Receiver<Life>,
}

#[derive(Debug)]
enum Request {
    Open(OpenSession, oneshot::Sender<Result<SessionHandle, ErrorBody>>),
    List(oneshot::Sender<Result<SessionList, ErrorBody>>),
    Drain(DrainRequest, oneshot::Sender<DrainReply>),
    Shutdown(ShutdownRequest, oneshot::Sender<ShutdownReply>),
}

impl Manager {
    /// Starts the task that owns the sessions.
    #[must_use]
    pub fn start(options: ManagerOptions) -> Self {
        let (requests, inbox) = mpsc::channel(64);
        let (life, life_seen) = watch::channel(Life::Serving);
        let busy = Gauge::default();
        let manager = Self {
            hello: Arc::new(options.hello.clone()),
            requests,
            busy: busy.clone(),
            life: life_seen,
        };
        let scope = options.scope.clone();
        let table = Table {
            store: Sessions::new(options.sessions.as_path()),
            options,
            open: HashMap::new(),
            sessions: Gauge::default(),
            busy,
            life,
        };
        scope.spawn(table.run(inbox));
        manager
    }

    /// Gives who this daemon is.
    #[must_use]
    pub fn hello(&self) -> Hello {
        Hello {
            draining: self.life.borrow().is_leaving(),
            ..Hello::clone(&self.hello)
        }
    }

    /// Opens a new session or resumes one. Doing it again gives the same session.
    ///
    /// # Errors
    /// What the client is told: a workspace that cannot be entered, an unknown model, an id used for another request,
    /// a session that another daemon holds.
    pub async fn open(&self, request: OpenSession) -> Result<SessionHandle, ErrorBody> {
        self.ask(|reply| Request::Open(request, reply)).await?
    }

    /// Gives an existing session, opening it from its log if needed.
    ///
    /// # Errors
    /// `not_found` when there is none, else as [`Manager::open`].
    pub async fn get(&self, session: SessionId) -> Result<SessionHandle, ErrorBody> {
        self.open(OpenSession {
            session,
            workspace: None,
            model: None,
            preset: None,
            credentials: None,
        })
        .await
    }

    /// Lists the sessions on disk, the most recently changed first.
    ///
    /// # Errors
    /// `internal` when the folder cannot be read.
    pub async fn list(&self) -> Result<SessionList, ErrorBody> {
        self.ask(Request::List).await?
    }

    /// Asks the daemon to finish its turns, to take no new session, and then to end.
    pub async fn drain(&self, request: DrainRequest) -> DrainReply {
        let gone = DrainReply { running: Vec::new() };
        self.ask(|reply| Request::Drain(request, reply))
            .await
            .unwrap_or(gone)
    }

    /// Waits until a client has asked the daemon to drain or to end.
    pub async fn drain_requested(&self) {
        // A table that is gone has ended everything already.
        drop(self.life.clone().wait_for(Life::is_leaving).await);
    }

    /// Asks the daemon to end. Without force it stays while turns run.
    pub async fn shutdown(&self, request: ShutdownRequest) -> ShutdownReply {
        let gone = ShutdownReply {
            stopping: true,
            running: Vec::new(),
        };
        self.ask(|reply| Request::Shutdown(request, reply))
            .await
            .unwrap_or(gone)
    }

    /// Waits until a client has asked the daemon to end, or until it has drained.
    pub async fn shutdown_requested(&self) {
        // A table that is gone has ended everything already.
        drop(self.life.clone().wait_for(|life| *life == Life::Ending).await);
    }

    /// Gives the count of turns that run.
    #[must_use]
    pub fn turns(&self) -> &Gauge {
        &self.busy
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Result<T, ErrorBody> {
        let (reply, answer) = oneshot::channel();
        let ending = |()| Life::Ending.refusal();
        self.requests.send(request(reply)).await.map_err(|_| ending(()))?;
        answer.await.map_err(|_| ending(()))
    }
}

/// The table of open sessions and what new ones are made from.
struct Table {
    options: ManagerOptions,
    store: Sessions,
    open: HashMap<SessionId, Entry>,
    /// How many sessions have a task.
    sessions: Gauge,
    busy: Gauge,
    life: watch::Sender<Life>,
}

struct Entry {
    handle: SessionHandle,
    request: String,
}

impl Table {
    async fn run(mut self, mut inbox: mpsc::Receiver<Request>) {
        let token = self.options.scope.token().clone();
        loop {
            let is_draining = matches!(*self.life.borrow(), Life::Draining { .. });
            let request = tokio::select! {
                biased;
                () = token.cancelled() => return,
                request = inbox.recv() => request,
                () = self.sessions.none(), if is_draining => {
                    self.life.send_replace(Life::Ending);
                    continue;
                }
            };
            // A client that went away asks again; nothing here depends on its hearing the answer.
            match request {
                Some(Request::Open(request, reply)) => drop(reply.send(self.open(request).await)),
                Some(Request::List(reply)) => drop(reply.send(self.list().await)),
                Some(Request::Drain(request, reply)) => drop(reply.send(self.drain(request))),
                Some(Request::Shutdown(request, reply)) => drop(reply.send(self.shutdown(request))),
                None => return,
            }
        }
    }

    async fn open(&mut self, request: OpenSession) -> Result<SessionHandle, ErrorBody> {
        let life = self.life.borrow().clone();
        if life == Life::Ending {
            return Err(life.refusal());
        }
        if request.credentials == Some(Credentials::Unknown) {
            let error = ErrorBody::new(ErrorCode::BadRequest, "those credentials are not known here");
            return Err(error.hint("the agent knows \"host\" and \"broker\"; a newer one may know more"));
        }
        let hash = open::request_hash(&request);
        let conflict = || {
            ErrorBody::new(
                ErrorCode::Conflict,
                format!("session {} was opened with another request", request.session),
            )
            .hint("use a fresh id for a new session, or resume it by its id alone")
        };
        self.open.retain(|_, entry| !entry.handle.is_over());
        if let Some(entry) = self.open.get(&request.session) {
            if request.workspace.is_some() && entry.request != hash {
                return Err(conflict());
            }
            let handle = entry.handle.clone();
            self.change_credentials(&handle, request.credentials).await?;
            return Ok(handle);
        }
        if life.is_leaving() {
            return Err(life.refusal());
        }
        let (session, store) = (request.session, self.store.clone());
        let found = stdx::task::blocking(move || store.get(&session.to_string())).await;
        let resumed = match found.map_err(|error| open::store_error(session, &error))? {
            Some(dir) => self.resume(session, dir, request.credentials).await?,
            None => None,
        };
        match resumed {
            Some((handle, opened_by)) => {
                let same = request.workspace.is_none() || opened_by == hash;
                self.open.insert(
                    session,
                    Entry {
                        handle: handle.clone(),
                        request: opened_by,
                    },
                );
                if same { Ok(handle) } else { Err(conflict()) }
            }
            None => {
                let handle = self.create(&request, &hash).await?;
                self.open.insert(
                    session,
                    Entry {
                        handle: handle.clone(),
                        request: hash,
                    },
                );
                Ok(handle)
            }
        }
    }

    /// Has an open session ask models with other credentials, if it does not yet.
    async fn change_credentials(
        &self,
        handle: &SessionHandle,
        wanted: Option<Credentials>,
    ) -> Result<(), ErrorBody> {
        let Some(credentials) = wanted else {
            return Ok(());
        };
        if handle.credentials() == credentials {
            // What was asked for before may still wait for the end of a turn.
            return handle.change_credentials(credentials, None).await;
        }
        let head = handle.snapshot().await?.session;
        let wanted = Wanted {
            session: head.session,
            workspace: open::still_there(&head.workspace)?,
            model: Some(head.model),
            credentials,
        };
        let provider = self.options.assembler.provider(&wanted)?;
        handle.change_credentials(credentials, Some(provider)).await
    }

    async fn create(&self, request: &OpenSession, hash: &str) -> Result<SessionHandle, ErrorBody> {
        let session = request.session;
        let Some(wanted) = &request.workspace else {
            let error = ErrorBody::new(ErrorCode::NotFound, format!("there is no session {session}"));
            return Err(error.hint("list the sessions with `reasonix sessions`"));
        };
        let workspace = open::workspace(wanted, &self.options.user_home)?;
        let scope = self.options.scope.child("session");
        let wanted = Wanted {
            session,
            workspace: workspace.clone(),
            model: request.model.clone(),
            credentials: request.credentials.unwrap_or_default(),
        };
        let credentials = wanted.credentials;
        let parts = self.options.assembler.assemble(&wanted, &scope).await?;
        let (store, holder) = (self.store.clone(), self.holder());
        let (hash, preset) = (hash.to_owned(), request.preset.unwrap_or(self.options.preset));
        let (opened, parts) = stdx::task::blocking(move || {
            let birth = Birth {
                session,
                request: hash,
                workspace: &workspace,
                preset,
                credentials,
                parts: &parts,
            };
            (open::create(&store, &birth, &holder), parts)
        })
        .await;
        let opened = opened.map_err(|error| open::store_error(session, &error))?;
        Ok(self.launch(session, opened, parts, scope))
    }

    /// Takes a session up again; also gives the request that opened it. `None` when it was never begun.
    async fn resume(
        &self,
        session: SessionId,
        dir: session_store::SessionDir,
        credentials: Option<Credentials>,
    ) -> Result<Option<(SessionHandle, String)>, ErrorBody> {
        let (holder, instance) = (self.holder(), self.options.hello.identity.instance);
        let deadline = stdx::clock::monotonic() + self.options.lease_patience;
        let resumed = loop {
            let (dir, holder) = (dir.clone(), holder.clone());
            let resumed = stdx::task::blocking(move || open::resume(&dir, session, instance, &holder)).await;
            match resumed {
                Err(StoreError::Held { holder: Some(holder) })
                    if holder.socket.is_none() && stdx::clock::monotonic() < deadline =>
                {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
                resumed => break resumed,
            }
        };
        let failed = |error| open::store_error(session, &error);
        let Some((mut opened, notices)) = resumed.map_err(failed)? else {
            return Ok(None);
        };
        for notice in notices {
            tracing::warn!(%session, %notice, "the session's log is damaged");
        }
        let Some(first) = opened.state.opened.clone() else {
            let message = format!("the log of session {session} has lost its first record");
            return Err(ErrorBody::new(ErrorCode::Internal, message).hint("open a new session"));
        };
        let workspace = open::still_there(&first.workspace)?;
        let scope = self.options.scope.child("session");
        let model = opened.state.model.as_ref();
        let wanted = Wanted {
            session,
            workspace,
            model: model.map(|model| model.reference.clone()),
            credentials: credentials.unwrap_or_else(|| projection::credentials(&opened.state)),
        };
        let credentials = wanted.credentials;
        let mut parts = self.options.assembler.assemble(&wanted, &scope).await?;
        if let Some(prefix) = &opened.state.prefix {
            // The prefix of a session never changes, whatever its files say today: the vendor's cache depends on it.
            parts.turn.set_prefix(&prefix.system, &prefix.context);
        }
        let recorded = stdx::task::blocking(move || {
            let recorded = opened.bring_up_to_date(&parts, credentials);
            recorded.map(|()| (opened, parts))
        });
        let (opened, parts) = recorded.await.map_err(failed)?;
        Ok(Some((self.launch(session, opened, parts, scope), first.request)))
    }

    /// Starts the session's task.
    fn launch(&self, session: SessionId, opened: Opened, parts: SessionParts, scope: Scope) -> SessionHandle {
        let Opened {
            lease,
            log,
            state,
            view,
            recovered,
            changed_at,
            title,
        } = opened;
        let feed = Feed::new(state.last, log.reader());
        let status = Status {
            phase: view.phase,
            title,
            changed_at,
            turns: state.counters.turns,
            credentials: view.session.credentials,
        };
        let (
            handle,
            Ends {
                mailbox,
                status,
                ended,
            },
        ) = SessionHandle::new(
            session,
            &view.session.workspace,
            Arc::clone(&feed),
            status,
            self.life.subscribe(),
        );
        // Bounded: a turn that is faster than its session's disk waits.
        let (reports_in, reports) = mpsc::channel(128);
        let machine = Session::new(state, recovered);
        let turns = Turns::new(
            parts,
            &machine.posture(),
            reports_in,
            scope.clone(),
            self.busy.clone(),
        );
        let executor = Executor::new(log, view, feed, status, turns);
        let actor = Actor {
            session: machine,
            executor,
            mailbox,
            reports,
            ended,
            life: self.life.subscribe(),
        };
        let open = self.sessions.begin();
        self.options.scope.spawn(async move {
            actor.run(scope).await;
            drop(lease);
            drop(open);
        });
        handle
    }

    async fn list(&self) -> Result<SessionList, ErrorBody> {
        let store = self.store.clone();
        let listed: Result<Vec<Summary>, StoreError> = stdx::task::blocking(move || store.list()).await;
        let listed = listed.map_err(|error| {
            ErrorBody::new(ErrorCode::Internal, format!("could not list sessions: {error}"))
        })?;
        Ok(SessionList {
            sessions: listed
                .into_iter()
                .filter_map(|summary| self.info(summary))
                .collect(),
        })
    }

    fn info(&self, summary: Summary) -> Option<SessionInfo> {
        let session: SessionId = summary.session.id.parse().ok()?;
        if let Some(entry) = self.open.get(&session).filter(|entry| !entry.handle.is_over()) {
            return Some(entry.handle.info());
        }
        Some(SessionInfo {
            session,
            workspace: summary.workspace.unwrap_or_default(),
            title: summary.title.unwrap_or_default(),
            changed_at: summary.last_at.unwrap_or(0),
            phase: summary.closed.then_some(Phase::Closed),
            turns: summary.turns,
            held_by: summary
                .held_by
                .filter(|socket| *socket != self.options.hello.identity.socket),
        })
    }

    /// Lets sessions go, at once or when their turns have ended.
    fn drain(&self, request: DrainRequest) -> DrainReply {
        let DrainRequest { successor } = request;
        self.life.send_if_modified(|life| {
            let drains = *life != Life::Ending;
            if drains {
                *life = Life::Draining { successor };
            }
            drains
        });
        DrainReply {
            running: self.running(),
        }
    }

    fn shutdown(&self, request: ShutdownRequest) -> ShutdownReply {
        let running = self.running();
        let stopping = request.force || running.is_empty();
        if stopping {
            self.life.send_replace(Life::Ending);
        }
        ShutdownReply { stopping, running }
    }

    /// Lists the sessions in which a turn runs.
    fn running(&self) -> Vec<SessionId> {
        let busy = |entry: &Entry| entry.handle.info().phase.and_then(Phase::turn).is_some();
        let running = self.open.iter().filter(|(_, entry)| busy(entry));
        running.map(|(id, _)| *id).collect()
    }

    fn holder(&self) -> Holder {
        let identity = &self.options.hello.identity;
        Holder {
            instance: identity.instance.to_string(),
            pid: identity.pid,
            start_time: identity.start_time,
            boot_id: identity.boot_id.clone(),
            socket: Some(identity.socket.clone()).filter(|socket| !socket.is_empty()),
        }
    }
}
