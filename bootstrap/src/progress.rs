//! What a person may be shown while bootstrap runs.

use crate::error::Stage;

/// One thing worth showing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// A stage began.
    Stage(Stage),
    /// So many bytes of the program were handed to the connection, of so many. After a resumed upload `done` starts
    /// above zero.
    Uploaded {
        /// Bytes so far, uncompressed.
        done: u64,
        /// Size of the program.
        total: u64,
    },
}

/// Where updates go. Called from within polling, so an implementation must return at once.
pub trait Progress: Send + Sync {
    /// Takes one update.
    fn update(&self, update: Update);
}

/// Shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn update(&self, _: Update) {}
}
