//! The checks at the end: the host's log against what was applied here, and the repository's test.

use std::time::Duration;

use client::SessionClient;
use link::Link;
use protocol::{EventEnvelope, limits};
use transport::CaptureLimits;

use crate::{error::DemoError, ledger::Tally, line::Topic, narrator::Narrator, repository, turn::Done};

/// How long the test may take.
const TEST: Duration = Duration::from_secs(10);

/// Fetches the host's whole log and compares it with what was applied here.
pub(crate) async fn compare(
    session: &SessionClient,
    done: &Done,
    narrator: &mut Narrator<'_>,
) -> Result<Tally, DemoError> {
    let log = history(session).await?;
    let tally = done.ledger.compare(&log, done.counts.duplicates);
    let Tally {
        in_log,
        lost,
        doubled,
        ..
    } = tally;
    let text = format!("{in_log} events in the host's log: {lost} lost here, {doubled} doubled");
    narrator.say(Topic::Check, &text);
    if lost == 0 && doubled == 0 {
        Ok(tally)
    } else {
        Err(DemoError::Events { lost, doubled })
    }
}

async fn history(session: &SessionClient) -> Result<Vec<EventEnvelope>, DemoError> {
    let failed = |source| DemoError::Agent {
        doing: "read the host's log",
        source,
    };
    let mut log: Vec<EventEnvelope> = Vec::new();
    loop {
        let after = log.last().map_or(0, |event| event.n);
        let page = session
            .history(after, limits::HISTORY_PAGE)
            .await
            .map_err(failed)?;
        let is_stuck = page.events.is_empty();
        log.extend(page.events);
        if is_stuck || log.last().is_some_and(|event| event.n >= page.newest) {
            return Ok(log);
        }
    }
}

/// Runs the repository's test on the host, past the agent.
pub(crate) async fn run_test(link: &Link, narrator: &mut Narrator<'_>) -> Result<(), DemoError> {
    let connection = link
        .connection()
        .ok_or_else(|| DemoError::Test("the link is down".to_owned()))?;
    let command = format!(
        "exec /bin/sh -c 'cd ~/{} && exec {}'",
        repository::FOLDER,
        repository::TEST
    );
    let output = connection
        .exec_capture(&command, b"", CaptureLimits::default(), TEST)
        .await;
    let output = output.map_err(|error| DemoError::Test(error.to_string()))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout);
        return Err(DemoError::Test(format!(
            "{}: {}",
            output.status,
            stdx::bounded::one_line(&text, 300)
        )));
    }
    narrator.say(Topic::Check, &format!("{} on the host: passes", repository::TEST));
    Ok(())
}
