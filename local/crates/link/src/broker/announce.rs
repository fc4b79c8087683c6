//! Is told which requests the host has, for as long as the link is there.

use std::{convert::Infallible, sync::Arc, time::Duration};

use client::{Agent, BrokerEvents};
use protocol::{BrokerId, ErrorCode, broker::BrokerEvent};
use stdx::task::blocking;
use tokio::sync::{mpsc, watch};

use super::{identity::Seat, machine::Input};
use crate::state::LinkState;

/// The wait before the announcements are opened again after they ended on a link that seems fine.
const AGAIN: Duration = Duration::from_millis(250);
/// The same after the agent refused to tell.
const LATER: Duration = Duration::from_secs(5);
/// How often is looked whether another broker of this machine has died.
const LOOK: Duration = Duration::from_secs(2);

/// How the announcements ended.
enum Ended {
    /// They broke off, or could not be opened.
    Broken,
    /// The agent does not want to tell now.
    Refused,
    /// The agent has no such thing.
    Unknown,
    /// Nobody takes them any more.
    Over,
}

/// Who asks to be told, and who is told here.
pub(crate) struct Announcements {
    pub(crate) agent: Agent,
    pub(crate) id: BrokerId,
    /// `None` where it could not be taken, or is not wanted.
    pub(crate) seat: Option<Arc<Seat>>,
    pub(crate) states: watch::Receiver<LinkState>,
    /// Bounded; who finds it full waits, and with it the agent.
    pub(crate) inputs: mpsc::Sender<Input>,
}

impl Announcements {
    /// Passes on what is announced until the link is closed.
    pub(crate) async fn follow(mut self) {
        loop {
            if self.states.wait_for(LinkState::is_live).await.is_err() {
                return;
            }
            match self.once().await {
                Ended::Over => return,
                Ended::Broken => tokio::time::sleep(AGAIN).await,
                Ended::Refused => tokio::time::sleep(LATER).await,
                Ended::Unknown => {
                    if self.inputs.send(Input::Unknown).await.is_err() || !self.another_agent().await {
                        return;
                    }
                }
            }
        }
    }

    /// Waits until the link comes up anew, perhaps to a newer agent. Says whether it may.
    async fn another_agent(&mut self) -> bool {
        self.states.wait_for(|state| !state.is_live()).await.is_ok()
    }

    /// Lists the brokers of this machine that are dead.
    async fn dead(&self) -> Vec<BrokerId> {
        match &self.seat {
            Some(seat) => {
                let seat = Arc::clone(seat);
                let now = stdx::clock::unix_millis();
                blocking(move || seat.dead(now)).await
            }
            None => Vec::new(),
        }
    }

    /// Names those that die while this one lives, so that nobody waits for what they had claimed.
    async fn name_further_dead(&self, mut named: Vec<BrokerId>) -> Infallible {
        loop {
            tokio::time::sleep(LOOK).await;
            let dead = self.dead().await;
            if dead.iter().all(|id| named.contains(id)) {
                continue;
            }
            // Opened beside the one that is open, only for what it names.
            match self.agent.broker_events(self.id, &dead).await {
                Ok(_) => named = dead,
                Err(error) => tracing::debug!(%error, "a dead broker could not be named"),
            }
        }
    }

    async fn once(&self) -> Ended {
        let dead = self.dead().await;
        let events = match self.agent.broker_events(self.id, &dead).await {
            Ok(events) => events,
            Err(client::Error::Agent(body)) if body.code == ErrorCode::NotFound => return Ended::Unknown,
            Err(client::Error::Connection { .. } | client::Error::Stalled { .. }) => return Ended::Broken,
            Err(error) => {
                tracing::warn!(%error, "requests to the model cannot be made from here now");
                return Ended::Refused;
            }
        };
        if self.inputs.send(Input::Opened).await.is_err() {
            return Ended::Over;
        }
        tokio::select! {
            biased;
            ended = self.pass_on(events) => ended,
            never = self.name_further_dead(dead) => match never {},
        }
    }

    async fn pass_on(&self, mut events: BrokerEvents) -> Ended {
        loop {
            let input = match events.next().await {
                Ok(Some(BrokerEvent::Offered { request })) => Input::Offered(request),
                Ok(Some(BrokerEvent::Withdrawn { request })) => Input::Withdrawn(request),
                Ok(Some(BrokerEvent::Unknown)) => continue,
                Ok(None) => break,
                Err(error) => {
                    tracing::debug!(%error, "the announcements broke off");
                    break;
                }
            };
            if self.inputs.send(input).await.is_err() {
                return Ended::Over;
            }
        }
        match self.inputs.send(Input::Closed).await {
            Ok(()) => Ended::Broken,
            Err(_) => Ended::Over,
        }
    }
}
