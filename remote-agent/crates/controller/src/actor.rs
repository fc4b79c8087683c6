//! The only loop of a session: receive, step, run effects.

use protocol::{ErrorBody, ErrorCode};
use session_store::StoreError;
use stdx::task::Scope;
use tokio::sync::{mpsc, watch};

use crate::{
    effects::{Asker, Executor},
    handle::Request,
    life::{self, Life},
    port::{FromTurn, What},
    session::{Input, Session},
};

/// A session's task.
#[derive(Debug)]
pub(crate) struct Actor {
    /// The machine.
    pub(crate) session: Session,
    /// What performs its effects.
    pub(crate) executor: Executor,
    /// Requests of clients.
    pub(crate) mailbox: mpsc::Receiver<Request>,
    /// Reports of the running turn.
    pub(crate) reports: mpsc::Receiver<FromTurn>,
    /// Set when nothing will follow.
    pub(crate) ended: watch::Sender<bool>,
    /// Whether the daemon drains.
    pub(crate) life: watch::Receiver<Life>,
}

impl Actor {
    /// Runs until the scope is cancelled, the log cannot be written, or the daemon drains and nothing runs here. A
    /// closed session still answers with its state.
    pub(crate) async fn run(mut self, scope: Scope) {
        if let Err(error) = self.serve(&scope).await {
            let error = crate::open::chain(&error);
            tracing::error!(error, "the session ends: its log could not be written");
        }
        // Nobody hears the turn's last reports: it must not wait for their receipts until its grace is over.
        self.reports.close();
        while self.reports.recv().await.is_some() {}
        self.executor.turns().close().await;
        self.ended.send_replace(true);
    }

    async fn serve(&mut self, scope: &Scope) -> Result<(), StoreError> {
        self.step(Input::Opened).await?;
        loop {
            if self.session.is_over() {
                // Its state can still be asked for.
                self.ended.send_replace(true);
            }
            // Reports come before the end of the turn's task, so that a turn that ended well is not taken for lost.
            tokio::select! {
                biased;
                () = scope.token().cancelled() => return self.stop().await,
                Some(report) = self.reports.recv() => self.on_report(report).await?,
                Some(request) = self.mailbox.recv() => self.on_request(request).await?,
                wake = self.executor.wake() => self.step(wake).await?,
                // Last, so that what was asked before is still done here.
                () = life::leaving(&mut self.life), if self.session.is_at_rest() => return self.stop().await,
            }
        }
    }

    async fn on_request(&mut self, request: Request) -> Result<(), StoreError> {
        match request {
            Request::Command { request, body, reply } => {
                let effects = self.session.step(Input::Command {
                    id: request.id,
                    body,
                    command: request.command,
                });
                let (outcome, failed) = match self.executor.run(effects).await {
                    Ok(done) => (done.reply.unwrap_or_else(|| Err(unanswered())), None),
                    Err(error) => (Err(log_failed(&error)), Some(error)),
                };
                // A client that went away sends the command again and gets the same receipt.
                drop(reply.send(outcome));
                failed.map_or(Ok(()), Err)
            }
            Request::Credentials(credentials, provider, reply) => {
                if let Some(provider) = provider {
                    self.executor.turns().keep_provider(credentials, provider);
                }
                self.step(Input::Credentials(credentials)).await?;
                // A client that went away need not hear it.
                let _ = reply.send(());
                Ok(())
            }
            Request::Snapshot(reply) => {
                // A client that went away needs no snapshot.
                drop(reply.send(self.executor.snapshot()));
                Ok(())
            }
        }
    }

    async fn on_report(&mut self, report: FromTurn) -> Result<(), StoreError> {
        match report.what {
            What::Event(event) => self.step(Input::Turn(report.turn, event)).await,
            What::Commit(event, on_disk) => {
                self.step(Input::Turn(report.turn, event)).await?;
                self.executor.sync().await?;
                // A turn that was aborted does not wait any more.
                let _ = on_disk.send(());
                Ok(())
            }
            What::Ask(approval, reply) => {
                let asker = Asker::Approval(reply);
                self.executor.expect_answer(self.session.next_prompt(), asker);
                self.step(Input::Ask(report.turn, approval)).await
            }
            What::Inquire(inquiry, reply) => {
                let asker = Asker::Inquiry(reply);
                self.executor.expect_answer(self.session.next_prompt(), asker);
                self.step(Input::Inquiry(report.turn, inquiry)).await
            }
        }
    }

    async fn step(&mut self, input: Input) -> Result<(), StoreError> {
        let effects = self.session.step(input);
        self.executor.run(effects).await.map(|_| ())
    }

    /// Stops for a shutdown of the daemon: the running turn is told to stop and recorded as interrupted.
    async fn stop(&mut self) -> Result<(), StoreError> {
        self.step(Input::ShutDown).await?;
        self.executor.sync().await
    }
}

fn unanswered() -> ErrorBody {
    ErrorBody::new(ErrorCode::Internal, "the session did not answer the command")
}

fn log_failed(error: &StoreError) -> ErrorBody {
    ErrorBody::new(
        ErrorCode::Internal,
        format!("could not write the session's log: {error}"),
    )
    .hint("free some space on the agent's machine, then send the command again")
}
