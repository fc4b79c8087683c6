//! The durable log of a session, the folders it lives in, and what a log means when it is read again.
//!
//! A session is one append-only file of numbered records. Everything else (the conversation, the wire events, lists)
//! is computed from it. This crate writes and reads that file, survives its damage, keeps writers apart, and folds the
//! records into the state that the session had; it knows neither the agent's loop nor the wire.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | see what a log can say | [`record`] |
//! | know the bytes of a line, its checksum, large content | `line.rs`, `blob.rs` |
//! | write records, open a log after a crash | [`Log`] in `log.rs` |
//! | read records at any number while they are written | [`LogReader`] in `reader.rs` |
//! | see how damage is skipped and told | `scan.rs`, [`Notice`] in `notice.rs` |
//! | keep a second writer out | [`Lease`] in `lease.rs` |
//! | find, list and make sessions | [`Sessions`] in `index.rs`, folder names in `slug.rs` |
//! | get the state back from the records | [`Replayed`] in `replay.rs`, its messages in `transcript.rs` |
//! | close what a crash left open | [`recover()`] in `recover.rs` |

mod blob;
mod error;
mod index;
mod lease;
mod line;
mod log;
mod notice;
mod reader;
pub mod record;
mod recover;
mod replay;
mod scan;
mod slug;
mod summary;
mod transcript;

pub use error::StoreError;
pub use index::{SessionDir, Sessions};
pub use lease::{Holder, Lease};
pub use line::{DAMAGED, FORMAT_VERSION, LINE_MAX, Stored};
pub use log::Log;
pub use notice::{Notice, Problem};
pub use reader::LogReader;
pub use record::Record;
pub use recover::recover;
pub use replay::{
    Counters, Model, OpenCall, OpenPrompt, OpenTurn, Opened, Partial, Phase, Prefix, Queued, Receipt,
    Replayed, replay,
};
pub use slug::workspace_slug;
pub use summary::Summary;
pub use transcript::INTERRUPTED_MARK;
