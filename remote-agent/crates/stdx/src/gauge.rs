//! A shared count of things that are going on, which others can wait on.

use std::sync::Arc;

use tokio::sync::watch;

/// The count. Cloning gives another handle to the same one.
#[derive(Debug, Clone)]
pub struct Gauge(Arc<watch::Sender<usize>>);

/// One thing that is going on; it ends when this is dropped.
#[derive(Debug)]
#[must_use = "what is dropped at once is not going on"]
pub struct Ongoing(Gauge);

impl Default for Gauge {
    fn default() -> Self {
        Self(Arc::new(watch::channel(0).0))
    }
}

impl Gauge {
    /// Counts one thing until the guard is dropped.
    pub fn begin(&self) -> Ongoing {
        self.0.send_modify(|count| *count += 1);
        Ongoing(self.clone())
    }

    /// Gives the count.
    #[must_use]
    pub fn count(&self) -> usize {
        *self.0.borrow()
    }

    /// Waits until nothing is going on.
    pub async fn none(&self) {
        self.wait(|count| count == 0).await;
    }

    /// Waits until something is going on.
    pub async fn some(&self) {
        self.wait(|count| count > 0).await;
    }

    async fn wait(&self, fits: impl Fn(usize) -> bool) {
        // The sender is held by this very value, so the wait cannot fail.
        drop(self.0.subscribe().wait_for(|count| fits(*count)).await);
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn counts_what_is_going_on() {
        let gauge = Gauge::default();
        gauge.none().await;
        let (first, second) = (gauge.begin(), gauge.begin());
        gauge.some().await;
        drop(first);
        assert_eq!(gauge.count(), 1);
        drop(second);
        gauge.none().await;
    }
}
