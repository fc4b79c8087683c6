//! Port forwarding over an SSH connection: rules, listeners that survive a re-dial, two-way copies.
//!
//! So far local forwards (`-L`) are carried out; the other kinds are parsed and refused by name. Each forwarded
//! connection is one SSH channel: a reader that stands still for 16 MiB loses its own connection, see `transport`.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | read or print `L:8080:db:5432` | `spec` |
//! | know what is shown about a rule | `table` |
//! | change how a listener accepts and connects | `local` |
//! | change how bytes are copied | `copy` |
//! | add, remove, re-dial | `supervisor` |

mod carrier;
mod copy;
mod error;
mod local;
mod owner;
mod spec;
mod supervisor;
mod table;

pub use carrier::{BoxFuture, Bytes, Carrier, Incoming, Refusal, RefusalKind};
pub use error::Error;
pub use owner::Owner;
pub use spec::{Endpoint, Kind, Spec, Via};
pub use supervisor::{ForwardOptions, Forwards};
pub use table::{LastError, RuleId, RuleSnapshot, RuleState, Way};
