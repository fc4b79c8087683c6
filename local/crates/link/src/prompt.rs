//! What front ends implement to answer questions, under this crate's name so that they need not know SSH.

use std::sync::Arc;

use stdx::Secret;
pub use transport::{
    Answer, DenyAll, HostKeyAnswer, HostKeyQuestion, KnownKey, Prompter, SecretKind, SecretQuestion,
};

use crate::progress::{Doings, Stage};

/// Passes questions on and lets the state show that somebody is being asked.
pub(crate) struct Shown {
    pub(crate) inner: Arc<dyn Prompter>,
    pub(crate) doings: Doings,
}

impl Prompter for Shown {
    fn host_key<'a>(&'a self, question: &'a HostKeyQuestion) -> Answer<'a, HostKeyAnswer> {
        Box::pin(async move {
            let _asking = self.doings.asking();
            self.inner.host_key(question).await
        })
    }

    fn secret<'a>(&'a self, question: &'a SecretQuestion) -> Answer<'a, Option<Secret>> {
        Box::pin(async move {
            // The first question for a secret is the first sign that the host is being logged in to.
            self.doings.stage(Stage::Authenticating);
            let _asking = self.doings.asking();
            self.inner.secret(question).await
        })
    }

    fn confirm<'a>(&'a self, question: &'a str) -> Answer<'a, bool> {
        Box::pin(async move {
            let _asking = self.doings.asking();
            self.inner.confirm(question).await
        })
    }

    fn notice(&self, text: &str) {
        self.inner.notice(text);
    }
}
