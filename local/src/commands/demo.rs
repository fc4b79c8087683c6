//! `reasonix demo`: the whole way on a throwaway host.

use demo::{DemoError, DemoOptions};
use tokio_util::sync::CancellationToken;

use crate::{
    args::DemoArgs,
    ask::visible,
    exit::Exit,
    headless::Signals,
    report::{self, Failure},
    terminal,
};

/// Runs the demo. A signal ends it early; it cleans up all the same.
pub(crate) async fn run(_args: DemoArgs) -> Result<Exit, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(
            Exit::Failed,
            format!("could not find this program's own file: {error}"),
        )
    })?;
    let mut options = DemoOptions::new(program, remote_agent::identity::VERSION, std::env::temp_dir());
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
