//! The desk as a pure machine: no clock, no I/O, no await. Times are durations since the desk was made.

mod answers;
mod claims;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use protocol::{
    BrokerId, BrokerRequest, SessionId,
    broker::{AnswerDecoder, AnswerEnd, AnswerHead, PlainHeaders},
    limits,
};

pub(crate) use answers::{Fed, Ticket};
use claims::{Place, Presence};

/// How long nobody may be there to serve a request before its turn says that it waits. A link that comes back at once
/// should not be seen.
const SHOW_AFTER: Duration = Duration::from_secs(1);
/// Answered requests that are remembered, for a broker that asks again whether its last bytes came.
const REMEMBERED: usize = 256;

/// What a turn wants to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The session.
    pub session: SessionId,
    /// The provider's name in the configuration.
    pub provider: String,
    /// The name of the key that it wants; `None` for none.
    pub key_env: Option<String>,
    /// The exact URL.
    pub url: String,
    /// Header fields; none of them can be a credential.
    pub headers: PlainHeaders,
    /// The exact body.
    pub body: String,
    /// Which attempt of the turn it is, from 1.
    pub attempt: u32,
}

/// What a turn learns of its parked request, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// Nobody is there to serve it.
    Waiting,
    /// Somebody is there again.
    WentOn,
    /// The head of the vendor's answer.
    Head(AnswerHead),
    /// The next bytes of its body.
    Data(Vec<u8>),
    /// Everything since the last void is void: who served it went away in mid-answer. The answer begins anew.
    Void,
    /// The end. Nothing follows.
    End(AnswerEnd),
    /// The broker sent what makes no sense. Nothing follows.
    Fault(String),
}

/// Why a request was not parked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParkError {
    /// Too many are parked.
    #[error("{max} requests to models wait for their credentials already")]
    Full {
        /// The limit.
        max: usize,
    },
    /// Its body is too long.
    #[error(
        "the request to the model has {len} bytes, over the limit of {max} for one that waits for its credentials"
    )]
    TooLong {
        /// Its length in bytes.
        len: usize,
        /// The limit.
        max: usize,
    },
}

/// Why a broker may not do what it asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such request any more.
    #[error("request {0} is over or was never there")]
    Over(u64),
    /// Another broker has it.
    #[error("request {0} is another broker's")]
    Taken(u64),
    /// An answer is delivered without a claim.
    #[error("request {0} was not fetched by this broker")]
    NotFetched(u64),
    /// Bytes of the answer are missing.
    #[error(
        "{received} bytes of the answer to request {request} have come, so it cannot go on at byte {offset}"
    )]
    Gap {
        /// The request.
        request: u64,
        /// How many have come.
        received: u64,
        /// Where it was to go on.
        offset: u64,
    },
    /// A newer delivery of the same answer took over.
    #[error("a newer delivery of the answer to request {0} took over")]
    Replaced(u64),
    /// The answer makes no sense.
    #[error("the answer to request {request} makes no sense: {why}")]
    Nonsense {
        /// The request.
        request: u64,
        /// What is wrong with it.
        why: String,
    },
    /// Too many brokers are there.
    #[error("{0} brokers are there already")]
    TooManyBrokers(usize),
}

/// A request that was parked.
#[derive(Debug)]
struct Entry {
    ask: Ask,
    /// Attempts that were made void.
    voided: u32,
    /// In milliseconds since the Unix epoch.
    parked_at: u64,
    place: Place,
    answer: Answer,
    waiting: Waiting,
}

/// Whether its turn was told that nobody serves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    No,
    /// Not yet told.
    Since(Duration),
    Told,
}

/// An answer as far as it has come.
#[derive(Debug, Default)]
struct Answer {
    decoder: AnswerDecoder,
    received: u64,
    /// Whether it ended in a fault.
    is_broken: bool,
    /// The newest delivery.
    delivery: u64,
    /// What the turn has not taken yet.
    news: VecDeque<News>,
    /// Bytes of bodies in it.
    ahead: usize,
}

/// A request whose answer the turn has taken.
#[derive(Debug, Clone, Copy)]
struct Answered {
    request: u64,
    by: BrokerId,
    received: u64,
}

/// The desk.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    last: u64,
    parked: BTreeMap<u64, Entry>,
    brokers: BTreeMap<BrokerId, Presence>,
    arrivals: u64,
    answered: VecDeque<Answered>,
    /// Grows with every change that somebody may wait for.
    version: u64,
}

impl Machine {
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Parks a request and gives its number.
    pub(crate) fn park(&mut self, ask: Ask, parked_at: u64) -> Result<u64, ParkError> {
        if self.parked.len() >= limits::BROKER_PARKED {
            let max = limits::BROKER_PARKED;
            return Err(ParkError::Full { max });
        }
        if ask.body.len() > limits::BROKER_BODY {
            return Err(ParkError::TooLong {
                len: ask.body.len(),
                max: limits::BROKER_BODY,
            });
        }
        self.version += 1;
        self.last += 1;
        let entry = Entry {
            ask,
            voided: 0,
            parked_at,
            place: Place::default(),
            answer: Answer::default(),
            waiting: Waiting::No,
        };
        self.parked.insert(self.last, entry);
        Ok(self.last)
    }

    /// Forgets a request: its turn wants no answer any more.
    pub(crate) fn withdraw(&mut self, request: u64) {
        if self
            .parked
            .get(&request)
            .is_some_and(|entry| entry.answer.is_over())
        {
            // It needed no more of an answer that has come as a whole.
            self.remember(request);
        } else if self.parked.remove(&request).is_some() {
            self.version += 1;
        }
    }

    /// Takes the next that the turn has not been told. The last one ends the request.
    pub(crate) fn take(&mut self, request: u64) -> Option<News> {
        let entry = self.parked.get_mut(&request)?;
        let news = entry.answer.news.pop_front()?;
        match &news {
            News::Data(bytes) => {
                entry.answer.ahead -= bytes.len();
                self.version += 1;
            }
            News::End(_) | News::Fault(_) => self.remember(request),
            _ => {}
        }
        Some(news)
    }

    /// Gives the requests that a broker shall serve or is serving.
    pub(crate) fn serving(&self, broker: BrokerId) -> BTreeSet<u64> {
        let its = self
            .parked
            .iter()
            .filter(|(_, entry)| !entry.answer.is_over() && entry.place.holder() == Some(broker));
        its.map(|(request, _)| *request).collect()
    }

    /// Says whether a broker has delivered the whole answer to a request.
    pub(crate) fn has_answered(&self, broker: BrokerId, request: u64) -> bool {
        match self.parked.get(&request) {
            Some(entry) => entry.answer.is_over() && entry.place.holder() == Some(broker),
            None => self.find_answered(broker, request).is_some(),
        }
    }

    fn find_answered(&self, broker: BrokerId, request: u64) -> Option<&Answered> {
        self.answered
            .iter()
            .find(|known| known.request == request && known.by == broker)
    }

    fn remember(&mut self, request: u64) {
        let Some(entry) = self.parked.remove(&request) else {
            return;
        };
        self.version += 1;
        if let Some(by) = entry.place.holder() {
            if self.answered.len() == REMEMBERED {
                self.answered.pop_front();
            }
            self.answered.push_back(Answered {
                request,
                by,
                received: entry.answer.received,
            });
        }
    }
}

impl Entry {
    fn request(&self, number: u64) -> BrokerRequest {
        let Ask {
            session,
            provider,
            key_env,
            url,
            headers,
            body,
            attempt,
        } = self.ask.clone();
        BrokerRequest {
            request: number,
            session,
            provider,
            key_env,
            url,
            method: "POST".to_owned(),
            headers,
            body,
            attempt: attempt.saturating_add(self.voided),
            parked_at: self.parked_at,
            received: self.answer.received,
        }
    }
}

impl Answer {
    fn is_over(&self) -> bool {
        self.is_broken || self.decoder.is_over()
    }
}
