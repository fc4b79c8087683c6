//! `reasonix demo`: the whole way on a throwaway host, on the screen or as lines.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    task::Poll,
    thread,
    time::Duration,
};

use demo::{Audience, Companion, DemoError, DemoHost, DemoOptions, Summary};
use link::AgentLink;
use stdx::task::Scope;
use tokio_util::sync::CancellationToken;
use tui::{Appearance, Ending, Opening, Questions, TuiOptions, Why};

use crate::{
    args::DemoArgs,
    ask::visible,
    exit::Exit,
    headless::Signals,
    invocation::Invocation,
    report::{self, Failure},
    screen, terminal,
};

/// How long the screen's tasks have to end.
const GRACE: Duration = Duration::from_secs(1);

/// What the screen says first.
const INTRODUCTION: &str = "\
A throwaway host on this machine has a repository whose test fails. Press Enter to have it fixed.
On the way you approve a change, and the connection is cut in mid-sentence. The model is a script.";

/// Says whether the demo is shown on the screen.
pub(crate) fn opens_screen(invocation: &Invocation, args: &DemoArgs) -> bool {
    !args.plain && screen::is_possible(invocation)
}

/// Runs the demo by itself and prints lines. A signal ends it early; it cleans up all the same.
pub(crate) async fn run() -> Result<Exit, Failure> {
    let mut options = options(Audience::Readers)?;
    let token = CancellationToken::new();
    options.token = token.clone();
    let mut signals = Signals::new()?;
    let mut show = |line: demo::Line| terminal::line(&visible(&line.to_string()));
    let mut playing = std::pin::pin!(demo::run(options, &mut show));
    let outcome = loop {
        tokio::select! {
            biased;
            _signal = signals.next() => token.cancel(),
            outcome = &mut playing => break outcome,
        }
    };
    match outcome {
        Ok(summary) => {
            terminal::line(&summary.to_string());
            Ok(Exit::Success)
        }
        Err(error) => Err(failure(&error)),
    }
}

/// Shows the demo on the screen, where a person asks for the work. Whatever ends the screen, a signal or a panic
/// included, the host is cleaned up after it.
pub(crate) async fn on_screen(invocation: &Invocation) -> Result<Exit, Failure> {
    // A signal that comes before the screen or after it must not end the process before everything is cleaned up.
    let _signals = Signals::new()?;
    let (prompter, questions) = tui::questions();
    let opened = DemoHost::open(&options(Audience::Person)?, prompter).await;
    let demo = opened.map_err(|error| failure(&error))?;
    let scope = Scope::root("screen");
    let mut companion = demo.companion();
    let showing = show(&demo, questions, appearance(invocation), &mut companion, &scope);
    let shown = caught(showing).await;
    let verdict = companion.verdict().await;
    scope.close(GRACE).await;
    let closed = demo.close().await;
    let ending = match shown {
        Ok(ending) => ending?,
        Err(panic) => resume_unwind(panic),
    };
    tell(ending, verdict, closed)
}

/// Shows the screen, with the companion beside it.
async fn show(
    demo: &DemoHost,
    questions: Questions,
    appearance: Appearance,
    companion: &mut Companion<'_>,
    scope: &Scope,
) -> Result<Ending, Failure> {
    let options = TuiOptions {
        opening: Opening::New(demo.session()),
        draft: DemoHost::task().to_owned(),
        history_file: None,
        version: remote_agent::identity::VERSION.to_owned(),
        introduction: INTRODUCTION.to_owned(),
        appearance,
        way_back: String::new(),
        mouse: true,
    };
    let link = AgentLink::from(demo.link().clone());
    let mut showing = std::pin::pin!(tui::run(link, questions, options, scope));
    let ended = tokio::select! {
        biased;
        ended = &mut showing => ended,
        () = companion.follow() => showing.await,
    };
    ended.map_err(|error| Failure::new(Exit::Failed, report::chain(&error)))
}

/// Waits for a future and gives its panic, if it does.
async fn caught<T>(future: impl Future<Output = T>) -> thread::Result<T> {
    let mut future = std::pin::pin!(future);
    poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(panic) => Poll::Ready(Err(panic)),
        },
    )
    .await
}

/// Leaves the end of the transcript and the summary on the normal screen.
fn tell(
    ending: Ending,
    verdict: Result<Option<Summary>, DemoError>,
    closed: Result<(), DemoError>,
) -> Result<Exit, Failure> {
    for line in &ending.tail {
        terminal::line(&visible(line));
    }
    if let Why::Failed(error) = ending.why {
        return Err(error.into());
    }
    let summary = verdict.map_err(|error| failure(&error))?;
    closed.map_err(|error| failure(&error))?;
    match &summary {
        Some(summary) => terminal::line(&summary.to_string()),
        None => {
            terminal::line("demo: left before its end; the agent has ended, the throwaway folder is removed");
        }
    }
    Ok(match ending.why {
        Why::Signal => Exit::Interrupted,
        _ => Exit::Success,
    })
}

fn appearance(invocation: &Invocation) -> Appearance {
    if invocation.variable("NO_COLOR").unwrap_or_default().is_empty() {
        Appearance::Auto
    } else {
        Appearance::Plain
    }
}

fn options(audience: Audience) -> Result<DemoOptions, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(
            Exit::Failed,
            format!("could not find this program's own file: {error}"),
        )
    })?;
    let temporary = std::env::temp_dir();
    Ok(DemoOptions {
        audience,
        ..DemoOptions::new(program, remote_agent::identity::VERSION, temporary)
    })
}

fn failure(error: &DemoError) -> Failure {
    let exit = if matches!(error, DemoError::Interrupted) {
        Exit::Interrupted
    } else {
        Exit::Failed
    };
    let mut message = report::chain(error);
    for detail in error.details() {
        message.push_str("\n  ");
        message.push_str(&visible(&detail));
    }
    Failure::new(exit, message).maybe_hint(error.hint())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_kept_until_after_the_cleaning() {
        assert_eq!(caught(async { 3 }).await.unwrap(), 3);
        let panic = caught(async {
            tokio::task::yield_now().await;
            panic!("drawn wrongly");
        })
        .await
        .unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"drawn wrongly"));
    }
}
