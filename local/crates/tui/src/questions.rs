//! Questions of the link, carried to the screen.

use std::sync::Arc;

use link::{Answer, HostKeyAnswer, HostKeyQuestion, Prompter, SecretQuestion};
use stdx::Secret;
use tokio::sync::{mpsc, oneshot};

/// How many questions may wait for the screen; a link asks one at a time, and more than a few would be an attack.
const WAITING: usize = 16;

/// Makes the two ends: what a link asks, and what [`crate::run`] shows.
#[must_use]
pub fn questions() -> (Arc<dyn Prompter>, Questions) {
    let (sender, receiver) = mpsc::channel(WAITING);
    (Arc::new(OnScreen(sender)), Questions(receiver))
}

/// The screen's end.
#[derive(Debug)]
pub struct Questions(mpsc::Receiver<Question>);

impl Questions {
    /// Waits for the next question; `None` when nobody can ask any more.
    pub async fn next(&mut self) -> Option<Question> {
        self.0.recv().await
    }
}

/// One question with the way back. A dropped sender is a refusal; a sender whose receiver is gone
/// ([`oneshot::Sender::is_closed`]) belongs to an attempt that was given up, and its dialog goes away.
#[derive(Debug)]
pub enum Question {
    /// An unknown host key.
    HostKey(HostKeyQuestion, oneshot::Sender<HostKeyAnswer>),
    /// A secret.
    Secret(SecretQuestion, oneshot::Sender<Option<Secret>>),
    /// Yes or no.
    Confirm(String, oneshot::Sender<bool>),
    /// A text of the host, to be shown; untrusted.
    Notice(String),
}

/// The link's end: fails closed when the screen is gone.
struct OnScreen(mpsc::Sender<Question>);

impl OnScreen {
    async fn ask<T>(&self, make: impl FnOnce(oneshot::Sender<T>) -> Question, closed: T) -> T {
        let (sender, answer) = oneshot::channel();
        if self.0.send(make(sender)).await.is_err() {
            return closed;
        }
        answer.await.unwrap_or(closed)
    }
}

impl Prompter for OnScreen {
    fn host_key<'a>(&'a self, question: &'a HostKeyQuestion) -> Answer<'a, HostKeyAnswer> {
        let question = question.clone();
        Box::pin(self.ask(
            |answer| Question::HostKey(question, answer),
            HostKeyAnswer::Refuse,
        ))
    }

    fn secret<'a>(&'a self, question: &'a SecretQuestion) -> Answer<'a, Option<Secret>> {
        let question = question.clone();
        Box::pin(self.ask(|answer| Question::Secret(question, answer), None))
    }

    fn confirm<'a>(&'a self, question: &'a str) -> Answer<'a, bool> {
        let question = question.to_owned();
        Box::pin(self.ask(|answer| Question::Confirm(question, answer), false))
    }

    fn notice(&self, text: &str) {
        // A banner that finds no room is not worth waiting for.
        if let Err(error) = self.0.try_send(Question::Notice(text.to_owned())) {
            tracing::debug!(%error, "a notice of the host was not shown");
        }
    }
}
