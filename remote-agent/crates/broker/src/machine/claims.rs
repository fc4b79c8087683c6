//! Who serves which request.
//!
//! | Request | What happens | Then |
//! | --- | --- | --- |
//! | open | a broker is present | offered to the one that came first |
//! | offered | it fetches, or another one does | claimed |
//! | offered | it leaves, or does not fetch for 30 s while another one is present | open |
//! | claimed | its holder leaves | claimed: it may come back and go on |
//! | claimed | its holder is named as dead | open, and the attempt is void: it may have asked the vendor, also where nothing of an answer has come |
//! | claimed | its holder was away for 2 minutes and another one is present | the same |

use std::time::Duration;

use protocol::{BrokerId, BrokerRequest, limits};

use super::{Answer, Entry, Machine, News, Refusal, SHOW_AFTER, Waiting};

/// How long a broker may let an offer lie while another one is there.
const FETCH_WITHIN: Duration = Duration::from_secs(30);

/// Where a request is.
#[derive(Debug, Default)]
pub(super) enum Place {
    /// With nobody.
    #[default]
    Open,
    /// Offered to a broker.
    Offered {
        to: BrokerId,
        at: Duration,
        /// Brokers that let it lie.
        passed: Vec<BrokerId>,
    },
    /// Fetched by a broker.
    Claimed { by: BrokerId },
}

impl Place {
    pub(super) fn holder(&self) -> Option<BrokerId> {
        match self {
            Self::Open => None,
            Self::Offered { to: broker, .. } | Self::Claimed { by: broker } => Some(*broker),
        }
    }
}

/// A broker as far as it is known.
#[derive(Debug)]
pub(super) struct Presence {
    /// Its place among the arrivals.
    order: u64,
    /// Announcements that are open; it is present while there is one.
    streams: u32,
    /// Answers that are being delivered.
    deliveries: u32,
    /// Since when there is neither.
    away_since: Option<Duration>,
}

impl Presence {
    fn is_alive(&self) -> bool {
        self.streams > 0 || self.deliveries > 0
    }

    fn settle(&mut self, now: Duration) {
        if self.is_alive() {
            self.away_since = None;
        } else {
            self.away_since.get_or_insert(now);
        }
    }
}

impl Machine {
    /// A broker opened its announcements; it knows that others are dead.
    pub(crate) fn arrive(
        &mut self,
        broker: BrokerId,
        instead_of: &[BrokerId],
        now: Duration,
    ) -> Result<(), Refusal> {
        for dead in instead_of.iter().filter(|dead| **dead != broker) {
            self.bury(*dead);
        }
        if !self.brokers.contains_key(&broker) && self.brokers.len() >= limits::BROKERS {
            return Err(Refusal::TooManyBrokers(limits::BROKERS));
        }
        let presence = self.presence(broker);
        presence.streams += 1;
        presence.settle(now);
        self.version += 1;
        Ok(())
    }

    /// Announcements of a broker were closed.
    pub(crate) fn leave(&mut self, broker: BrokerId, now: Duration) {
        if let Some(presence) = self.brokers.get_mut(&broker) {
            presence.streams = presence.streams.saturating_sub(1);
            presence.settle(now);
            self.version += 1;
        }
    }

    /// A delivery of a broker begins.
    pub(super) fn begin_delivery(&mut self, broker: BrokerId, now: Duration) {
        let presence = self.presence(broker);
        presence.deliveries += 1;
        presence.settle(now);
        self.version += 1;
    }

    /// A delivery of a broker ended.
    pub(crate) fn end_delivery(&mut self, broker: BrokerId, now: Duration) {
        if let Some(presence) = self.brokers.get_mut(&broker) {
            presence.deliveries = presence.deliveries.saturating_sub(1);
            presence.settle(now);
            self.version += 1;
        }
    }

    /// Claims a request for a broker and gives it.
    pub(crate) fn fetch(
        &mut self,
        request: u64,
        broker: BrokerId,
        now: Duration,
    ) -> Result<BrokerRequest, Refusal> {
        let entry = self.parked.get(&request).filter(|entry| !entry.answer.is_over());
        let entry = entry.ok_or(Refusal::Over(request))?;
        match entry.place {
            Place::Claimed { by } if by != broker && !self.is_long_gone(by, now) => {
                return Err(Refusal::Taken(request));
            }
            _ => {}
        }
        // One that fetches without being announced counts as away from now on.
        self.presence(broker).settle(now);
        let entry = self.parked.get_mut(&request).ok_or(Refusal::Over(request))?;
        if !matches!(entry.place, Place::Claimed { by } if by == broker) {
            entry.release();
            entry.place = Place::Claimed { by: broker };
            self.version += 1;
        }
        Ok(entry.request(request))
    }

    /// Brings everything up to date that depends on who is there and on the time.
    pub(crate) fn settle(&mut self, now: Duration) {
        let requests: Vec<u64> = self.parked.keys().copied().collect();
        for request in requests {
            self.settle_one(request, now);
        }
        let parked = &self.parked;
        self.brokers.retain(|broker, presence| {
            presence.is_alive() || parked.values().any(|entry| entry.place.holder() == Some(*broker))
        });
    }

    /// Gives when time alone changes something next.
    pub(crate) fn next_deadline(&self) -> Option<Duration> {
        let deadlines = self.parked.values().filter(|entry| !entry.answer.is_over());
        deadlines
            .filter_map(|entry| {
                let moves = match &entry.place {
                    Place::Open => None,
                    Place::Offered { to, at, .. } => self.next_of(&[*to]).map(|_| *at + FETCH_WITHIN),
                    Place::Claimed { by } => {
                        let away = self.brokers.get(by).and_then(|presence| presence.away_since);
                        away.filter(|_| self.next_of(&[*by]).is_some())
                            .map(|away| away + limits::BROKER_AWAY)
                    }
                };
                let shows = match entry.waiting {
                    Waiting::Since(since) => Some(since + SHOW_AFTER),
                    Waiting::No | Waiting::Told => None,
                };
                moves.into_iter().chain(shows).min()
            })
            .min()
    }

    fn settle_one(&mut self, request: u64, now: Duration) {
        let Some(mut entry) = self.parked.remove(&request) else {
            return;
        };
        if entry.answer.is_over() {
            self.tell(&mut entry, true, now);
        } else {
            self.place(&mut entry, now);
            let served = match entry.place {
                Place::Open => false,
                Place::Offered { .. } => true,
                Place::Claimed { by } => self.brokers.get(&by).is_some_and(Presence::is_alive),
            };
            self.tell(&mut entry, served, now);
        }
        self.parked.insert(request, entry);
    }

    /// Moves a request on from where it cannot stay.
    fn place(&mut self, entry: &mut Entry, now: Duration) {
        let mut passed = Vec::new();
        match &mut entry.place {
            Place::Open => {}
            Place::Offered {
                to,
                at,
                passed: known,
            } => {
                let is_present = self.is_present(*to);
                let lies = *at + FETCH_WITHIN <= now && self.next_of(&[*to]).is_some();
                if is_present && !lies {
                    return;
                }
                passed = std::mem::take(known);
                passed.push(*to);
            }
            Place::Claimed { by } => {
                if !self.is_long_gone(*by, now) || self.next_of(&[*by]).is_none() {
                    return;
                }
            }
        }
        self.version += 1;
        entry.release();
        // When everybody let it lie, it goes round again.
        if self.next_of(&passed).is_none() {
            passed.clear();
        }
        if let Some(to) = self.next_of(&passed) {
            entry.place = Place::Offered { to, at: now, passed };
        }
    }

    /// Tells the turn whether somebody serves its request, if that is news.
    fn tell(&mut self, entry: &mut Entry, served: bool, now: Duration) {
        let next = match (served, entry.waiting) {
            (false, Waiting::No) => Waiting::Since(now),
            (false, Waiting::Since(since)) if since + SHOW_AFTER <= now => {
                entry.answer.news.push_back(News::Waiting);
                Waiting::Told
            }
            (true, Waiting::Told) => {
                entry.answer.news.push_back(News::WentOn);
                Waiting::No
            }
            (true, _) => Waiting::No,
            (false, same) => same,
        };
        if next != entry.waiting {
            entry.waiting = next;
            self.version += 1;
        }
    }

    /// Forgets a broker that is known to be dead.
    fn bury(&mut self, dead: BrokerId) {
        self.brokers.remove(&dead);
        for entry in self.parked.values_mut().filter(|entry| !entry.answer.is_over()) {
            if entry.place.holder() == Some(dead) {
                entry.release();
            }
        }
        self.version += 1;
    }

    fn presence(&mut self, broker: BrokerId) -> &mut Presence {
        let arrivals = &mut self.arrivals;
        self.brokers.entry(broker).or_insert_with(|| {
            *arrivals += 1;
            Presence {
                order: *arrivals,
                streams: 0,
                deliveries: 0,
                away_since: None,
            }
        })
    }

    fn is_present(&self, broker: BrokerId) -> bool {
        self.brokers
            .get(&broker)
            .is_some_and(|presence| presence.streams > 0)
    }

    fn is_long_gone(&self, broker: BrokerId, now: Duration) -> bool {
        self.brokers.get(&broker).is_none_or(|presence| {
            let away = presence.away_since;
            away.is_some_and(|away| away + limits::BROKER_AWAY <= now)
        })
    }

    /// Gives the present broker that came first, leaving some out.
    fn next_of(&self, without: &[BrokerId]) -> Option<BrokerId> {
        let present = self
            .brokers
            .iter()
            .filter(|(broker, presence)| presence.streams > 0 && !without.contains(broker));
        present
            .min_by_key(|(_, presence)| presence.order)
            .map(|(broker, _)| *broker)
    }
}

impl Entry {
    /// Takes a request from whoever has it. Who had fetched it may have asked the vendor, so that attempt is void.
    fn release(&mut self) {
        let begun = matches!(self.place, Place::Claimed { .. });
        self.place = Place::Open;
        let delivery = self.answer.delivery + 1;
        let mut news = std::mem::take(&mut self.answer.news);
        if begun {
            // What concerns the waiting stays true.
            news.retain(|news| matches!(news, News::Waiting | News::WentOn | News::Void));
            news.push_back(News::Void);
            self.voided += 1;
        }
        self.answer = Answer {
            delivery,
            news,
            ..Answer::default()
        };
    }
}
