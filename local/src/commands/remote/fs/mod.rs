//! `reasonix remote fs`: files of a host.

mod cat;
mod copy;
mod edit;
mod editor;
mod ls;
mod place;
mod show;
mod way;

use files::Cancel;
use sftp::name::show as shown;

use self::way::Reached;
use crate::{args::FsCommand, exit::Exit, headless::Signals, invocation::Invocation, report::Failure};

/// Picks the command.
pub(crate) async fn run(invocation: &Invocation, command: FsCommand) -> Result<Exit, Failure> {
    match command {
        FsCommand::Ls(args) => until_signal(ls::run(invocation, &args)).await,
        FsCommand::Cat(args) => until_signal(cat::run(invocation, &args)).await,
        FsCommand::Get(args) => with_cancel(async |cancel| copy::get(invocation, &args, cancel).await).await,
        FsCommand::Put(args) => with_cancel(async |cancel| copy::put(invocation, &args, cancel).await).await,
        FsCommand::Edit(args) => edit::run(invocation, &args).await,
    }
}

/// Runs what leaves nothing behind, so that it may simply end.
async fn until_signal(work: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let mut signals = Signals::new()?;
    tokio::select! {
        biased;
        _signal = signals.next() => Ok(Exit::Interrupted),
        outcome = work => outcome,
    }
}

/// Runs what cleans up after itself: the first Ctrl-C asks it to, the second does not wait.
async fn with_cancel(work: impl AsyncFnOnce(Cancel) -> Result<Exit, Failure>) -> Result<Exit, Failure> {
    let mut signals = Signals::new()?;
    let cancel = Cancel::new();
    let mut work = std::pin::pin!(work(cancel.clone()));
    tokio::select! {
        biased;
        _signal = signals.next() => cancel.cancel(),
        outcome = &mut work => return outcome,
    }
    tokio::select! {
        biased;
        _signal = signals.next() => Ok(Exit::Interrupted),
        outcome = work => outcome,
    }
}

/// Opens a host unless the person has enough of it first.
async fn open(invocation: &Invocation, host: &str, cancel: &Cancel) -> Result<Reached, Failure> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Failure::new(Exit::Interrupted, "interrupted; nothing was begun")),
        reached = Reached::open(invocation, host) => reached,
    }
}

/// Finds what a path means: the very name where it exists, else what it matches as a pattern.
async fn found(reached: &Reached, path: &[u8]) -> Result<Vec<Vec<u8>>, Failure> {
    let files = &reached.files;
    match files.stat(path, false).await {
        Ok(entry) => return Ok(vec![entry.name]),
        Err(error) if !error.is_missing() || !is_pattern(path) => return Err(reached.failure(&error)),
        Err(_) => {}
    }
    let matched = files.glob(path).await.map_err(|error| reached.failure(&error))?;
    if matched.is_empty() {
        let message = format!("{}: nothing matches {}", reached.name, shown(path));
        let hint = format!(
            "`reasonix remote fs ls -a {}:` shows what is in the home, where a path begins; a name with a dot in front needs one in the pattern",
            reached.name
        );
        return Err(Failure::new(Exit::Failed, message).hint(hint).on(&reached.name));
    }
    Ok(matched)
}

/// States what failed where a single file is meant, for which `--recursive` is no way out.
fn of_one(reached: &Reached, error: &files::Error) -> Failure {
    let failure = reached.failure(error);
    if !matches!(error.cause(), files::Cause::WrongKind(_)) {
        return failure;
    }
    let host = &reached.name;
    failure.hint(format!(
        "name a file: `reasonix remote fs ls {host}:FOLDER` lists what is in a folder, `get -r` copies it"
    ))
}

fn is_pattern(path: &[u8]) -> bool {
    path.iter().any(|byte| b"*?[".contains(byte))
}
