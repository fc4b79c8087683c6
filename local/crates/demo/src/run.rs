//! The whole run: its order, its deadline, and the cleaning up on every way out.

use std::{fs, time::Duration};

use client::{SessionClient, SessionView};
use link::{Link, Ready};
use protocol::{EventEnvelope, OpenSession, SessionId, Snapshot, limits};
use stdx::task::Scope;
use transport::CaptureLimits;

use crate::{
    arrival, daemon,
    error::DemoError,
    host::Host,
    ledger::Tally,
    line::{Line, Topic},
    narrator::Narrator,
    options::DemoOptions,
    repository,
    summary::{Stage, Summary},
    turn::{self, Done},
};

/// The part of the deadline that is kept for cleaning up: every step of it is bounded, and this is more than their sum.
const CLEANING: Duration = Duration::from_secs(9);
/// How long the test may take.
const TEST: Duration = Duration::from_secs(10);

/// Runs the demo. `show` is given each line as it happens.
///
/// Whatever happens, the agent that was started is ended and the throwaway folder removed before this returns; only a
/// kill of this very process prevents that, and then the agent ends by itself after 60 s.
///
/// # Errors
/// [`DemoError`] when anything is not as it should be, an event lost or doubled included.
pub async fn run(options: DemoOptions, show: &mut dyn FnMut(Line)) -> Result<Summary, DemoError> {
    let mut narrator = Narrator::new(show);
    let scope = Scope::root("demo");
    let host = Host::start(&options, &scope).await?;
    introduce(&host, &mut narrator);
    let link = Link::open(host.link_options(&options), &scope);
    let limit = options.deadline.saturating_sub(CLEANING + narrator.elapsed());
    let worked = tokio::select! {
        biased;
        () = options.token.cancelled() => Err(DemoError::Interrupted),
        done = tokio::time::timeout(limit, work(&host, &link, &options, &mut narrator)) => match done {
            Ok(done) => done,
            Err(_) => Err(overdue(&options, &link, &narrator)),
        },
    };
    let begun = narrator.elapsed();
    let cleaned = clean(host, link, &scope, &mut narrator).await;
    let mut summary = worked?;
    cleaned?;
    let took = narrator.elapsed().saturating_sub(begun);
    summary
        .stages
        .push(Stage::new("stop", took, "agent ended, throwaway folder removed"));
    summary.total = narrator.elapsed();
    Ok(summary)
}

fn introduce(host: &Host, narrator: &mut Narrator<'_>) {
    let folder = host.folder().display();
    narrator.say(
        Topic::Host,
        &format!(
            "a throwaway host: SSH server on {}, home in {folder}",
            host.address()
        ),
    );
    narrator.say(
        Topic::Host,
        "its model follows a script; its config.toml says [sandbox] bash = \"off\" (on this host only)",
    );
    narrator.say(
        Topic::Host,
        &format!("its repository ~/{} has a test that fails", repository::FOLDER),
    );
}

fn overdue(options: &DemoOptions, link: &Link, narrator: &Narrator<'_>) -> DemoError {
    DemoError::Overdue {
        seconds: options.deadline.as_secs(),
        step: narrator.step().to_owned(),
        cause: link.states().borrow().cause().cloned(),
    }
}

async fn work(
    host: &Host,
    link: &Link,
    options: &DemoOptions,
    narrator: &mut Narrator<'_>,
) -> Result<Summary, DemoError> {
    let arrival = arrival::follow(link, megabytes(options).await, narrator).await?;
    let mut stages = arrival.stages;

    let begun = stdx::clock::monotonic();
    let session = open_session(link, &arrival.ready, narrator).await?;
    stages.push(Stage::new(
        "session",
        begun.elapsed(),
        "a session in the workspace",
    ));

    // From the state before the first event, so that every event comes one by one and can be counted.
    let view = SessionView::from_snapshot(session.clone(), Snapshot::empty(session.id()));
    let done = turn::play(host, link, view, narrator).await?;
    stages.push(Stage::new(
        "turn",
        done.took,
        "from the request to the end, the outage included",
    ));
    stages.push(Stage::new(
        "cut",
        done.outage.noticed,
        "from the cut to its being noticed",
    ));
    stages.push(Stage::new(
        "reconnected",
        done.outage.back,
        "from the cut to the agent's answering again",
    ));

    let begun = stdx::clock::monotonic();
    let events = compare(&session, &done, narrator).await?;
    run_test(link, narrator).await?;
    stages.push(Stage::new(
        "check",
        begun.elapsed(),
        "the host's log, and the test over SSH",
    ));
    Ok(Summary {
        stages,
        events,
        total: Duration::ZERO,
    })
}

async fn megabytes(options: &DemoOptions) -> f64 {
    let program = options.program.clone();
    let size = stdx::task::blocking(move || fs::metadata(program).map_or(0, |data| data.len())).await;
    // Shown with one decimal.
    f64::from(u32::try_from(size / 1024).unwrap_or(u32::MAX)) / 1024.0
}

async fn open_session(
    link: &Link,
    ready: &Ready,
    narrator: &mut Narrator<'_>,
) -> Result<SessionClient, DemoError> {
    let id = SessionId::fresh();
    let workspace = ready.workspace.clone();
    let request = OpenSession {
        session: id,
        workspace: workspace.or_else(|| Some(format!("~/{}", repository::FOLDER))),
        model: None,
        preset: None,
    };
    let agent = link.agent();
    let opened = agent.open_session(&request).await;
    opened.map_err(|source| DemoError::Agent {
        doing: "open a session",
        source,
    })?;
    narrator.say(Topic::Session, &format!("{id} in ~/{}", repository::FOLDER));
    Ok(agent.session(id))
}

/// Fetches the host's whole log and compares it with what was applied here.
async fn compare(
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
async fn run_test(link: &Link, narrator: &mut Narrator<'_>) -> Result<(), DemoError> {
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

/// Ends everything that was started. Every step is tried, and the first that fails is told.
async fn clean(host: Host, link: Link, scope: &Scope, narrator: &mut Narrator<'_>) -> Result<(), DemoError> {
    let folder = host.folder().display().to_string();
    let stopped = daemon::stop(&link, host.folder()).await;
    let ((), removed) = tokio::join!(link.close(), host.close());
    scope.close(Duration::from_secs(1)).await;
    let removed = removed.map_err(|error| format!("the folder {folder} stays: {error}"));
    match stopped.and(removed) {
        Ok(()) => {
            narrator.say(
                Topic::Stop,
                "the agent has ended, the throwaway folder is removed",
            );
            Ok(())
        }
        Err(what) => {
            narrator.say(Topic::Stop, &what);
            Err(DemoError::LeftBehind(what))
        }
    }
}
