//! Deadlines that stand still while a person (or an agent that asks one) is answering.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use stdx::Secret;

use crate::{Deadlines, Prompter, SecretQuestion};

/// Asks, and knows when somebody is being asked.
#[derive(Clone)]
pub(crate) struct Asker {
    prompter: Arc<dyn Prompter>,
    deadlines: Deadlines,
    /// Odd while somebody is asked; changes at every start and end.
    generation: Arc<AtomicU64>,
}

/// The host did not answer in time.
pub(crate) struct Silent;

/// Marks the time in which somebody is asked.
pub(crate) struct Asking(Arc<AtomicU64>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Asker {
    pub(crate) fn new(prompter: Arc<dyn Prompter>, deadlines: Deadlines) -> Self {
        Self {
            prompter,
            deadlines,
            generation: Arc::default(),
        }
    }

    /// How long an answer of the host may take.
    pub(crate) fn step(&self) -> Duration {
        self.deadlines.login_step
    }

    /// How long reading the key files may take.
    pub(crate) fn files_step(&self) -> Duration {
        self.deadlines.files
    }

    /// How long an agent may take to sign.
    pub(crate) fn agent_step(&self) -> Duration {
        self.deadlines.agent
    }

    /// Marks that somebody is asked until the value is dropped.
    pub(crate) fn asking(&self) -> Asking {
        self.generation.fetch_add(1, Ordering::SeqCst);
        Asking(Arc::clone(&self.generation))
    }

    pub(crate) async fn secret(&self, question: &SecretQuestion) -> Option<Secret> {
        let _asking = self.asking();
        self.prompter.secret(question).await
    }

    pub(crate) fn notice(&self, text: &str) {
        self.prompter.notice(text);
    }

    pub(crate) fn banner(&self, host: &str, text: &str) {
        self.prompter.banner(host, text);
    }

    /// Waits for the host, at most one step without anybody being asked.
    pub(crate) async fn answered<T>(&self, request: impl Future<Output = T>) -> Result<T, Silent> {
        let mut request = pin!(request);
        loop {
            let before = self.generation.load(Ordering::SeqCst);
            match tokio::time::timeout(self.step(), &mut request).await {
                Ok(answer) => return Ok(answer),
                Err(_) if before.is_multiple_of(2) && before == self.generation.load(Ordering::SeqCst) => {
                    return Err(Silent);
                }
                Err(_) => {}
            }
        }
    }
}
