//! The client: gives work, answers what is asked, and notes what it is told. It may be told to forget everything.

use std::{
    collections::{BTreeSet, VecDeque},
    future::pending,
    time::Duration,
};

use client::{SessionView, Update};
use link::{AgentLink, LinkOptions, Timings};
use protocol::{
    Answer, Command, CommandId, CommandRequest, Frame, OpenSession, Phase, PromptCommand, PromptId, Receipt,
    SessionId, Snapshot, TurnCommand,
};
use stdx::task::Scope;
use tokio::sync::watch;
use transport::testing::Choices;

use super::heard::Heard;
use crate::{
    rig::Rig,
    screen_faults::{
        laptop,
        person::{replies, request},
    },
};

/// How soon something is tried again that failed.
const AGAIN: Duration = Duration::from_millis(20);
/// What waits for so long while nothing runs is held back.
const HELD: Duration = Duration::from_millis(700);
/// How many requests are on their way or at work at once.
const AHEAD: usize = 2;

/// What the client is told to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Orders {
    /// How often it has to begin anew in all.
    pub(super) restarts: u32,
    /// Whether it gives more work.
    pub(super) goes_on: bool,
}

/// What others see of the client.
#[derive(Debug, Clone, Default)]
pub(super) struct Shown {
    /// The link of the present client.
    pub(super) link: Option<AgentLink>,
    /// The last event that it knows.
    pub(super) at: u64,
    /// How often it began anew.
    pub(super) restarts: u32,
}

/// What is known of the session at a moment.
#[derive(Debug, Default)]
struct Facts {
    at: u64,
    phase: Phase,
    queued: usize,
    prompts: Vec<PromptId>,
}

impl Facts {
    fn of(snapshot: &Snapshot) -> Self {
        Self {
            at: snapshot.at,
            phase: snapshot.phase,
            queued: snapshot.queue.len(),
            prompts: snapshot.prompts.iter().map(|prompt| prompt.id).collect(),
        }
    }
}

/// A client that is connected, or on its way.
struct Present {
    scope: Scope,
    link: AgentLink,
    view: Option<SessionView>,
}

pub(super) struct Client<'a> {
    pub(super) rig: &'a Rig,
    pub(super) session: SessionId,
    pub(super) choices: Choices,
    pub(super) shown: watch::Sender<Shown>,
    pub(super) heard: Heard,
    pub(super) typed: usize,
    pub(super) approvals: usize,
    /// What must not have been said.
    pub(super) problems: Vec<String>,
    outbox: VecDeque<CommandRequest>,
    answered: BTreeSet<PromptId>,
    /// The event that the last receipt named.
    caused: u64,
    facts: Facts,
    restarts: u32,
    present: Option<Present>,
}

/// Why the client stopped.
enum Stopped {
    Restart,
    Done,
}

impl<'a> Client<'a> {
    pub(super) fn new(rig: &'a Rig, session: SessionId, choices: Choices) -> Self {
        Self {
            rig,
            session,
            choices,
            shown: watch::Sender::default(),
            heard: Heard::default(),
            typed: 0,
            approvals: 0,
            problems: Vec::new(),
            outbox: VecDeque::new(),
            answered: BTreeSet::new(),
            caused: 0,
            facts: Facts::default(),
            restarts: 0,
            present: None,
        }
    }

    /// Gives work until told to stop, and then until everything is done.
    pub(super) async fn work(&mut self, mut orders: watch::Receiver<Orders>) {
        loop {
            match self.live(&mut orders).await {
                Stopped::Done => return,
                Stopped::Restart => self.forget().await,
            }
        }
    }

    /// Hangs up.
    pub(super) async fn leave(&mut self) {
        self.forget().await;
    }

    /// Gives the state that the client has in the end.
    pub(super) fn snapshot(&self) -> Option<&Snapshot> {
        self.present.as_ref()?.view.as_ref().map(SessionView::snapshot)
    }

    /// Says what the client waits for, and what the agent says of it.
    pub(super) async fn stuck(&self) -> String {
        let Self {
            facts,
            outbox,
            caused,
            ..
        } = self;
        let mut words = format!("the client knows {facts:?}, {caused} was caused, to be sent: {outbox:?}");
        if let Some(present) = &self.present {
            let session = present.link.agent().session(self.session);
            let fresh = tokio::time::timeout(Duration::from_secs(5), session.snapshot()).await;
            let fresh = fresh.map(|fresh| fresh.map(|fresh| Facts::of(&fresh)));
            let state = present.link.states().borrow().to_string();
            words += &format!("; the link is {state}; the agent says {fresh:?}");
        }
        words
    }

    async fn forget(&mut self) {
        self.shown.send_modify(|shown| shown.link = None);
        if let Some(present) = self.present.take() {
            drop((present.view, present.link));
            present.scope.close(Duration::from_secs(2)).await;
        }
    }

    fn open(&mut self) -> Present {
        let scope = Scope::root("client");
        let link = laptop::link(options(self.rig), &scope);
        let restarts = self.restarts;
        self.shown.send_modify(|shown| {
            shown.link = Some(link.clone());
            shown.restarts = restarts;
        });
        Present {
            scope,
            link,
            view: None,
        }
    }

    async fn live(&mut self, orders: &mut watch::Receiver<Orders>) -> Stopped {
        let mut present = match self.present.take() {
            Some(present) => present,
            None => self.open(),
        };
        let restarts = self.restarts;
        let stopped = tokio::select! {
            biased;
            stopped = self.follow(&mut present, orders.clone()) => stopped,
            changed = orders.wait_for(|orders| orders.restarts > restarts) => {
                changed.unwrap();
                self.restarts += 1;
                Stopped::Restart
            }
        };
        self.present = Some(present);
        stopped
    }

    async fn follow(&mut self, present: &mut Present, mut orders: watch::Receiver<Orders>) -> Stopped {
        if present.view.is_none() {
            present.view = Some(self.enter(&present.link).await);
        }
        let view = present.view.as_mut().unwrap();
        let session = view.client().clone();
        let mut delivery = None;
        loop {
            let update = {
                let next = async {
                    match view.next().await {
                        Err(error) if error.is_retryable() => {
                            tokio::time::sleep(AGAIN).await;
                            None
                        }
                        Err(error) => {
                            tokio::time::sleep(AGAIN).await;
                            Some(Err(error))
                        }
                        Ok(update) => Some(Ok(update)),
                    }
                };
                tokio::pin!(next);
                loop {
                    self.decide(orders.borrow_and_update().goes_on);
                    if delivery.is_none()
                        && let Some(request) = self.outbox.front().cloned()
                    {
                        let session = session.clone();
                        delivery = Some(Box::pin(async move {
                            let result = session.command(&request).await;
                            if result.is_err() {
                                tokio::time::sleep(AGAIN).await;
                            }
                            result
                        }));
                    }
                    if delivery.is_none() && !orders.borrow().goes_on && self.is_done() {
                        return Stopped::Done;
                    }
                    tokio::select! {
                        biased;
                        result = job(&mut delivery) => {
                            delivery = None;
                            self.delivered(result);
                        }
                        _ = orders.changed() => {}
                    () = rest(self.seems_held()) => self.say_more(),
                        update = &mut next => break update,
                    }
                }
            };
            if matches!(update, Some(Ok(Update::Refreshed))) {
                self.heard.state(view.snapshot().at);
            }
            self.updated(update);
            self.facts = Facts::of(view.snapshot());
            let at = self.facts.at;
            self.shown.send_modify(|shown| shown.at = at);
        }
    }

    /// Enters the session, from its first event on or with the state that it has.
    async fn enter(&mut self, link: &AgentLink) -> SessionView {
        let request = OpenSession {
            session: self.session,
            workspace: Some(self.rig.work().display().to_string()),
            model: None,
            preset: None,
            credentials: None,
        };
        while let Err(error) = link.open_session(&request).await {
            self.complain(&error);
            tokio::time::sleep(AGAIN).await;
        }
        let session = link.agent().session(self.session);
        let view = if self.choices.below(2) == 0 {
            SessionView::from_snapshot(session, Snapshot::empty(self.session))
        } else {
            loop {
                match SessionView::open(session.clone()).await {
                    Ok(view) => break view,
                    Err(error) => self.complain(&error),
                }
                tokio::time::sleep(AGAIN).await;
            }
        };
        self.heard.begin(view.snapshot().at);
        self.facts = Facts::of(view.snapshot());
        view
    }

    fn updated(&mut self, update: Option<Result<Update, client::Error>>) {
        match update {
            None | Some(Ok(Update::Frame(Frame::Delta(_) | Frame::Unknown | Frame::Snapshot(_)))) => {}
            Some(Ok(Update::Frame(Frame::Event(event)))) => self.heard.event(&event),
            Some(Ok(Update::Refreshed)) => {}
            Some(Ok(Update::Closed)) => self.problems.push("the session was closed".to_owned()),
            Some(Err(error)) => self.complain(&error),
        }
    }

    fn delivered(&mut self, result: Result<Receipt, client::Error>) {
        let is_answer = matches!(
            self.outbox.front().map(|request| &request.command),
            Some(Command::Prompt(_))
        );
        match result {
            Ok(receipt) => {
                self.caused = self.caused.max(receipt.at);
                self.approvals += usize::from(is_answer);
                self.outbox.pop_front();
            }
            Err(error) if error.is_retryable() => {}
            // The question is gone with its agent.
            Err(client::Error::Agent(_)) if is_answer => drop(self.outbox.pop_front()),
            Err(error) => {
                self.complain(&error);
                self.outbox.pop_front();
            }
        }
    }

    /// Notes an error that a broken network does not explain.
    fn complain(&mut self, error: &client::Error) {
        if !error.is_retryable() {
            self.problems.push(format!("{error:?}"));
        }
    }

    /// Puts into the outbox what a person would do now.
    fn decide(&mut self, goes_on: bool) {
        for prompt in std::mem::take(&mut self.facts.prompts) {
            if self.answered.insert(prompt) {
                let answer = Answer::AllowOnce;
                self.post(Command::Prompt(PromptCommand::Answer { prompt, answer }), true);
            }
        }
        let is_known = self.outbox.is_empty() && self.facts.at >= self.caused;
        let works = usize::from(self.facts.phase != Phase::Idle) + self.facts.queued;
        if is_known && (goes_on && works < AHEAD || self.typed == 0) {
            self.say_more();
        }
    }

    /// Says whether requests wait and nothing runs: between two turns for a moment, and after the death of an agent until
    /// somebody says more.
    fn seems_held(&self) -> bool {
        self.outbox.is_empty() && self.facts.phase == Phase::Idle && self.facts.queued > 0
    }

    fn say_more(&mut self) {
        let k = self.typed;
        self.typed += 1;
        for reply in replies(k) {
            self.rig.model.push(reply);
        }
        let submit = TurnCommand::Submit {
            text: request(k),
            max_steps: 0,
        };
        self.post(Command::Turn(submit), false);
    }

    fn post(&mut self, command: Command, is_urgent: bool) {
        let id = CommandId::fresh();
        let request = CommandRequest { id, command };
        // Never before the one that is on its way.
        let at = self.outbox.len().min(1);
        self.outbox
            .insert(if is_urgent { at } else { self.outbox.len() }, request);
    }

    fn is_done(&self) -> bool {
        let is_idle = self.facts.phase == Phase::Idle && self.facts.queued == 0;
        is_idle && self.outbox.is_empty() && self.facts.at >= self.caused
    }
}

/// Gives the options of a link that notices soon what a person would wait for.
fn options(rig: &Rig) -> LinkOptions {
    let mut options = laptop::options(rig, "soak");
    options.timings = Timings {
        ping_interval: Duration::from_millis(250),
        dead_after: Duration::from_millis(1000),
        stalled_after: Duration::from_millis(2000),
        attach: Duration::from_secs(3),
        wake_grace: Duration::from_millis(750),
    };
    let deadlines = &mut options.ssh.deadlines;
    deadlines.connect = Duration::from_secs(3);
    deadlines.handshake = Duration::from_secs(4);
    deadlines.login_step = Duration::from_secs(3);
    deadlines.channel = Duration::from_secs(3);
    options
}

/// Waits longer than an agent takes between two turns, if there is anything to wait for.
async fn rest(wanted: bool) {
    if !wanted {
        pending::<()>().await;
    }
    tokio::time::sleep(HELD).await;
}

async fn job<T>(job: &mut Option<std::pin::Pin<Box<impl Future<Output = T>>>>) -> T {
    match job {
        Some(job) => job.await,
        None => pending().await,
    }
}
