//! The session as the running turn sees it.

use std::sync::Arc;

use agent_loop::{Approval, Inquiry, PortFuture, SessionGone, SessionPort, TurnEvent, Verdict};
use conversation::{Response, TurnId};
use permission::Policy;
use tokio::sync::{mpsc, oneshot, watch};

/// A message of the running turn to its session.
#[derive(Debug)]
pub(crate) struct FromTurn {
    /// The turn.
    pub(crate) turn: TurnId,
    /// What it says.
    pub(crate) what: What,
}

/// What a turn says.
#[derive(Debug)]
pub(crate) enum What {
    /// A report.
    Event(TurnEvent),
    /// A report that waits until it is on disk.
    Commit(TurnEvent, oneshot::Sender<()>),
    /// A request for a person's approval.
    Ask(Approval, oneshot::Sender<Verdict>),
    /// Questions of the model to a person.
    Inquire(Inquiry, oneshot::Sender<Option<Response>>),
}

/// The turn's end of the channel to its session.
#[derive(Debug, Clone)]
pub(crate) struct Port {
    /// The turn.
    pub(crate) turn: TurnId,
    /// Bounded at 128; a turn that is faster than its session waits.
    pub(crate) session: mpsc::Sender<FromTurn>,
    /// The policy in force.
    pub(crate) policy: watch::Receiver<Arc<Policy>>,
}

impl Port {
    async fn send(&self, what: What) -> Result<(), SessionGone> {
        self.session
            .send(FromTurn {
                turn: self.turn,
                what,
            })
            .await
            .map_err(|_| SessionGone)
    }
}

impl SessionPort for Port {
    fn report(&self, event: TurnEvent) -> PortFuture<'_, Result<(), SessionGone>> {
        Box::pin(self.send(What::Event(event)))
    }

    fn commit(&self, event: TurnEvent) -> PortFuture<'_, Result<(), SessionGone>> {
        Box::pin(async move {
            let (done, on_disk) = oneshot::channel();
            self.send(What::Commit(event, done)).await?;
            on_disk.await.map_err(|_| SessionGone)
        })
    }

    fn inquire(&self, inquiry: Inquiry) -> PortFuture<'_, Result<Option<Response>, SessionGone>> {
        Box::pin(async move {
            let (reply, response) = oneshot::channel();
            self.send(What::Inquire(inquiry, reply)).await?;
            response.await.map_err(|_| SessionGone)
        })
    }

    fn ask(&self, approval: Approval) -> PortFuture<'_, Result<Verdict, SessionGone>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            self.send(What::Ask(approval, reply)).await?;
            answer.await.map_err(|_| SessionGone)
        })
    }

    fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.borrow())
    }
}
