//! The task that does what the machine says.

use std::{collections::HashMap, sync::Arc, time::Duration};

use client::Agent;
use protocol::{
    BrokerId, ErrorCode,
    broker::{AnswerEnd, AnswerError, AnswerErrorKind, AnswerFrame, AnswerReceipt},
};
use stdx::task::{Scope, blocking};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{
    BrokerOptions, BrokerState, Refusal, RefusalKind,
    announce::Announcements,
    identity::Seat,
    machine::{Effect, Failed, Input, Machine},
    spool::Spool,
    vendor,
};
use crate::state::LinkState;

/// How many inputs may wait. Who finds it full waits.
const INPUTS: usize = 64;

/// How many bytes one delivery carries; at its end the host confirms them, and they are forgotten here.
const DELIVERY: u64 = 1024 * 1024;

/// Serves requests of one host.
pub(crate) struct Service {
    agent: Agent,
    id: BrokerId,
    scope: Scope,
    machine: Machine,
    calls: HashMap<u64, Running>,
    vendors: Arc<vendor_http::Client>,
    published: watch::Sender<BrokerState>,
    inputs: mpsc::Sender<Input>,
}

/// What runs for one request.
struct Running {
    spool: Arc<Spool>,
    /// The vendor's side.
    asking: Scope,
    delivery: CancellationToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.asking.cancel();
        self.delivery.cancel();
    }
}

impl Service {
    /// Starts to serve. The tasks belong to `scope` and outlive drops of the link; they end when the link is closed.
    pub(crate) fn start(
        options: BrokerOptions,
        agent: Agent,
        states: watch::Receiver<LinkState>,
        scope: &Scope,
    ) -> watch::Receiver<BrokerState> {
        let scope = scope.child("broker");
        let registry = options.registry.clone();
        let machine = Machine::new(options);
        let (published, shown) = watch::channel(machine.state());
        let (inputs, happened) = mpsc::channel(INPUTS);
        let service = Self {
            agent,
            id: BrokerId::fresh(),
            scope: scope.clone(),
            machine,
            calls: HashMap::new(),
            vendors: Arc::new(vendor_http::Client::new(vendor_http::Options::default())),
            published,
            inputs,
        };
        // Owned by the scope.
        drop(scope.spawn(service.run(registry, states, happened)));
        shown
    }

    async fn run(
        mut self,
        registry: Option<std::path::PathBuf>,
        states: watch::Receiver<LinkState>,
        mut happened: mpsc::Receiver<Input>,
    ) {
        let id = self.id;
        let seat = match registry {
            Some(folder) => blocking(move || Seat::take(&folder, id))
                .await
                .inspect_err(|error| tracing::warn!(%error, "no lock says that this broker lives"))
                .ok(),
            None => None,
        };
        let announcements = Announcements {
            agent: self.agent.clone(),
            id,
            seat: seat.map(Arc::new),
            states,
            inputs: self.inputs.clone(),
        };
        let token = self.scope.token().clone();
        let told = announcements.follow();
        tokio::pin!(told);
        loop {
            let input = tokio::select! {
                biased;
                () = token.cancelled() => break,
                Some(input) = happened.recv() => input,
                () = &mut told => break,
            };
            for effect in self.machine.step(input) {
                self.perform(effect);
            }
            let state = self.machine.state();
            self.published.send_if_modified(|shown| {
                let differs = *shown != state;
                *shown = state;
                differs
            });
        }
        // What still runs is of use to nobody.
        self.scope.cancel();
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Fetch { number, after } => self.fetch(number, after),
            Effect::Ask { request, endpoint } => {
                let running = self.running();
                let (spool, asking) = (Arc::clone(&running.spool), running.asking.clone());
                let vendors = Arc::clone(&self.vendors);
                self.calls.insert(request.request, running);
                let token = asking.token().clone();
                // Owned by its scope; it ends with the request.
                drop(asking.spawn(async move {
                    tokio::select! {
                        biased;
                        () = token.cancelled() => {}
                        () = vendor::ask(&vendors, &request, &endpoint.0, &spool) => {}
                    }
                }));
            }
            Effect::Refuse { number, refusal } => {
                tracing::info!(number, %refusal, "a request of the host is refused");
                let running = self.running();
                running.spool.complete(&refused(refusal).encode());
                self.calls.insert(number, running);
            }
            Effect::Confirm { number, to } => {
                if let Some(running) = self.calls.get(&number) {
                    running.spool.confirm(to);
                }
            }
            Effect::Deliver { number, round, from } => self.deliver(number, round, from),
            Effect::Drop(number) => drop(self.calls.remove(&number)),
        }
    }

    fn running(&self) -> Running {
        Running {
            spool: Arc::default(),
            asking: self.scope.child("request to a vendor"),
            delivery: CancellationToken::new(),
        }
    }

    fn fetch(&self, number: u64, after: Duration) {
        let (agent, id) = (self.agent.clone(), self.id);
        self.report(self.scope.token().clone(), async move {
            tokio::time::sleep(after).await;
            let result = agent.broker_request(id, number).await;
            let result = result.map(Box::new).map_err(|error| failed(number, &error));
            Input::Fetched {
                number,
                now_millis: stdx::clock::unix_millis(),
                result,
            }
        });
    }

    fn deliver(&mut self, number: u64, round: u64, from: u64) {
        let Some(running) = self.calls.get_mut(&number) else {
            return;
        };
        running.delivery.cancel();
        running.delivery = CancellationToken::new();
        let token = running.delivery.clone();
        let (agent, id, spool) = (self.agent.clone(), self.id, Arc::clone(&running.spool));
        self.report(token, async move {
            let result = delivered(&agent, id, number, from, &spool).await;
            let result = result
                .map(|receipt| (receipt.received, receipt.complete))
                .map_err(|error| failed(number, &error));
            Input::Delivered {
                number,
                round,
                result,
            }
        });
    }

    /// Runs a call to the agent until it is not wanted any more, and takes in what came of it.
    fn report(&self, unwanted: CancellationToken, call: impl Future<Output = Input> + Send + 'static) {
        let (inputs, token) = (self.inputs.clone(), self.scope.token().clone());
        // Owned by the scope.
        drop(self.scope.spawn(async move {
            tokio::select! {
                biased;
                () = token.cancelled() => {}
                () = unwanted.cancelled() => {}
                // Nobody takes it in: the service has ended.
                input = call => drop(inputs.send(input).await),
            }
        }));
    }
}

/// Delivers what is there and what comes, up to the size of one delivery.
async fn delivered(
    agent: &Agent,
    id: BrokerId,
    number: u64,
    from: u64,
    spool: &Spool,
) -> Result<AnswerReceipt, client::Error> {
    let mut delivery = agent.broker_answer(id, number, from).await?;
    let unread = delivery.unread();
    let mut at = from;
    while at < from + DELIVERY {
        let bytes = tokio::select! {
            biased;
            // The agent has answered already, and says why.
            () = unread.cancelled() => break,
            bytes = spool.read(at) => bytes,
        };
        let Some(bytes) = bytes else { break };
        at += bytes.len() as u64;
        if delivery.send(bytes).await.is_err() {
            break;
        }
    }
    delivery.finish().await
}

fn failed(number: u64, error: &client::Error) -> Failed {
    tracing::debug!(number, %error, "a call about a request of the host failed");
    match error {
        client::Error::Agent(body) if body.code == ErrorCode::NotFound => Failed::Gone,
        client::Error::Agent(body) if body.code == ErrorCode::Conflict => Failed::Conflict,
        _ => Failed::Lost,
    }
}

fn refused(refusal: Refusal) -> AnswerFrame {
    let kind = match refusal.kind {
        RefusalKind::NotAllowed => AnswerErrorKind::NotAllowed,
        RefusalKind::NoKey => AnswerErrorKind::Refused,
        RefusalKind::Budget => AnswerErrorKind::Budget,
        RefusalKind::Expired => AnswerErrorKind::Expired,
    };
    AnswerFrame::End(AnswerEnd {
        error: Some(AnswerError {
            kind,
            message: refusal.message,
            hint: Some(refusal.hint),
        }),
    })
}
