//! How many turns run, so that an idle daemon knows that it is one.

use std::sync::Arc;

use tokio::sync::watch;

/// A shared count of running turns.
#[derive(Debug, Clone)]
pub(crate) struct Activity(Arc<watch::Sender<usize>>);

impl Default for Activity {
    fn default() -> Self {
        Self(Arc::new(watch::channel(0).0))
    }
}

impl Activity {
    /// Counts a turn until the guard is dropped.
    pub(crate) fn turn(&self) -> Busy {
        self.0.send_modify(|count| *count += 1);
        Busy(self.clone())
    }

    /// Waits until the count fits.
    pub(crate) async fn wait_for(&self, fits: impl Fn(usize) -> bool) {
        // The sender is held by this very value, so the wait cannot fail.
        drop(self.0.subscribe().wait_for(|count| fits(*count)).await);
    }
}

/// A running turn.
#[derive(Debug)]
pub(crate) struct Busy(Activity);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}
