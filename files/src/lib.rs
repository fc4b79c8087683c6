//! Files of a host: list, copy, edit, over any SFTP session.
//!
//! A [`Host`] stands on [`Channels`], which open byte streams on which SFTP is spoken: sessions of an SSH connection, or
//! streams of the wire. Names are bytes on both sides. A file is written beside its target and renamed over it when it
//! is whole, so whoever looks sees the old file or the new one; what a killed run left is found again by its name and
//! goes on from where it was, or is removed. `docs/FILES.md` says what is promised to a user.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | list, look, read, remove | `host.rs`, `listing.rs` |
//! | change what `*` matches | `glob.rs` |
//! | copy from a host | `get.rs`, `get/` |
//! | copy to a host | `put.rs`, `put/` |
//! | change how a big file is cut up | `segments.rs` |
//! | change what a half-written file is called, and what becomes of it | `part.rs`, `sweep.rs` |
//! | change what counts as a conflict | `state.rs` |
//! | write files of this machine without following links | `local.rs` |
//! | use several channels | `channels.rs` |

mod channels;
mod error;
mod get;
mod glob;
mod host;
mod listing;
mod local;
mod part;
mod progress;
mod put;
mod segments;
mod state;
mod sweep;
mod transfer;

pub use channels::{ByteStream, ChannelError, Channels};
pub use error::{Cause, Error, Side};
pub use get::Get;
pub use host::{Entry, Host, Options, Reader};
pub use progress::{Progress, Snapshot};
pub use put::{Expected, Mode, Put};
pub use sftp::Kind;
pub use state::State;
pub use sweep::sweep_local;
pub use transfer::{Cancel, Note, Outcome, Transfer};
