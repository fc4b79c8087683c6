//! What front ends implement to answer questions, under this crate's name so that they need not know SSH.

use std::sync::{Arc, Mutex, PoisonError};

use stdx::Secret;
pub use transport::{
    Answer, DenyAll, HostKeyAnswer, HostKeyQuestion, KnownKey, Prompter, SecretKind, SecretQuestion,
};

use crate::{
    error::Error,
    progress::{Doings, Stage},
};

/// Passes questions on and lets the state show that somebody is being asked.
pub(crate) struct Shown {
    inner: Arc<dyn Prompter>,
    doings: Doings,
    /// Why a host asks again that was logged in to before; said with the first question.
    why: Mutex<Option<Error>>,
}

impl Shown {
    pub(crate) fn new(inner: Arc<dyn Prompter>, doings: Doings) -> Self {
        let why = Mutex::default();
        Self { inner, doings, why }
    }

    /// Lets the first question say why it comes although nobody did anything.
    pub(crate) fn because(self, lost: Option<Error>) -> Self {
        Self {
            why: Mutex::new(lost),
            ..self
        }
    }

    fn explained(&self, question: &SecretQuestion) -> SecretQuestion {
        let mut question = question.clone();
        let why = self.why.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(why) = why {
            let host = &question.host;
            let reason = format!("The connection to {host} was lost ({why}). To connect again it asks anew.");
            question.instructions = format!("{reason}\n{}", question.instructions)
                .trim_end()
                .to_owned();
        }
        question
    }
}

impl Prompter for Shown {
    fn host_key<'a>(&'a self, question: &'a HostKeyQuestion) -> Answer<'a, HostKeyAnswer> {
        Box::pin(async move {
            let asking = self.doings.asking();
            let answer = self.inner.host_key(question).await;
            asking.answered();
            answer
        })
    }

    fn secret<'a>(&'a self, question: &'a SecretQuestion) -> Answer<'a, Option<Secret>> {
        Box::pin(async move {
            // The first question for a secret is the first sign that the host is being logged in to.
            self.doings.stage(Stage::Authenticating);
            let asking = self.doings.asking();
            let answer = self.inner.secret(&self.explained(question)).await;
            asking.answered();
            answer
        })
    }

    fn confirm<'a>(&'a self, question: &'a str) -> Answer<'a, bool> {
        Box::pin(async move {
            let asking = self.doings.asking();
            let answer = self.inner.confirm(question).await;
            asking.answered();
            answer
        })
    }

    fn notice(&self, text: &str) {
        self.inner.notice(text);
    }

    fn banner(&self, host: &str, text: &str) {
        self.inner.banner(host, text);
    }
}
