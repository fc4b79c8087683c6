//! The whole run: its order, its deadline, and the cleaning up on every way out.

use std::{fs, sync::Arc, time::Duration};

use client::{SessionClient, SessionView};
use link::DenyAll;
use protocol::Snapshot;

use crate::{
    arrival, check,
    demo_host::DemoHost,
    error::DemoError,
    host::Host,
    line::{Line, Topic},
    narrator::Narrator,
    options::DemoOptions,
    repository,
    summary::{Stage, Summary},
    turn,
};

/// The part of the deadline that is kept for cleaning up: every step of it is bounded, and this is more than their sum.
const CLEANING: Duration = Duration::from_secs(9);

/// Runs the demo. `show` is given each line as it happens.
///
/// Whatever happens, the agent that was started is ended and the throwaway folder removed before this returns; only a
/// kill of this very process prevents that, and then the agent ends by itself after 60 s.
///
/// # Errors
/// [`DemoError`] when anything is not as it should be, an event lost or doubled included.
pub async fn run(options: DemoOptions, show: &mut dyn FnMut(Line)) -> Result<Summary, DemoError> {
    let mut narrator = Narrator::new(show);
    let demo = DemoHost::open(&options, Arc::new(DenyAll)).await?;
    introduce(&demo.host, &mut narrator);
    let limit = options.deadline.saturating_sub(CLEANING + narrator.elapsed());
    let worked = tokio::select! {
        biased;
        () = options.token.cancelled() => Err(DemoError::Interrupted),
        done = tokio::time::timeout(limit, work(&demo, &options, &mut narrator)) => match done {
            Ok(done) => done,
            Err(_) => Err(overdue(&options, &demo, &narrator)),
        },
    };
    let begun = narrator.elapsed();
    let cleaned = clean(demo, &mut narrator).await;
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

fn overdue(options: &DemoOptions, demo: &DemoHost, narrator: &Narrator<'_>) -> DemoError {
    DemoError::Overdue {
        seconds: options.deadline.as_secs(),
        step: narrator.step().to_owned(),
        cause: demo.link().states().borrow().cause().cloned(),
    }
}

async fn work(
    demo: &DemoHost,
    options: &DemoOptions,
    narrator: &mut Narrator<'_>,
) -> Result<Summary, DemoError> {
    let link = demo.link();
    let mut stages = arrival::follow(link, megabytes(options).await, narrator).await?;

    let begun = stdx::clock::monotonic();
    let session = open_session(demo, narrator).await?;
    stages.push(Stage::new(
        "session",
        begun.elapsed(),
        "a session in the workspace",
    ));

    // From the state before the first event, so that every event comes one by one and can be counted.
    let view = SessionView::from_snapshot(session.clone(), Snapshot::empty(session.id()));
    let done = turn::play(&demo.host, link, view, narrator).await?;
    stages.extend(turn::stages(&done));

    let begun = stdx::clock::monotonic();
    let events = check::compare(&session, &done, narrator).await?;
    check::run_test(link, narrator).await?;
    stages.push(Stage::check(begun.elapsed()));
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

async fn open_session(demo: &DemoHost, narrator: &mut Narrator<'_>) -> Result<SessionClient, DemoError> {
    let request = demo.session();
    let id = request.session;
    let agent = demo.link().agent();
    let opened = agent.open_session(&request).await;
    opened.map_err(|source| DemoError::Agent {
        doing: "open a session",
        source,
    })?;
    narrator.say(Topic::Session, &format!("{id} in ~/{}", repository::FOLDER));
    Ok(agent.session(id))
}

/// Ends everything that was started, and says so.
async fn clean(demo: DemoHost, narrator: &mut Narrator<'_>) -> Result<(), DemoError> {
    let closed = demo.close().await;
    let text = match &closed {
        Ok(()) => "the agent has ended, the throwaway folder is removed".to_owned(),
        Err(DemoError::LeftBehind(what)) => what.clone(),
        Err(error) => error.to_string(),
    };
    narrator.say(Topic::Stop, &text);
    closed
}
