//! Port forwarding to and from a host: rules, listeners that survive a re-dial, two-way copies.
//!
//! `-L` and `-D` listen here and connect there, `-R` listens there and connects here. A connection goes as a plain SSH
//! channel or as a byte stream through the agent; docs/FORWARDS.md has the picture and the rules of choice. Over plain SSH a
//! reader that stands still for 16 MiB loses its own connection, see `transport`; through the agent it only waits.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | read or print `L:8080:db:5432` | `spec` |
//! | know what is shown about a rule | `table`, `reporter` |
//! | add, remove, re-dial | `supervisor` |
//! | change how a listener accepts and connects | `local` (-L, -D), `remote` (-R), `near` (sockets of this machine) |
//! | change what SOCKS clients may ask | `socks` |
//! | change which way a connection goes | `ways`; `ssh` knows what sshd allows, `carrier` is the other way |
//! | change how bytes are copied | `copy` |
//! | name who has a port | `owner` |

mod carrier;
mod copy;
mod error;
mod local;
mod near;
mod owner;
mod remote;
mod reporter;
mod socks;
mod spec;
mod ssh;
mod supervisor;
mod table;
mod ways;

pub use carrier::{Accepted, BoxFuture, Bytes, Carrier, Incoming, Refusal, RefusalKind};
pub use error::Error;
pub use owner::Owner;
pub use spec::{Endpoint, Kind, Spec, Via};
pub use supervisor::{ForwardOptions, Forwards};
pub use table::{LastError, RuleId, RuleSnapshot, RuleState, Way};
