//! Output on its way to somebody who watches.

use stdx::bounded::{Utf8Decoder, suffix};
use tokio::sync::mpsc;

/// How much text waits for a slow reader before its oldest part is dropped, in bytes.
const MAX_PENDING: usize = 64 * 1024;

/// Stands where text was dropped.
const DROPPED: &str = "…\n";

/// Sends text to a bounded channel without ever slowing the command.
///
/// When the channel is full, text is merged into one pending piece; past 64 KiB its oldest part is dropped and `…`
/// stands in its place. The complete (bounded) output is in the outcome.
#[derive(Debug)]
pub struct LiveOutput {
    sender: mpsc::Sender<String>,
    decoder: Utf8Decoder,
    pending: String,
}

impl LiveOutput {
    /// Sends to `sender`. A closed channel is no error: nobody watches.
    #[must_use]
    pub fn new(sender: mpsc::Sender<String>) -> Self {
        Self {
            sender,
            decoder: Utf8Decoder::default(),
            pending: String::new(),
        }
    }

    /// Takes bytes as they were read.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let text = self.decoder.push(bytes);
        self.pending.push_str(&text);
        if self.pending.len() > MAX_PENDING {
            self.pending = format!("{DROPPED}{}", suffix(&self.pending, MAX_PENDING / 2));
        }
        self.try_send();
    }

    /// Says whether text waits.
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Waits until the channel takes what is pending. Nothing is lost when the wait is dropped.
    pub(crate) async fn flush(&mut self) {
        if let Ok(permit) = self.sender.reserve().await {
            permit.send(std::mem::take(&mut self.pending));
        } else {
            self.pending.clear();
        }
    }

    /// Takes the end of the output.
    pub(crate) fn finish(&mut self) {
        let rest = self.decoder.finish();
        self.pending.push_str(&rest);
        self.try_send();
    }

    fn try_send(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        match self.sender.try_reserve() {
            Ok(permit) => permit.send(std::mem::take(&mut self.pending)),
            Err(mpsc::error::TrySendError::Full(())) => {}
            Err(mpsc::error::TrySendError::Closed(())) => self.pending.clear(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_when_full_and_drops_the_oldest() {
        let (sender, mut receiver) = mpsc::channel(1);
        let mut live = LiveOutput::new(sender);
        live.push(b"one ");
        live.push(b"two ");
        live.push(b"three");
        assert_eq!(receiver.try_recv().unwrap(), "one ");
        live.push(b"!");
        assert_eq!(receiver.try_recv().unwrap(), "two three!");
        live.push(b"x");
        for _ in 0..100 {
            live.push("汉".repeat(1000).as_bytes());
        }
        assert!(live.pending.len() <= MAX_PENDING && live.pending.starts_with('…'));
    }

    #[test]
    fn a_closed_channel_costs_nothing() {
        let (sender, receiver) = mpsc::channel(1);
        drop(receiver);
        let mut live = LiveOutput::new(sender);
        live.push(b"text");
        assert!(!live.has_pending());
    }
}
