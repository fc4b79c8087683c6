//! Runs the effects of a session in order.

use std::{collections::HashMap, sync::Arc, time::Duration};

use agent_loop::Verdict;
use conversation::{Response, TurnId};
use permission::Policy;
use protocol::{Credentials, ErrorBody, PromptId, Receipt, Snapshot};
use provider::Provider;
use session_store::{Log, Record, StoreError, record::TurnRecord};
use stdx::{Gauge, task::Scope};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
    time::Instant,
};

use crate::{
    feed::Feed,
    handle::Status,
    parts::SessionParts,
    port::{FromTurn, Port},
    projection,
    session::{Effect, Effects, Input, Posture, Timer, TurnPlan},
};

/// How long a turn may take to stop before its task is aborted.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(15);

/// Bytes of a session's title.
const TITLE: usize = 80;

/// Gives the title of a session from its first request.
pub(crate) fn title(text: &str) -> String {
    stdx::bounded::one_line(text, TITLE)
}

/// Everything effects act on.
#[derive(Debug)]
pub(crate) struct Executor {
    /// Taken out only while it is being synced.
    log: Option<Log>,
    /// The state as front ends see it, kept by folding the events that are published.
    view: Snapshot,
    feed: Arc<Feed>,
    status: watch::Sender<Status>,
    turns: Turns,
    /// Timers that are armed, with the time they fire.
    timers: HashMap<Timer, Instant>,
}

/// The running turn's task and what it needs.
#[derive(Debug)]
pub(crate) struct Turns {
    parts: SessionParts,
    policy: watch::Sender<Arc<Policy>>,
    /// What asks models with the credentials that are wanted next.
    spare: Option<(Credentials, Arc<dyn Provider>)>,
    /// Handed to every turn.
    reports: mpsc::Sender<FromTurn>,
    scope: Scope,
    busy: Gauge,
    running: Option<RunningTask>,
    /// Questions of the running turn that wait for an answer.
    questions: HashMap<PromptId, Asker>,
}

/// The part of a turn that waits for a person.
#[derive(Debug)]
pub(crate) enum Asker {
    /// It waits for an approval.
    Approval(oneshot::Sender<Verdict>),
    /// It waits for replies to questions of the model.
    Inquiry(oneshot::Sender<Option<Response>>),
}

#[derive(Debug)]
struct RunningTask {
    turn: TurnId,
    scope: Scope,
    task: JoinHandle<()>,
    /// When the task is aborted, once it was told to stop.
    abort_at: Option<Instant>,
}

/// What one step left to be done by the caller.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// The answer to the command that was handled.
    pub(crate) reply: Option<Result<Receipt, ErrorBody>>,
}

impl Executor {
    /// Makes the executor of a session.
    pub(crate) fn new(
        log: Log,
        view: Snapshot,
        feed: Arc<Feed>,
        status: watch::Sender<Status>,
        turns: Turns,
    ) -> Self {
        Self {
            log: Some(log),
            view,
            feed,
            status,
            turns,
            timers: HashMap::new(),
        }
    }

    /// Runs effects in order. A reply is handed back, since only the caller knows who waits for it.
    ///
    /// # Errors
    /// When the log cannot be written or synced: nothing after that point was done, and the session must end.
    pub(crate) async fn run(&mut self, effects: Effects) -> Result<Done, StoreError> {
        let mut done = Done::default();
        for effect in effects {
            match effect {
                Effect::Append(record) => self.append(&record)?,
                Effect::Sync => self.sync().await?,
                Effect::Reply(reply) => done.reply = Some(reply),
                Effect::Show(delta) => self.feed.show(&delta),
                Effect::StartTurn(plan) => self.turns.start(plan),
                Effect::CancelTurn(turn) => self.turns.cancel(turn),
                Effect::Answer(prompt, verdict) => self.turns.answer(prompt, verdict),
                Effect::Respond(prompt, response) => self.turns.respond(prompt, response),
                Effect::SetPolicy(posture) => self.turns.set_policy(&posture),
                Effect::UseCredentials(credentials) => self.turns.use_credentials(credentials),
                Effect::Arm(timer, after) => {
                    self.timers.insert(timer, Instant::now() + after);
                }
            }
        }
        Ok(done)
    }

    /// Waits until everything written is on disk.
    pub(crate) async fn sync(&mut self) -> Result<(), StoreError> {
        let Some(mut log) = self.log.take() else {
            return Err(lost());
        };
        let (log, synced) = stdx::task::blocking(move || {
            let synced = log.sync();
            (log, synced)
        })
        .await;
        self.log = Some(log);
        synced
    }

    /// Gives the state with the streamed text so far.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut view = self.view.clone();
        for delta in self.feed.live() {
            // Live text always starts at the item's beginning, so it cannot leave a gap.
            let _ = view.apply_delta(&delta);
        }
        view
    }

    /// Remembers who waits for the answer to a question.
    pub(crate) fn expect_answer(&mut self, prompt: PromptId, asker: Asker) {
        self.turns.questions.insert(prompt, asker);
    }

    /// Gives the running turn's part.
    pub(crate) fn turns(&mut self) -> &mut Turns {
        &mut self.turns
    }

    /// Waits for what comes from neither a client nor a report: the end of the turn's task, or a timer.
    pub(crate) async fn wake(&mut self) -> Input {
        tokio::select! {
            biased;
            (turn, why) = self.turns.lost() => Input::TurnLost(turn, why),
            timer = next_timer(&mut self.timers) => Input::Timer(timer),
        }
    }

    fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        let at = stdx::clock::unix_millis();
        let stored = self.log.as_mut().ok_or_else(lost)?.append(record, at)?;
        let envelope = projection::event(stored.n, at, record);
        // The log numbers without holes, so the next event always fits.
        let _ = self.view.apply(&envelope);
        let (phase, credentials) = (self.view.phase, self.view.session.credentials);
        let submitted = match record {
            Record::Turn(TurnRecord::Submitted { turn, text, .. }) => Some((turn.0, text)),
            _ => None,
        };
        self.status.send_modify(|status| {
            status.changed_at = at;
            status.phase = phase;
            status.credentials = credentials;
            if let Some((turn, text)) = submitted {
                status.turns = status.turns.max(turn);
                if status.title.is_empty() {
                    status.title = title(text);
                }
            }
        });
        self.feed.publish(envelope);
        Ok(())
    }
}

/// Waits for the first timer that fires; for ever when none is armed.
async fn next_timer(timers: &mut HashMap<Timer, Instant>) -> Timer {
    let first = timers
        .iter()
        .min_by_key(|(_, at)| **at)
        .map(|(timer, at)| (*timer, *at));
    let Some((timer, at)) = first else {
        return std::future::pending().await;
    };
    tokio::time::sleep_until(at).await;
    timers.remove(&timer);
    timer
}

/// The log was lost by a sync that panicked.
fn lost() -> StoreError {
    StoreError::SyncLost(std::path::PathBuf::from("log.jsonl"))
}

impl Turns {
    /// Makes the turn runner of a session.
    pub(crate) fn new(
        parts: SessionParts,
        posture: &Posture,
        reports: mpsc::Sender<FromTurn>,
        scope: Scope,
        busy: Gauge,
    ) -> Self {
        let policy = watch::channel(Arc::new(parts.policy(posture))).0;
        Self {
            parts,
            policy,
            spare: None,
            reports,
            scope,
            busy,
            running: None,
            questions: HashMap::new(),
        }
    }

    fn start(&mut self, plan: TurnPlan) {
        let scope = self.scope.child("turn");
        let port = Port {
            turn: plan.turn,
            session: self.reports.clone(),
            policy: self.policy.subscribe(),
        };
        let turn = plan.turn;
        let (run, busy) = (self.parts.run(plan, Arc::new(port), &scope), self.busy.begin());
        let task = scope.spawn(async move {
            run.await;
            drop(busy);
        });
        self.running = Some(RunningTask {
            turn,
            scope,
            task,
            abort_at: None,
        });
    }

    fn cancel(&mut self, turn: TurnId) {
        if let Some(running) = self.running.as_mut().filter(|running| running.turn == turn) {
            running.scope.cancel();
            running
                .abort_at
                .get_or_insert_with(|| Instant::now() + STOP_GRACE);
        }
    }

    fn answer(&mut self, prompt: PromptId, verdict: Verdict) {
        if let Some(Asker::Approval(reply)) = self.questions.remove(&prompt) {
            // The asker is gone when its turn was aborted; there is nobody to tell.
            let _ = reply.send(verdict);
        }
    }

    fn respond(&mut self, prompt: PromptId, response: Option<Response>) {
        if let Some(Asker::Inquiry(reply)) = self.questions.remove(&prompt) {
            // As above.
            drop(reply.send(response));
        }
    }

    /// Keeps what asks models with other credentials until it is used.
    pub(crate) fn keep_provider(&mut self, credentials: Credentials, provider: Arc<dyn Provider>) {
        self.spare = Some((credentials, provider));
    }

    fn use_credentials(&mut self, credentials: Credentials) {
        if let Some((_, provider)) = self.spare.take_if(|(spare, _)| *spare == credentials) {
            self.parts.turn.provider = provider;
        }
    }

    fn set_policy(&mut self, posture: &Posture) {
        self.policy.send_replace(Arc::new(self.parts.policy(posture)));
    }

    /// Waits until the running turn's task is gone, aborting it when its grace is over. Gives the turn and why.
    pub(crate) async fn lost(&mut self) -> (TurnId, String) {
        let Some(running) = self.running.as_mut() else {
            return std::future::pending().await;
        };
        let turn = running.turn;
        let grace = async {
            match running.abort_at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let why = tokio::select! {
            biased;
            ended = &mut running.task => match ended {
                Ok(()) => "its task ended without a result".to_owned(),
                Err(error) if error.is_panic() => "its task panicked".to_owned(),
                Err(_) => "its task was aborted".to_owned(),
            },
            () = grace => {
                running.task.abort();
                "it did not stop in time".to_owned()
            }
        };
        self.running = None;
        self.questions.clear();
        (turn, why)
    }

    /// Waits for everything that belongs to the session.
    pub(crate) async fn close(&mut self) {
        if let Some(running) = self.running.take() {
            running.scope.close(STOP_GRACE).await;
        }
        self.parts.close().await;
    }
}
