//! The desk as tasks see it: who waits is woken by every change, and by the time.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use protocol::{AnswerReceipt, BrokerEvent, BrokerId, BrokerRequest};
use tokio::{sync::watch, time::Instant};

use crate::machine::{Ask, Fed, Machine, News, ParkError, Refusal, Ticket};

/// The desk of a daemon. Cloning gives another handle to the same one.
#[derive(Debug, Clone)]
pub struct Desk {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Never held across an await.
    machine: Mutex<Machine>,
    version: watch::Sender<u64>,
    made: Instant,
}

impl Default for Desk {
    fn default() -> Self {
        Self::new()
    }
}

impl Desk {
    /// Makes a desk without requests.
    #[must_use]
    pub fn new() -> Self {
        let inner = Inner {
            machine: Mutex::default(),
            version: watch::channel(0).0,
            made: Instant::now(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Parks a request. Dropping what this gives withdraws it.
    ///
    /// # Errors
    /// [`ParkError`] when a limit is reached.
    pub fn park(&self, ask: Ask) -> Result<Parked, ParkError> {
        let request = self.with(|machine, _| machine.park(ask, stdx::clock::unix_millis()))?;
        Ok(Parked {
            desk: self.clone(),
            request,
        })
    }

    /// Makes a broker present, until what this gives is dropped. `instead_of` are brokers that it knows to be dead.
    ///
    /// # Errors
    /// [`Refusal::TooManyBrokers`].
    pub fn announce(&self, broker: BrokerId, instead_of: &[BrokerId]) -> Result<Announcements, Refusal> {
        self.with(|machine, now| machine.arrive(broker, instead_of, now))?;
        Ok(Announcements {
            desk: self.clone(),
            broker,
            told: BTreeSet::new(),
        })
    }

    /// Claims a request for a broker and gives it.
    ///
    /// # Errors
    /// [`Refusal::Over`], [`Refusal::Taken`].
    pub fn fetch(&self, request: u64, broker: BrokerId) -> Result<BrokerRequest, Refusal> {
        self.with(|machine, now| machine.fetch(request, broker, now))
    }

    /// Begins to take in the answer of a broker from byte `offset` on.
    ///
    /// # Errors
    /// [`Refusal::Over`], [`Refusal::Taken`], [`Refusal::NotFetched`], [`Refusal::Gap`].
    pub fn deliver(&self, request: u64, broker: BrokerId, offset: u64) -> Result<Delivery, Refusal> {
        let begun = self.with(|machine, now| machine.deliver(request, broker, offset, now))?;
        Ok(Delivery {
            desk: self.clone(),
            state: begun,
        })
    }

    /// Runs something on the machine as it is now, and wakes who waits for what changed.
    fn with<T>(&self, act: impl FnOnce(&mut Machine, Duration) -> T) -> T {
        let now = self.inner.made.elapsed();
        let (value, version) = {
            let mut machine = self.inner.machine.lock().unwrap_or_else(PoisonError::into_inner);
            machine.settle(now);
            let value = act(&mut machine, now);
            machine.settle(now);
            (value, machine.version())
        };
        self.inner.version.send_if_modified(|known| {
            let changed = *known < version;
            *known = version.max(*known);
            changed
        });
        value
    }

    /// Waits until `look` finds something.
    async fn wait<T>(&self, mut look: impl FnMut(&mut Machine) -> Option<T>) -> T {
        let mut version = self.inner.version.subscribe();
        loop {
            version.mark_unchanged();
            let (found, deadline) = self.with(|machine, _| (look(machine), machine.next_deadline()));
            if let Some(found) = found {
                return found;
            }
            let until = async {
                match deadline {
                    Some(at) => tokio::time::sleep_until(self.inner.made + at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                // The desk keeps the sender, so it cannot be gone.
                _changed = version.changed() => {}
                () = until => {}
            }
        }
    }
}

/// A request that is parked. Dropping it withdraws it.
#[derive(Debug)]
pub struct Parked {
    desk: Desk,
    request: u64,
}

impl Parked {
    /// Waits for the next of it, however long that takes. Dropping the future loses nothing. After [`News::End`] and
    /// [`News::Fault`] nothing comes.
    pub async fn next(&mut self) -> News {
        let request = self.request;
        self.desk.wait(|machine| machine.take(request)).await
    }
}

impl Drop for Parked {
    fn drop(&mut self) {
        self.desk.with(|machine, _| machine.withdraw(self.request));
    }
}

/// The presence of a broker, and what it is told.
#[derive(Debug)]
pub struct Announcements {
    desk: Desk,
    broker: BrokerId,
    told: BTreeSet<u64>,
}

impl Announcements {
    /// Waits for the next. Dropping the future loses nothing.
    pub async fn next(&mut self) -> BrokerEvent {
        let (broker, told) = (self.broker, &mut self.told);
        let look = |machine: &mut Machine| {
            let serving = machine.serving(broker);
            while let Some(request) = told.difference(&serving).next().copied() {
                told.remove(&request);
                if !machine.has_answered(broker, request) {
                    return Some(BrokerEvent::Withdrawn { request });
                }
            }
            let request = serving.difference(told).next().copied()?;
            told.insert(request);
            Some(BrokerEvent::Offered { request })
        };
        self.desk.wait(look).await
    }
}

impl Drop for Announcements {
    fn drop(&mut self) {
        self.desk.with(|machine, now| machine.leave(self.broker, now));
    }
}

/// A delivery of an answer.
#[derive(Debug)]
pub struct Delivery {
    desk: Desk,
    /// A receipt where everything has come before.
    state: Result<Ticket, AnswerReceipt>,
}

impl Delivery {
    /// Takes in the next bytes; waits while the turn is behind.
    ///
    /// # Errors
    /// [`Refusal`]; the delivery is of no use afterwards.
    pub async fn push(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let Ok(ticket) = &mut self.state else {
            return Ok(());
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let fed = self.desk.wait(|machine| match machine.feed(ticket, rest) {
                Ok(Fed::Full) => None,
                Ok(Fed::Taken(count)) => Some(Ok(count)),
                Err(refusal) => Some(Err(refusal)),
            });
            rest = rest.get(fed.await?..).unwrap_or_default();
        }
        Ok(())
    }

    /// Says how far the answer is.
    ///
    /// # Errors
    /// [`Refusal::Over`], [`Refusal::Replaced`].
    pub fn receipt(&self) -> Result<AnswerReceipt, Refusal> {
        match &self.state {
            Ok(ticket) => self.desk.with(|machine, _| machine.receipt(ticket)),
            Err(receipt) => Ok(*receipt),
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if let Ok(ticket) = &self.state {
            self.desk
                .with(|machine, now| machine.end_delivery(ticket.broker, now));
        }
    }
}
