//! The cut: when the connection is gone, and when it is back.

use std::time::{Duration, Instant};

use link::{Link, LinkState};
use tokio::sync::watch;

use crate::host::Host;

/// How often the proxy's counter is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// How far the outage is.
pub(crate) enum Outage {
    /// Not yet.
    Ahead,
    /// The connection was cut.
    Now(Waiting),
    /// It is back.
    Over(Times),
}

/// How long it took, from the cut on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Times {
    /// Until the link noticed.
    pub(crate) noticed: Duration,
    /// Until the agent answered again.
    pub(crate) back: Duration,
}

/// What happened in an outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// The link noticed.
    Noticed(Duration),
    /// The agent answers again.
    Back(Times),
}

/// A cut connection.
pub(crate) struct Waiting {
    cut: Instant,
    /// Whether the host can be reached meanwhile.
    way: Way,
    /// Connections that the proxy had seen before.
    before: u64,
    noticed: Option<Duration>,
    states: watch::Receiver<LinkState>,
}

/// Whether the host can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Closed,
    Open,
}

impl Outage {
    /// Cuts the connection.
    pub(crate) fn begin(host: &Host, link: &Link) -> Self {
        let waiting = Waiting {
            cut: stdx::clock::monotonic(),
            way: Way::Closed,
            before: host.proxy.connections(),
            noticed: None,
            states: link.states(),
        };
        host.vanish();
        Self::Now(waiting)
    }

    /// Waits for the next change; for ever when none is due. Dropping the future loses nothing.
    pub(crate) async fn change(&mut self, host: &Host) -> Change {
        let change = match self {
            Self::Now(waiting) => waiting.change(host).await,
            Self::Ahead | Self::Over(_) => std::future::pending().await,
        };
        if let Change::Back(times) = change {
            *self = Self::Over(times);
        }
        change
    }
}

impl Waiting {
    async fn change(&mut self, host: &Host) -> Change {
        loop {
            if self.way == Way::Closed && self.cut.elapsed() >= host.absence() {
                self.way = Way::Open;
                host.return_again();
            }
            // A new connection proves that the old one was given up, however short the states in between were.
            let is_live = self.states.borrow_and_update().is_live();
            let is_redialled = host.proxy.connections() > self.before;
            match self.noticed {
                None if !is_live || is_redialled => {
                    let noticed = self.cut.elapsed();
                    self.noticed = Some(noticed);
                    return Change::Noticed(noticed);
                }
                Some(noticed) if is_live && is_redialled => {
                    return Change::Back(Times {
                        noticed,
                        back: self.cut.elapsed(),
                    });
                }
                _ => {}
            }
            // A link that is closed has no more states; the deadline of the run ends the wait then.
            if let Ok(Err(_)) = tokio::time::timeout(LOOK, self.states.changed()).await {
                tokio::time::sleep(LOOK).await;
            }
        }
    }
}
