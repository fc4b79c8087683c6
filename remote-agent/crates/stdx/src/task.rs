//! Owned tasks and the one cancellation tree.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::task::{AbortHandle, JoinHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The owner of a group of tasks: it has a name and a token, and closing it waits for the tasks.
///
/// Scopes form a tree (process → session → turn → tool call). Cancelling one cancels everything below it and nothing
/// beside it; closing one waits for everything below it. Cloning gives another handle to the same scope.
#[derive(Clone, Debug)]
pub struct Scope {
    name: &'static str,
    token: CancellationToken,
    /// The scope's own tasks and those below it.
    tasks: Tasks,
    /// The same of every scope above, which wait for these tasks too.
    above: Arc<[Tasks]>,
}

/// Tasks that are waited for together.
#[derive(Clone, Debug, Default)]
struct Tasks {
    tracker: TaskTracker,
    aborts: Arc<Mutex<Vec<AbortHandle>>>,
}

impl Scope {
    /// Makes a root scope.
    #[must_use]
    pub fn root(name: &'static str) -> Self {
        Self {
            name,
            token: CancellationToken::new(),
            tasks: Tasks::default(),
            above: Arc::from([]),
        }
    }

    /// Makes a scope below this one.
    #[must_use]
    pub fn child(&self, name: &'static str) -> Self {
        let above = self.above.iter().chain([&self.tasks]).cloned().collect();
        Self {
            name,
            token: self.token.child_token(),
            tasks: Tasks::default(),
            above,
        }
    }

    /// Gives the name, for logs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Gives the token that tells the tasks of this scope to end.
    #[must_use]
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Starts a task that belongs to this scope.
    ///
    /// The task is expected to watch [`Scope::token`]; if it does not, [`Scope::close`] aborts it after the grace.
    pub fn spawn<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        // The runtime's code for a task is several KiB: made once per kind of output here, not once per task.
        self.spawn_boxed(Box::pin(task))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the replacement the lint names")]
    fn spawn_boxed<T: Send + 'static>(&self, task: Pin<Box<dyn Future<Output = T> + Send>>) -> JoinHandle<T> {
        let owners: Vec<_> = self.above.iter().chain([&self.tasks]).collect();
        let tracked: Vec<_> = owners.iter().map(|owner| owner.tracker.token()).collect();
        let handle = tokio::spawn(async move {
            // Dropped with the task, also when it is aborted.
            let _tracked = tracked;
            task.await
        });
        for owner in owners {
            owner.remember(handle.abort_handle());
        }
        handle
    }

    /// Asks every task of this scope and below it to end, without waiting.
    pub fn cancel(&self) {
        self.token.cancel();
    }

    /// Cancels, waits up to `grace` for the tasks of this scope and below it, then aborts what is left and waits for
    /// that.
    pub async fn close(&self, grace: Duration) {
        self.token.cancel();
        self.tasks.tracker.close();
        if tokio::time::timeout(grace, self.tasks.tracker.wait())
            .await
            .is_err()
        {
            for abort in self
                .tasks
                .aborts
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .drain(..)
            {
                abort.abort();
            }
            self.tasks.tracker.wait().await;
        }
    }
}

impl Tasks {
    fn remember(&self, abort: AbortHandle) {
        let mut aborts = self.aborts.lock().unwrap_or_else(PoisonError::into_inner);
        // Keep the list as long as the number of live tasks, not of all tasks ever started.
        if aborts.len() >= 32 && aborts.len() >= 2 * self.tracker.len() {
            aborts.retain(|abort| !abort.is_finished());
        }
        aborts.push(abort);
    }
}

/// Runs blocking work on the runtime's blocking pool and waits for it.
///
/// # Panics
/// Resumes a panic of `work` in the caller.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    blocking_boxed(Box::new(work)).await
}

/// As for tasks, code of the runtime is made once per kind of output.
#[expect(clippy::disallowed_methods, reason = "this is the replacement the lint names")]
async fn blocking_boxed<T: Send + 'static>(work: Box<dyn FnOnce() -> T + Send>) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only the runtime's shutdown cancels blocking work; the caller is being dropped with it.
            Err(_) => std::future::pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn closing_waits_for_tasks_and_children_see_the_cancel() {
        let root = Scope::root("root");
        let child = root.child("child");
        let token = child.token().clone();
        let task = child.spawn(async move { token.cancelled().await });
        root.close(Duration::from_secs(5)).await;
        child.close(Duration::from_secs(5)).await;
        assert!(task.await.is_ok());
    }

    #[tokio::test]
    async fn closing_waits_for_tasks_below() {
        let root = Scope::root("root");
        let grandchild = root.child("child").child("grandchild");
        let (token, done) = (
            grandchild.token().clone(),
            std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)),
        );
        let seen = std::sync::Arc::clone(&done);
        drop(grandchild.spawn(async move {
            token.cancelled().await;
            tokio::task::yield_now().await;
            done.store(true, std::sync::atomic::Ordering::SeqCst);
        }));
        root.close(Duration::from_secs(5)).await;
        assert!(seen.load(std::sync::atomic::Ordering::SeqCst));
        let stuck = root.child("late").spawn(std::future::pending::<()>());
        root.close(Duration::from_millis(1)).await;
        assert!(stuck.await.is_err_and(|error| error.is_cancelled()));
    }

    #[tokio::test]
    async fn a_task_that_does_not_listen_is_aborted() {
        let scope = Scope::root("root");
        let task = scope.spawn(std::future::pending::<()>());
        scope.close(Duration::from_millis(1)).await;
        assert!(task.await.is_err_and(|error| error.is_cancelled()));
    }

    #[tokio::test]
    async fn cancelling_a_child_leaves_its_sibling() {
        let root = Scope::root("root");
        let (a, b) = (root.child("a"), root.child("b"));
        a.cancel();
        assert!(a.token().is_cancelled() && !b.token().is_cancelled());
    }
}
