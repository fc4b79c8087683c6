//! What becomes of each request of a host (pure).
//!
//! | A request | Input | Then |
//! | --- | --- | --- |
//! | is announced | offered | it is fetched, at most four at a time; others wait |
//! | was fetched for the first time | fetched | it is checked, and the vendor is asked, or it is refused; delivery begins |
//! | is known, after a drop | opened | it is fetched again, which tells how much of its answer is there |
//! | is known | fetched | delivery goes on from there; the vendor is not asked again |
//! | is known, and its attempt is another | fetched | what was held is void: it counts as new |
//! | is being delivered | delivered | more is delivered, or it is over |
//! | is being delivered | the link drops | nothing: the vendor's answer goes on coming in |
//! | any | withdrawn, gone, served elsewhere | whatever runs for it ends |

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use protocol::{SessionId, broker::BrokerRequest};

use super::{BrokerOptions, BrokerState, Endpoint, Refusal, policy::Policy};

/// How many requests are served at a time.
const AT_ONCE: usize = 4;
/// How many wait beyond them; what is announced later is announced again when the link comes back.
const WAITING: usize = 1024;
/// The wait before something that failed on a link that seems fine is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// What can happen.
#[derive(Debug)]
pub(crate) enum Input {
    /// The announcements are open; all that is wanted is announced again.
    Opened,
    /// They are not any more.
    Closed,
    /// The agent knows nothing of brokers.
    Unknown,
    /// This machine shall serve a request.
    Offered(u64),
    /// Nobody wants an answer any more.
    Withdrawn(u64),
    /// A request was fetched, at this wall-clock time, or not.
    Fetched {
        number: u64,
        now_millis: u64,
        result: Result<Box<BrokerRequest>, Failed>,
    },
    /// A delivery ended: so much is there, and whether that is all.
    Delivered {
        number: u64,
        round: u64,
        result: Result<(u64, bool), Failed>,
    },
}

/// Why a call to the agent came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failed {
    /// The link broke, or the agent could not answer now.
    Lost,
    /// Another broker has it, or the offset is not the agent's.
    Conflict,
    /// It is over.
    Gone,
}

/// What is to be done, in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Fetch a request after a while.
    Fetch { number: u64, after: Duration },
    /// Ask the vendor.
    Ask {
        request: Box<BrokerRequest>,
        endpoint: Asked,
    },
    /// Answer with a refusal.
    Refuse { number: u64, refusal: Refusal },
    /// The agent has so much: forget it.
    Confirm { number: u64, to: u64 },
    /// Deliver the answer from an offset on.
    Deliver { number: u64, round: u64, from: u64 },
    /// End whatever runs for a request.
    Drop(u64),
}

/// An endpoint as part of an effect. It does not show what is in it, and two are the same when they lead to the same.
#[derive(Debug, Clone)]
pub(crate) struct Asked(pub(crate) Endpoint);

impl PartialEq for Asked {
    fn eq(&self, other: &Self) -> bool {
        (&self.0.provider, &self.0.url) == (&other.0.provider, &other.0.url)
    }
}

impl Eq for Asked {}

/// What tells one attempt from every other, also in the life of another daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Which {
    session: SessionId,
    parked_at: u64,
    attempt: u32,
}

impl Which {
    fn of(request: &BrokerRequest) -> Self {
        Self {
            session: request.session,
            parked_at: request.parked_at,
            attempt: request.attempt,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Fetching,
    Delivering,
    /// The link is down.
    Resting,
}

/// A request that this machine serves.
#[derive(Debug)]
struct Call {
    /// `None` until it was fetched.
    which: Option<Which>,
    doing: Doing,
    /// Counts deliveries, so that the end of one of before says nothing.
    round: u64,
    /// From where it is being delivered.
    from: u64,
    is_refused: bool,
}

/// The machine.
#[derive(Debug)]
pub(crate) struct Machine {
    policy: Policy,
    is_open: bool,
    calls: BTreeMap<u64, Call>,
    queue: VecDeque<u64>,
    state: BrokerState,
}

impl Machine {
    pub(crate) fn new(options: BrokerOptions) -> Self {
        Self {
            policy: Policy::new(options),
            is_open: false,
            calls: BTreeMap::new(),
            queue: VecDeque::new(),
            state: BrokerState::default(),
        }
    }

    /// Gives what is shown.
    pub(crate) fn state(&self) -> BrokerState {
        BrokerState {
            waiting: self.queue.len(),
            answering: self.calls.len(),
            budget_left: self.policy.left(),
            ..self.state.clone()
        }
    }

    /// Takes in what happened and gives what is to be done.
    pub(crate) fn step(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Opened => self.opened(&mut effects),
            Input::Closed => self.closed(),
            Input::Unknown => self.state.is_unknown_there = true,
            Input::Offered(number) => self.offered(number, &mut effects),
            Input::Withdrawn(number) => self.over(number, &mut effects),
            Input::Fetched {
                number,
                now_millis,
                result: Ok(request),
            } => self.fetched(number, now_millis, request, &mut effects),
            Input::Fetched {
                number,
                result: Err(why),
                ..
            } => self.unfetched(number, why, &mut effects),
            Input::Delivered {
                number,
                round,
                result,
            } => self.delivered(number, round, result, &mut effects),
        }
        self.fill(&mut effects);
        effects
    }

    fn opened(&mut self, effects: &mut Vec<Effect>) {
        self.is_open = true;
        self.state.is_unknown_there = false;
        self.queue.clear();
        for (&number, call) in &mut self.calls {
            call.doing = Doing::Fetching;
            let after = Duration::ZERO;
            effects.push(Effect::Fetch { number, after });
        }
    }

    fn closed(&mut self) {
        self.is_open = false;
        self.queue.clear();
        // What was never fetched is announced again; what was is worth keeping.
        self.calls.retain(|_, call| call.which.is_some());
        for call in self.calls.values_mut() {
            call.doing = Doing::Resting;
        }
    }

    fn offered(&mut self, number: u64, effects: &mut Vec<Effect>) {
        match self.calls.get_mut(&number) {
            Some(call) if call.doing == Doing::Resting && self.is_open => {
                call.doing = Doing::Fetching;
                let after = Duration::ZERO;
                effects.push(Effect::Fetch { number, after });
            }
            Some(_) => {}
            None if self.queue.contains(&number) => {}
            None if self.queue.len() < WAITING => self.queue.push_back(number),
            None => tracing::warn!(number, "too many requests wait"),
        }
    }

    /// Begins as many as fit.
    fn fill(&mut self, effects: &mut Vec<Effect>) {
        while self.is_open
            && self.calls.len() < AT_ONCE
            && let Some(number) = self.queue.pop_front()
        {
            let call = Call {
                which: None,
                doing: Doing::Fetching,
                round: 0,
                from: 0,
                is_refused: false,
            };
            self.calls.insert(number, call);
            let after = Duration::ZERO;
            effects.push(Effect::Fetch { number, after });
        }
    }

    fn fetched(
        &mut self,
        number: u64,
        now_millis: u64,
        request: Box<BrokerRequest>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(call) = self.calls.get_mut(&number) else {
            return;
        };
        if call.doing != Doing::Fetching {
            return;
        }
        let (which, received) = (Which::of(&request), request.received);
        if call.which == Some(which) {
            let to = received;
            effects.push(Effect::Confirm { number, to });
        } else {
            if call.which.is_some() {
                effects.push(Effect::Drop(number));
            }
            if received > 0 {
                // A part of an answer that this process does not have; nothing can be put behind it.
                tracing::warn!(number, received, "a request with an answer of somebody else's");
                return self.over(number, effects);
            }
            call.which = Some(which);
            call.is_refused = false;
            match self.policy.spend(&request, now_millis) {
                Ok(endpoint) => {
                    let endpoint = Asked(endpoint);
                    effects.push(Effect::Ask { request, endpoint });
                }
                Err(refusal) => {
                    call.is_refused = true;
                    self.state.refused += 1;
                    self.state.refusal = Some(refusal.clone());
                    effects.push(Effect::Refuse { number, refusal });
                }
            }
        }
        deliver(number, call, received, effects);
    }

    fn unfetched(&mut self, number: u64, why: Failed, effects: &mut Vec<Effect>) {
        let is_fetching = |call: &Call| call.doing == Doing::Fetching;
        if self.calls.get(&number).is_some_and(is_fetching) {
            self.failed(number, why, effects);
        }
    }

    fn delivered(
        &mut self,
        number: u64,
        round: u64,
        result: Result<(u64, bool), Failed>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(call) = self.calls.get_mut(&number) else {
            return;
        };
        if call.doing != Doing::Delivering || call.round != round {
            return;
        }
        match result {
            Ok((_, true)) => {
                if !call.is_refused {
                    self.state.answered += 1;
                }
                self.over(number, effects);
            }
            Ok((received, false)) if received > call.from => {
                effects.push(Effect::Confirm { number, to: received });
                deliver(number, call, received, effects);
            }
            // It took nothing: whether it wants more is looked up.
            Ok(_) => self.failed(number, Failed::Lost, effects),
            Err(why) => self.failed(number, why, effects),
        }
    }

    fn failed(&mut self, number: u64, why: Failed, effects: &mut Vec<Effect>) {
        let Some(call) = self.calls.get_mut(&number) else {
            return;
        };
        match (why, call.doing) {
            (Failed::Gone, _) | (Failed::Conflict, Doing::Fetching) => self.over(number, effects),
            _ if self.is_open => {
                call.doing = Doing::Fetching;
                let after = AGAIN;
                effects.push(Effect::Fetch { number, after });
            }
            _ => call.doing = Doing::Resting,
        }
    }

    fn over(&mut self, number: u64, effects: &mut Vec<Effect>) {
        self.queue.retain(|waiting| *waiting != number);
        if self.calls.remove(&number).is_some() {
            effects.push(Effect::Drop(number));
        }
    }
}

fn deliver(number: u64, call: &mut Call, from: u64, effects: &mut Vec<Effect>) {
    call.doing = Doing::Delivering;
    call.round += 1;
    call.from = from;
    let round = call.round;
    effects.push(Effect::Deliver { number, round, from });
}

#[cfg(test)]
mod tests;
