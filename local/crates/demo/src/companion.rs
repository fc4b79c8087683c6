//! What goes on beside a screen that shows the demo: the cut in the middle of the answer, and the counting.
//!
//! The screen follows the session by itself. The companion is a second follower over the same link, so what it loses or
//! gets twice is what the cut does to any follower.

use std::time::Duration;

use client::SessionView;
use protocol::{ErrorCode, Snapshot, TurnId};

use crate::{
    check,
    demo_host::DemoHost,
    error::DemoError,
    ledger::Tally,
    narrator::Narrator,
    summary::{Stage, Summary},
    turn::{self, Done},
};

/// How often is asked whether the session is open.
const REST: Duration = Duration::from_millis(100);
/// How long comparing and testing may take at the end.
const CHECK: Duration = Duration::from_secs(10);

/// A follower beside a screen.
pub struct Companion<'a> {
    demo: &'a DemoHost,
    seen: Seen,
    begun: std::time::Instant,
}

/// How far the turn of the demo is.
enum Seen {
    Nothing,
    Completed(Box<Done>),
    Other(DemoError),
}

impl<'a> Companion<'a> {
    pub(crate) fn new(demo: &'a DemoHost) -> Self {
        Self {
            demo,
            seen: Seen::Nothing,
            begun: stdx::clock::monotonic(),
        }
    }

    /// Follows the session to the end of its first turn and cuts the connection on the way. May be dropped earlier.
    pub async fn follow(&mut self) {
        let mut silent = |_| {};
        let mut narrator = Narrator::new(&mut silent);
        self.seen = match first_turn(self.demo, &mut narrator).await {
            Ok(done) => Seen::Completed(Box::new(done)),
            Err(error) => Seen::Other(error),
        };
    }

    /// Compares what came with the host's log and runs the test there. `None` when the task was not done, because the
    /// person left before or had it done otherwise.
    ///
    /// # Errors
    /// Something was lost or doubled, or the test fails.
    pub async fn verdict(self) -> Result<Option<Summary>, DemoError> {
        let done = match self.seen {
            Seen::Completed(done) => *done,
            Seen::Nothing | Seen::Other(DemoError::Turn(_)) => return Ok(None),
            Seen::Other(error) => return Err(error),
        };
        let mut silent = |_| {};
        let mut narrator = Narrator::new(&mut silent);
        let begun = stdx::clock::monotonic();
        let checks = checks(self.demo, &done, &mut narrator);
        let overdue = |_| DemoError::Test("the host does not answer any more".to_owned());
        let events = tokio::time::timeout(CHECK, checks).await.map_err(overdue)??;
        let mut stages = turn::stages(&done).to_vec();
        stages.push(Stage::check(begun.elapsed()));
        Ok(Some(Summary {
            stages,
            events,
            total: self.begun.elapsed(),
        }))
    }
}

async fn checks(demo: &DemoHost, done: &Done, narrator: &mut Narrator<'_>) -> Result<Tally, DemoError> {
    let session = demo.link().agent().session(demo.session().session);
    let tally = check::compare(&session, done, narrator).await?;
    check::run_test(demo.link(), narrator).await?;
    Ok(tally)
}

/// Waits for the session and follows its first turn.
async fn first_turn(demo: &DemoHost, narrator: &mut Narrator<'_>) -> Result<Done, DemoError> {
    let session = demo.link().agent().session(demo.session().session);
    loop {
        match session.snapshot().await {
            Ok(_) => break,
            Err(error) if error.is_retryable() || is_missing(&error) => {
                tokio::time::sleep(REST).await;
            }
            Err(source) => {
                return Err(DemoError::Agent {
                    doing: "follow the session",
                    source,
                });
            }
        }
    }
    // From the state before the first event, so that every event comes one by one and can be counted.
    let view = SessionView::from_snapshot(session.clone(), Snapshot::empty(session.id()));
    turn::follow(&demo.host, demo.link(), view, TurnId(1), narrator).await
}

/// Says whether the session is not open yet.
fn is_missing(error: &client::Error) -> bool {
    matches!(error, client::Error::Agent(body) if body.code == ErrorCode::NotFound)
}
