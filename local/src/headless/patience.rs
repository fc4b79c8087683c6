//! How long an agent is waited for.

use std::time::Duration;

use client::{SessionView, Update};
use link::{AgentLink, LinkState, Patience};
use tokio::time::Instant;

use super::{Job, Signals};
use crate::{exit::Exit, report::Failure};

/// The wait between two tries while the agent is away.
const AWAY: Duration = Duration::from_millis(250);
/// What is said of an agent that is away for no known reason.
pub(super) const SILENT: &str = "it does not answer";

/// Tries until it works, the agent stayed away too long, or a person has had enough.
pub(super) async fn patiently<T, F>(
    link: &AgentLink,
    job: &Job,
    signals: &mut Signals,
    mut attempt: impl FnMut() -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, client::Error>>,
{
    let start = Instant::now();
    let gone = stays_away(link, job.give_up_after);
    tokio::pin!(gone);
    loop {
        let tried = tokio::select! {
            biased;
            _signal = signals.next() => {
                return Err(Failure::new(Exit::Interrupted, "interrupted before the session answered"));
            }
            tried = waited(attempt(), link) => tried?,
            () = &mut gone => return Err(gave_up(link, job, SILENT)),
        };
        match tried {
            Err(error) if start.elapsed() >= job.give_up_after => {
                return Err(gave_up(link, job, &Failure::from(error).message));
            }
            Err(_) => {}
            Ok(value) => return Ok(value),
        }
    }
}

/// Gives the next change of a session. Dropping the future loses nothing.
///
/// The inner error is one after which it is worth trying again, at once: the agent has been waited for.
pub(super) async fn next_update(
    view: &mut SessionView,
    link: &AgentLink,
) -> Result<Result<Update, client::Error>, Failure> {
    waited(view.next(), link).await
}

/// Tries, and waits for the agent when another try may help.
async fn waited<T>(
    attempt: impl Future<Output = Result<T, client::Error>>,
    link: &AgentLink,
) -> Result<Result<T, client::Error>, Failure> {
    match attempt.await {
        Err(error) if error.is_retryable() => wait_for_agent(link).await.map(|()| Err(error)),
        Err(error) => Err(error.into()),
        Ok(value) => Ok(Ok(value)),
    }
}

/// Waits a moment, and for a link that is being dialled again. Fails when a person has to act first.
async fn wait_for_agent(link: &AgentLink) -> Result<(), Failure> {
    tokio::time::sleep(AWAY).await;
    match link.wait_live(Patience::FirstTry).await {
        Ok(()) => Ok(()),
        Err(error) => match &*link.states().borrow() {
            LinkState::Failed(_) | LinkState::Offline => Err(error.into()),
            _ => Ok(()),
        },
    }
}

/// Says that the agent stayed away for too long; `cause` is said where the link knows none.
pub(super) fn gave_up(link: &AgentLink, job: &Job, cause: &str) -> Failure {
    let cause = link
        .states()
        .borrow()
        .cause()
        .map_or(cause.to_owned(), std::string::ToString::to_string);
    let host = link.host().unwrap_or("this machine");
    let limit = job.give_up_after.as_secs();
    Failure::new(
        Exit::Unreachable,
        format!("{host} stayed away for {limit} s: {cause}"),
    )
    .hint(format!(
        "the turn goes on there; come back with: {}",
        job.way_back
    ))
    .on(host)
}

/// Waits until the agent has been away for so long without a break; for ever where it never is. A link on which a
/// person is asked something is not away.
pub(super) async fn stays_away(link: &AgentLink, limit: Duration) {
    let mut states = link.states();
    let here = |state: &LinkState| matches!(state, LinkState::Live { .. } | LinkState::Prompting);
    loop {
        // A link that is gone for good fails its requests, which is noticed there.
        if states.wait_for(|state| !here(state)).await.is_err() {
            return std::future::pending().await;
        }
        tokio::select! {
            biased;
            _back = states.wait_for(here) => {}
            () = tokio::time::sleep(limit) => return,
        }
    }
}
