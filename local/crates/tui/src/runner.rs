//! Does what the screen wants done; the only part that waits for a network or a disk.

use std::{path::PathBuf, time::Duration};

use link::AgentLink;
use stdx::task::Scope;
use tokio::sync::mpsc;

use crate::{
    effects::Effect,
    msg::{Done, Msg},
    older,
    panes::{composer::remember, transcript::Level},
    ports_task, session_task,
};

/// How long a command that the agent would not take is kept back before it is tried again.
const AGAIN: Duration = Duration::from_millis(250);

/// The runner.
pub(crate) struct Runner {
    link: AgentLink,
    scope: Scope,
    /// The scope of the session that is followed.
    followed: Option<Scope>,
    results: mpsc::Sender<Msg>,
    history: Option<mpsc::Sender<String>>,
}

impl Runner {
    pub(crate) fn new(
        link: AgentLink,
        history_file: Option<PathBuf>,
        results: mpsc::Sender<Msg>,
        scope: &Scope,
    ) -> Self {
        let scope = scope.child("screen effects");
        let history = history_file.map(|file| {
            // Bounded; a disk that hangs loses history, not time.
            let (sender, lines) = mpsc::channel(64);
            scope.spawn(keep_history(file, lines));
            sender
        });
        Self {
            link,
            scope,
            followed: None,
            results,
            history,
        }
    }

    /// Does what needs no terminal.
    pub(crate) fn run(&mut self, effect: Effect) {
        match effect {
            Effect::Follow(wanted) => {
                if let Some(before) = self.followed.take() {
                    before.cancel();
                }
                let scope = self.scope.child("followed session");
                let token = scope.token().clone();
                let task = session_task::follow(self.link.clone(), wanted, self.results.clone());
                scope.spawn(async move { token.run_until_cancelled(task).await });
                self.followed = Some(scope);
            }
            Effect::Send(session, request) => {
                let client = self.link.agent().session(session);
                self.answer(async move {
                    let result = client.command(&request).await;
                    if result.as_ref().is_err_and(client::Error::is_retryable) {
                        tokio::time::sleep(AGAIN).await;
                    }
                    Done::Command(request.id, result)
                });
            }
            Effect::ListSessions => {
                let agent = self.link.agent();
                self.answer(async move {
                    let list = agent.sessions().await;
                    Done::Sessions(list.map(|list| list.sessions))
                });
            }
            Effect::Older(session, count) => {
                let client = self.link.agent().session(session);
                self.answer(async move { Done::Older(session, older::fetch(client, count).await) });
            }
            Effect::Ports(ask, after, dialog) => {
                let link = self.link.clone();
                self.answer(async move {
                    tokio::time::sleep(after).await;
                    Done::Ports(ports_task::perform(link, ask).await, dialog)
                });
            }
            Effect::Retry => self.link.retry_now(),
            Effect::Remember(line) => {
                if let Some(history) = &self.history
                    && let Err(error) = history.try_send(line)
                {
                    tracing::debug!(%error, "a prompt was not kept");
                }
            }
            Effect::Export(file, text) => {
                self.answer(async move { stdx::task::blocking(move || export(file, &text)).await });
            }
            Effect::Copy(_) | Effect::Mouse(_) | Effect::Redraw | Effect::Suspend | Effect::Quit(_) => {}
        }
    }

    /// Awaits something beside the screen and gives its result back as a message.
    fn answer(&self, work: impl Future<Output = Done> + Send + 'static) {
        let results = self.results.clone();
        let token = self.scope.token().clone();
        self.scope.spawn(async move {
            if let Some(done) = token.run_until_cancelled(work).await {
                // A screen that is gone needs no result.
                drop(results.send(Msg::Done(done)).await);
            }
        });
    }

    /// Ends everything that is under way.
    pub(crate) async fn close(self) {
        drop(self.history);
        self.scope.close(Duration::from_millis(200)).await;
    }
}

/// Adds prompts to the history file as they come.
async fn keep_history(file: PathBuf, mut lines: mpsc::Receiver<String>) {
    while let Some(line) = lines.recv().await {
        let file = file.clone();
        let written = stdx::task::blocking(move || remember(&file, &line)).await;
        if let Err(error) = written {
            tracing::debug!(%error, "a prompt was not kept");
        }
    }
}

/// Writes an export into a new file, which is its owner's alone, as the session's log is; nothing is overwritten.
fn export(file: Option<String>, text: &str) -> Done {
    use std::{fs::OpenOptions, io::Write as _, os::unix::fs::OpenOptionsExt as _};
    let stamp = stdx::clock::rfc3339_now();
    let stamp: String = stamp.chars().filter(char::is_ascii_digit).take(14).collect();
    let file = PathBuf::from(file.unwrap_or_else(|| format!("reasonix-{stamp}.md")));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&file)
        .and_then(|mut out| out.write_all(text.as_bytes()));
    match written {
        Ok(()) => Done::Told(Level::Info, format!("Written to {}.", file.display())),
        Err(error) => Done::Told(
            Level::Error,
            format!("Could not write {}: {error}", file.display()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn an_export_is_its_owners_alone_and_overwrites_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out.md");
        let name = Some(file.display().to_string());
        assert!(matches!(export(name.clone(), "one"), Done::Told(Level::Info, _)));
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(matches!(export(name, "two"), Done::Told(Level::Error, _)));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "one");
    }
}
