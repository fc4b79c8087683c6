//! Gates: a reply waits at one until a test opens it, so that no test has to guess a time.

use std::sync::Arc;

use tokio::sync::watch;

/// A handle to a gate of a running script.
#[derive(Debug, Clone)]
pub struct Gate {
    state: Arc<watch::Sender<State>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    arrivals: usize,
    open: bool,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self {
            state: Arc::new(watch::Sender::new(State::default())),
        }
    }

    /// Opens the gate for those who wait and for those who come later.
    pub fn open(&self) {
        self.state.send_modify(|state| state.open = true);
    }

    /// Closes the gate for those who come later.
    pub fn close(&self) {
        self.state.send_modify(|state| state.open = false);
    }

    /// Waits until `count` replies have come to the gate.
    pub async fn reached(&self, count: usize) {
        // The sender lives as long as `self`, so waiting cannot fail.
        if self
            .state
            .subscribe()
            .wait_for(|state| state.arrivals >= count)
            .await
            .is_err()
        {
            std::future::pending::<()>().await;
        }
    }

    /// Comes to the gate and waits until it is open.
    pub(crate) async fn pass(&self) {
        self.state.send_modify(|state| state.arrivals += 1);
        if self.state.subscribe().wait_for(|state| state.open).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
