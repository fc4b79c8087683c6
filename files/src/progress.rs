//! How far a transfer is.

use tokio::sync::watch;

/// Where a transfer tells how far it is. A slow watcher misses steps and sees the newest; it holds up nothing.
#[derive(Debug, Clone)]
pub struct Progress(watch::Sender<Snapshot>);

/// How far a transfer is. Totals are what is known by now; they grow while a tree is walked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Bytes carried over, with those that an earlier run left.
    pub bytes: u64,
    /// Bytes to carry.
    pub all_bytes: u64,
    /// Files that are in place.
    pub files: u64,
    /// Files to carry.
    pub all_files: u64,
    /// The path that was worked on last, for a person.
    pub current: String,
}

impl Default for Progress {
    fn default() -> Self {
        Self::new().0
    }
}

impl Progress {
    /// Makes both ends.
    #[must_use]
    pub fn new() -> (Self, watch::Receiver<Snapshot>) {
        let (sender, receiver) = watch::channel(Snapshot::default());
        (Self(sender), receiver)
    }

    pub(crate) fn found(&self, bytes: u64) {
        self.0.send_modify(|snapshot| {
            snapshot.all_bytes += bytes;
            snapshot.all_files += 1;
        });
    }

    pub(crate) fn current(&self, path: &[u8]) {
        self.0
            .send_modify(|snapshot| snapshot.current = sftp::name::show(path));
    }

    pub(crate) fn moved(&self, bytes: u64) {
        self.0.send_modify(|snapshot| snapshot.bytes += bytes);
    }

    pub(crate) fn placed(&self) {
        self.0.send_modify(|snapshot| snapshot.files += 1);
    }
}
