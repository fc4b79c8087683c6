//! A session without a screen: submit, follow, answer questions, end with an exit code.

mod inquiry;
mod output;
mod patience;
mod questions;
mod signals;
mod summary;

use std::time::Duration;

use client::{SessionView, Update};
use link::AgentLink;
use protocol::{
    Command, CommandId, CommandRequest, OpenSession, Preset, Receipt, SessionCommand, Snapshot, TurnCommand,
    TurnId,
};
use tokio::time::Instant;

pub(crate) use self::signals::{Signal, Signals};
use self::{
    output::Output,
    patience::{SILENT, gave_up, next_update, patiently, stays_away},
    questions::Questions,
};
use crate::{args::OutputFormat, exit::Exit, report::Failure, terminal};

/// What to do with a session.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// How the session is opened or resumed.
    pub(crate) open: OpenSession,
    /// What may be done without asking from now on; `None` leaves it as it is.
    pub(crate) preset: Option<Preset>,
    /// What to ask; `None` follows what goes on.
    pub(crate) task: Option<Task>,
    /// How to print.
    pub(crate) format: OutputFormat,
    /// How long the agent may stay away.
    pub(crate) give_up_after: Duration,
    /// The command that comes back to the session.
    pub(crate) way_back: String,
}

/// A task.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    /// The text as typed.
    pub(crate) text: String,
    /// Pause after this many tool rounds; 0 means no limit.
    pub(crate) max_steps: u32,
}

/// Runs a job to its end.
pub(crate) async fn run(link: &AgentLink, job: Job) -> Result<Exit, Failure> {
    let mut runner = Runner::start(link, job).await?;
    let exit = runner.follow().await;
    if exit.is_err() {
        terminal::error(&format!(
            "the session stays; come back with: {}",
            runner.job.way_back
        ));
    }
    exit
}

struct Runner<'a> {
    link: &'a AgentLink,
    view: SessionView,
    output: Output,
    questions: Questions,
    signals: Signals,
    job: Job,
    /// Events up to this number happened before: they are shown, and their questions may have been answered.
    past: u64,
    /// The turn that is waited for.
    turn: Option<TurnId>,
    /// Whether a person has asked the turn to stop.
    cancelled: bool,
}

/// What ends the following of a session.
#[derive(Clone, Copy)]
enum End {
    Turn(Exit),
    Detached,
}

impl<'a> Runner<'a> {
    async fn start(link: &'a AgentLink, job: Job) -> Result<Self, Failure> {
        let agent = link.agent();
        let mut signals = Signals::new()?;
        let id = job.open.session;
        let new = job.task.is_some() && job.open.workspace.is_some();
        let (opened, found) = patiently(link, &job, &mut signals, || async {
            if new {
                let opened = link.open_session(&job.open).await?;
                return Ok((opened, Snapshot::empty(id)));
            }
            agent.enter(&job.open).await
        })
        .await?;
        terminal::error(&format!(
            "session {id} in {}; come back with: {}",
            opened.workspace, job.way_back
        ));
        let client = agent.session(id);
        // A session that is only looked at is shown from its first event on, one that goes on from where it is.
        let shown = match &job.task {
            Some(_) => found.clone(),
            None => Snapshot::empty(id),
        };
        let mut runner = Self {
            link,
            output: Output::new(job.format, &shown, job.task.is_none()),
            view: SessionView::from_snapshot(client, shown),
            questions: Questions::default(),
            signals,
            job,
            past: found.at,
            turn: None,
            cancelled: false,
        };
        if let Some(preset) = runner.job.preset {
            runner
                .send(Command::Session(SessionCommand::SetPreset { preset }))
                .await?;
        }
        runner.turn = match runner.job.task.clone() {
            Some(task) => {
                let submit = TurnCommand::Submit {
                    text: task.text,
                    max_steps: task.max_steps,
                };
                runner.send(Command::Turn(submit)).await?.turn
            }
            None => found.phase.turn().or_else(|| {
                terminal::error("nothing is running in this session");
                summary::last_turn(&found)
            }),
        };
        Ok(runner)
    }

    async fn follow(&mut self) -> Result<Exit, Failure> {
        if self.turn.is_none() {
            return Ok(Exit::Success);
        }
        let mut away_since: Option<Instant> = None;
        let gone = stays_away(self.link, self.job.give_up_after);
        tokio::pin!(gone);
        loop {
            if let Some(end) = self.turn_over() {
                return Ok(self.finish(end));
            }
            self.ask_next();
            tokio::select! {
                biased;
                signal = self.signals.next() => {
                    if let Some(end) = self.on_signal(signal).await? {
                        return Ok(self.finish(end));
                    }
                }
                update = next_update(&mut self.view, self.link) => match update? {
                    Ok(update) => {
                        away_since = None;
                        self.output.update(&update, self.view.snapshot());
                        if update == Update::Closed {
                            return Ok(Exit::Interrupted);
                        }
                    }
                    Err(error) => {
                        let since = *away_since.get_or_insert_with(Instant::now);
                        if since.elapsed() >= self.job.give_up_after {
                            return Err(gave_up(self.link, &self.job, &Failure::from(error).message));
                        }
                    }
                },
                answer = self.questions.answered() => self.send_answer(answer).await?,
                () = &mut gone => return Err(gave_up(self.link, &self.job, SILENT)),
            }
        }
    }

    /// Asks the next open question: at the terminal, or nowhere, which refuses it.
    fn ask_next(&mut self) {
        let snapshot = self.view.snapshot();
        if snapshot.at >= self.past {
            self.questions.keep(&snapshot.prompts);
        }
    }

    async fn send_answer(&mut self, answer: questions::Answered) -> Result<(), Failure> {
        let sent = self.send(Command::Prompt(answer.command)).await;
        match sent {
            // Somebody else was first; the events say how it was answered.
            Err(failure) if failure.exit == Exit::Usage => Ok(()),
            other => other.map(drop),
        }
    }

    async fn on_signal(&mut self, signal: signals::Signal) -> Result<Option<End>, Failure> {
        match (signal, self.turn) {
            (signals::Signal::Interrupt, Some(turn)) if !self.cancelled => {
                self.cancelled = true;
                terminal::error("stopping the turn; once more to leave it running and go");
                self.send(Command::Turn(TurnCommand::Cancel { turn })).await?;
                Ok(None)
            }
            _ => Ok(Some(End::Detached)),
        }
    }

    fn turn_over(&self) -> Option<End> {
        let (snapshot, turn) = (self.view.snapshot(), self.turn?);
        let over = snapshot.at >= self.past
            && snapshot.phase.turn() != Some(turn)
            && !snapshot.queue.contains(&turn);
        over.then(|| summary::exit_of(snapshot, turn))
            .flatten()
            .map(End::Turn)
    }

    fn finish(&mut self, end: End) -> Exit {
        match end {
            End::Turn(exit) => {
                self.output
                    .finish(self.view.snapshot(), self.turn, exit, self.view.counts());
                exit
            }
            End::Detached => {
                terminal::error(&format!(
                    "left; the turn goes on where the agent keeps running. Come back with: {}",
                    self.job.way_back
                ));
                Exit::Interrupted
            }
        }
    }

    /// Sends a command until it has a receipt; the same id makes repeating it harmless.
    async fn send(&mut self, command: Command) -> Result<Receipt, Failure> {
        let request = CommandRequest {
            id: CommandId::fresh(),
            command,
        };
        let client = self.view.client().clone();
        patiently(self.link, &self.job, &mut self.signals, || {
            client.command(&request)
        })
        .await
    }
}
