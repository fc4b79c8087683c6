//! The task that owns a link: it waits for what can happen, asks the machine in `state.rs`, and does what that says.

use std::{
    future::pending,
    sync::Arc,
    time::{Duration, Instant},
};

use forward::{Carrier, Forwards};
use futures_util::future::BoxFuture;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::MissedTickBehavior,
};
use transport::Connection;

use crate::{
    attempt::{Dialer, Outcome},
    carrier::AgentCarrier,
    error::{Error, ErrorKind},
    handle::Ready,
    liveness::{Liveness, Signs, Verdict, WakeDetector},
    network::NetworkChange,
    progress::{Doing, Doings, Stage},
    state::{Doubt, Effect, End, Input, Line, LinkState, Machine},
    wire::{Broken, Route, Signals},
};

/// What a handle asks for.
#[derive(Debug)]
pub(crate) enum Request {
    Retry,
    Woke,
    Network(NetworkChange),
    Stop,
    /// Answers once everything asked before it is done.
    Sync(oneshot::Sender<()>),
}

/// What everybody may see.
pub(crate) struct Published {
    pub(crate) states: watch::Sender<LinkState>,
    /// The SSH connection, as long as it is usable; a daemon that dies leaves it as it is.
    pub(crate) connections: watch::Sender<Option<Connection>>,
    /// Port forwards, which follow that connection.
    pub(crate) forwards: Arc<Forwards>,
    /// How they go through the agent.
    pub(crate) carrier: AgentCarrier,
    /// Who answered last.
    pub(crate) ready: watch::Sender<Option<Ready>>,
}

impl Published {
    fn connection(&self, connection: Option<Connection>) {
        self.forwards.set_connection(connection.clone());
        self.connections.send_replace(connection);
    }

    /// Says whether an agent runs on the host. One that is only out of reach for a while does.
    fn agent_runs(&self, runs: bool) {
        let carrier = runs.then(|| -> Arc<dyn Carrier> { Arc::new(self.carrier.clone()) });
        self.forwards.set_agent(carrier);
    }
}

/// The owner of a link.
pub(crate) struct Supervisor {
    dialer: Arc<Dialer>,
    machine: Machine,
    published: Published,
    requests: mpsc::Receiver<Request>,
    signals: Signals,
    jobs: Jobs,
    connection: Option<Connection>,
    /// Why the link that was live is not any more.
    lost: Option<Error>,
    pulse: Pulse,
}

type Job<T> = Option<BoxFuture<'static, T>>;

/// What runs.
#[derive(Default)]
struct Jobs {
    attempt: Job<Outcome>,
    doing: Option<watch::Receiver<Doing>>,
    timer: Job<()>,
    /// The end of the SSH connection of a live link.
    closed: Job<transport::Error>,
    ping: Job<Result<Duration, client::Error>>,
    /// A question to the SSH server: whether it answered.
    knock: Job<bool>,
}

/// What is known of the passing of time.
struct Pulse {
    last_tick: Instant,
    next_ping: Instant,
    wakes: WakeDetector,
    liveness: Option<Liveness>,
    /// When the link became live.
    live_since: Instant,
}

enum Happened {
    Asked(Request),
    Broken(Broken),
    Doing(Doing),
    Attempted(Box<Outcome>),
    Closed(transport::Error),
    Pinged(Result<Duration, client::Error>),
    Knocked(bool),
    TimeUp,
    StreamEnded,
    Tick,
}

impl Supervisor {
    pub(crate) fn new(
        dialer: Dialer,
        published: Published,
        requests: mpsc::Receiver<Request>,
        signals: Signals,
    ) -> Self {
        let now = stdx::clock::monotonic();
        Self {
            dialer: Arc::new(dialer),
            machine: Machine::new(),
            published,
            requests,
            signals,
            jobs: Jobs::default(),
            connection: None,
            lost: None,
            pulse: Pulse {
                last_tick: now,
                next_ping: now,
                wakes: WakeDetector::new(now, stdx::clock::since_boot()),
                liveness: None,
                live_since: now,
            },
        }
    }

    /// Runs until the scope is cancelled or the last handle is gone.
    pub(crate) async fn run(mut self) {
        let token = self.dialer.scope.token().clone();
        let mut ticks = tokio::time::interval(self.dialer.options.timings.tick());
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.step(Input::Retry);
        loop {
            let happened = tokio::select! {
                biased;
                () = token.cancelled() => break,
                request = self.requests.recv() => match request {
                    Some(request) => Happened::Asked(request),
                    None => break,
                },
                Some(broken) = self.signals.broken.recv() => Happened::Broken(broken),
                doing = changed(&mut self.jobs.doing) => Happened::Doing(doing),
                outcome = job(&mut self.jobs.attempt) => Happened::Attempted(Box::new(outcome)),
                error = job(&mut self.jobs.closed) => Happened::Closed(error),
                result = job(&mut self.jobs.ping) => Happened::Pinged(result),
                answered = job(&mut self.jobs.knock) => Happened::Knocked(answered),
                () = job(&mut self.jobs.timer) => Happened::TimeUp,
                () = self.signals.ends.ended.notified() => Happened::StreamEnded,
                _ = ticks.tick() => Happened::Tick,
            };
            self.handle(happened);
        }
        let connection = self.connection.take();
        self.step(Input::Stop);
        if let Some(connection) = connection {
            connection.disconnect().await;
        }
    }

    fn handle(&mut self, happened: Happened) {
        match happened {
            Happened::Asked(Request::Retry) => self.step(Input::Retry),
            Happened::Asked(Request::Woke) => self.step(Input::Woke),
            Happened::Asked(Request::Network(change)) => self.step(Input::Network(change)),
            Happened::Asked(Request::Stop) => {
                // Typed for the life of this link, which is over until somebody wants it back.
                self.dialer.options.ssh.secrets.clear();
                self.step(Input::Stop);
            }
            // Whoever stopped waiting needs no answer.
            Happened::Asked(Request::Sync(taken)) => taken.send(()).unwrap_or_default(),
            Happened::Broken(broken) => self.broken(broken),
            Happened::Doing(doing) => self.step(Input::Doing(doing)),
            Happened::Attempted(outcome) => self.attempted(*outcome),
            Happened::Closed(error) => {
                self.jobs.closed = None;
                self.ended(Error::ssh(Stage::Live, error), Line::Gone);
            }
            Happened::Pinged(result) => self.pinged(result),
            Happened::Knocked(answered) => {
                self.jobs.knock = None;
                if let Some(liveness) = self.pulse.liveness.as_mut().filter(|_| answered) {
                    liveness.answered_by_host();
                }
            }
            Happened::TimeUp => {
                self.jobs.timer = None;
                self.step(Input::Timer);
            }
            Happened::StreamEnded => self.hurry(),
            Happened::Tick => self.tick(),
        }
    }

    fn attempted(&mut self, outcome: Outcome) {
        self.jobs.attempt = None;
        self.jobs.doing = None;
        self.connection = outcome.connection;
        let is_wrong = outcome
            .result
            .as_ref()
            .err()
            .is_some_and(|error| matches!(error.kind(), ErrorKind::OtherMachine(_)));
        if outcome.result.is_ok() {
            // Before the connection, which rules that wait take at once.
            self.published.agent_runs(true);
        }
        // Nothing may be forwarded to another machine, not even until it is hung up on.
        self.published
            .connection(self.connection.clone().filter(|_| !is_wrong));
        match (outcome.result, &self.connection) {
            (Ok(attached), Some(connection)) => {
                let signs = self.signs(connection);
                self.pulse.liveness = Some(Liveness::new(self.dialer.options.timings, signs));
                let now = stdx::clock::monotonic();
                self.pulse.live_since = now;
                self.pulse.next_ping = now + self.dialer.options.timings.ping_interval;
                self.jobs.closed = Some(Box::pin(connection.closed()));
                self.lost = None;
                self.published.ready.send_replace(Some(attached.ready));
                self.step(Input::Attached { rtt: attached.rtt });
            }
            (Ok(_), None) => {
                let error = self.lost("the connection ended right after the agent's hello");
                self.ended(error, Line::Gone);
            }
            (Err(error), Some(_)) => {
                if error.is_nobody() {
                    self.published.agent_runs(false);
                }
                self.ended(error, Line::Kept);
            }
            (Err(error), None) => self.ended(error, Line::Gone),
        }
    }

    /// The client wants another stream and there is none, on a connection that may well be alive.
    fn broken(&mut self, broken: Broken) {
        if !self.machine.state.is_live() || !self.dialer.switch.is_on(&broken.opener) {
            return;
        }
        let line = match &self.connection {
            Some(connection) if !connection.is_closed() => Line::Kept,
            _ => Line::Gone,
        };
        let host = self.dialer.options.host.name();
        self.ended(broken.why.into_error(&host), line);
    }

    fn pinged(&mut self, result: Result<Duration, client::Error>) {
        self.jobs.ping = None;
        let interval = self.dialer.options.timings.ping_interval;
        let now = stdx::clock::monotonic();
        match result {
            Ok(rtt) => {
                self.pulse.next_ping = now + interval;
                if let Some(liveness) = &mut self.pulse.liveness {
                    liveness.pong();
                }
                self.step(Input::Pong { rtt });
            }
            Err(error @ client::Error::NoCommonVersion { .. }) => {
                let host = self.dialer.options.host.name();
                let error = Error::new(Stage::Live, host, ErrorKind::Agent(error));
                self.ended(error, Line::Kept);
            }
            Err(error) => {
                tracing::debug!(%error, "the agent did not answer a ping");
                self.pulse.next_ping = now + interval / 5;
            }
        }
    }

    fn tick(&mut self) {
        let now = stdx::clock::monotonic();
        let passed = now.saturating_duration_since(std::mem::replace(&mut self.pulse.last_tick, now));
        if self.pulse.wakes.woke(now, stdx::clock::since_boot()) {
            tracing::info!("the machine slept, or this process was stopped");
            self.step(Input::Woke);
        }
        let (LinkState::Live { health, .. }, Some(connection)) = (&self.machine.state, &self.connection)
        else {
            return;
        };
        let (health, signs, timings) = (*health, self.signs(connection), self.dialer.options.timings);
        let verdict = self
            .pulse
            .liveness
            .as_mut()
            .map_or(Verdict::Fine, |liveness| liveness.tick(passed, signs));
        match verdict {
            // Only an answer makes it good again.
            Verdict::Fine => {}
            Verdict::Poor(poor) if poor == health => {}
            Verdict::Poor(poor) => self.step(Input::Silence(poor)),
            Verdict::Dead => {
                let error = self.lost("no sign of life");
                return self.ended(error, Line::Gone);
            }
            Verdict::AgentDead => {
                let host = self.dialer.options.host.name();
                let error = Error::new(Stage::Live, host, ErrorKind::Silent(timings.stalled_after));
                return self.ended(error, Line::Gone);
            }
        }
        if now >= self.pulse.next_ping {
            self.hurry();
        }
    }

    fn signs(&self, connection: &Connection) -> Signs {
        Signs {
            bytes: connection.bytes_received(),
            heard: self.signals.ends.received(),
        }
    }

    /// Pings now, unless a ping is under way.
    fn hurry(&mut self) {
        if self.machine.state.is_live() && self.jobs.ping.is_none() {
            let agent = self.dialer.agent.clone();
            let deadline = self.dialer.options.timings.dead_after;
            self.jobs.ping = Some(Box::pin(async move { agent.ping(deadline).await }));
        }
    }

    fn lost(&self, message: &str) -> Error {
        let host = self.dialer.options.host.name();
        let (kind, stage) = (transport::ErrorKind::Closed, transport::Stage::Session);
        Error::ssh(Stage::Live, transport::Error::new(kind, stage, host, message))
    }

    fn ended(&mut self, cause: Error, line: Line) {
        tracing::info!(%cause, ?line, "the link is not live");
        let at = stdx::clock::monotonic();
        let lived = if self.machine.state.is_live() {
            self.lost = Some(cause.clone());
            at.saturating_duration_since(self.pulse.live_since)
        } else {
            Duration::ZERO
        };
        self.step(Input::Ended(End {
            cause,
            line,
            at,
            lived,
            jitter: jitter(),
        }));
    }

    fn step(&mut self, input: Input) {
        let (next, effects) = self.machine.clone().step(input);
        self.machine = next;
        for effect in effects {
            self.perform(effect);
        }
        self.settle();
        self.published.states.send_replace(self.machine.state.clone());
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Attempt => {
                self.dialer.switch.to(Route::Wait);
                let (doings, doing) = Doings::new(Stage::Resolving);
                let dialer = Arc::clone(&self.dialer);
                let attempt = dialer.attempt(self.connection.clone(), self.lost.clone(), doings);
                self.jobs.doing = Some(doing);
                self.jobs.attempt = Some(Box::pin(attempt));
            }
            Effect::Abandon => {
                self.jobs.attempt = None;
                self.jobs.doing = None;
                self.dialer.switch.to(Route::Wait);
            }
            Effect::HangUp => {
                self.published.connection(None);
                if let Some(connection) = self.connection.take() {
                    // Owned by the scope; it takes a second at most.
                    drop(
                        self.dialer
                            .scope
                            .spawn(async move { connection.disconnect().await }),
                    );
                }
            }
            Effect::Arm(wait) => self.jobs.timer = Some(Box::pin(tokio::time::sleep(wait))),
            Effect::Disarm => self.jobs.timer = None,
            Effect::Prove(doubt) => self.prove(doubt),
        }
    }

    /// Asks both, since an agent that stands still says nothing about its host.
    fn prove(&mut self, doubt: Doubt) {
        let LinkState::Live { rtt, .. } = self.machine.state else {
            return;
        };
        if let Some(liveness) = &mut self.pulse.liveness {
            liveness.prove(doubt, rtt);
        }
        self.jobs.ping = None;
        self.hurry();
        if let Some(connection) = self.connection.clone() {
            let deadline = self.dialer.options.timings.dead_after;
            self.jobs.knock = Some(Box::pin(async move {
                let answer = connection.ping(deadline).await;
                answer.is_ok()
            }));
        }
    }

    /// Takes away what only a live link has, and tells the connector what to expect.
    fn settle(&mut self) {
        if self.machine.state.is_live() {
            return;
        }
        self.jobs.ping = None;
        self.jobs.knock = None;
        self.jobs.closed = None;
        self.pulse.liveness = None;
        let host = || self.dialer.options.host.name();
        match &self.machine.state {
            LinkState::Waiting { .. } => self.dialer.switch.to(Route::Wait),
            LinkState::Failed(error) => self.dialer.switch.to(Route::Refuse(error.clone())),
            LinkState::Offline => self.dialer.switch.to(Route::Refuse(Error::closed(&host()))),
            LinkState::Connecting(_) | LinkState::Prompting | LinkState::Live { .. } => {}
        }
    }
}

async fn job<T>(job: &mut Job<T>) -> T {
    match job {
        Some(running) => running.await,
        None => pending().await,
    }
}

async fn changed(doing: &mut Option<watch::Receiver<Doing>>) -> Doing {
    if let Some(doing) = doing
        && doing.changed().await.is_ok()
    {
        return *doing.borrow_and_update();
    }
    pending().await
}

/// Gives a random number from 0 to 1.
fn jitter() -> f64 {
    let bits = u32::try_from(uuid::Uuid::new_v4().as_u128() >> 96).unwrap_or(0);
    f64::from(bits) / f64::from(u32::MAX)
}
