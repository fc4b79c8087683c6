//! Model access through this machine: what a host may have asked, and how it is asked (workbench 7).
//!
//! ```text
//! announcements ─► machine ─► fetch ─► check ─► ask the vendor ─► spool ─► deliver, by offset
//! (announce.rs)   (pure)               (policy.rs)  (vendor.rs)   (spool.rs)
//! ```
//!
//! The key is put in here and goes to the vendor only. A link that drops ends a delivery and nothing else: the vendor's
//! answer goes on coming in, and what the host does not have yet is delivered when the link is back.

mod announce;
mod identity;
mod machine;
mod policy;
mod serve;
mod spool;
mod vendor;

use std::{fmt, path::PathBuf, time::Duration};

use stdx::Secret;

pub(crate) use self::serve::Service;

/// What is asked for a host, and with what. It comes from the user's own configuration.
#[derive(Debug, Clone)]
pub struct BrokerOptions {
    /// Where requests may go. Whatever is not here is refused.
    pub endpoints: Vec<Endpoint>,
    /// How many requests are made in the life of the link.
    pub max_requests: u32,
    /// How long a request may have waited and still be made; zero means for ever.
    pub expires: Duration,
    /// A folder (0700, made when missing) in which running brokers of this machine hold locks, so that a later one knows
    /// which of them are dead. `None`: what a dead one had claimed is free after a while by itself.
    pub registry: Option<PathBuf>,
}

/// One address that may be asked, for one provider.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// What the configuration calls the provider.
    pub provider: String,
    /// The exact address of requests, as `vendor_http::Endpoint` writes it.
    pub url: String,
    /// The key.
    pub key: Key,
    /// Further headers of requests.
    pub headers: Vec<(String, Secret)>,
}

/// The key of an endpoint.
#[derive(Debug, Clone)]
pub enum Key {
    /// It needs none.
    NotNeeded,
    /// It is here.
    Here(Secret),
    /// It should be in the entry of this name, and is not.
    Missing(String),
}

/// What goes on with requests for a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrokerState {
    /// Requests that wait for others to end.
    pub waiting: usize,
    /// Requests whose answers are under way.
    pub answering: usize,
    /// Answers that the host has whole.
    pub answered: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// How many requests may still be made.
    pub budget_left: u32,
    /// Why the newest one was refused.
    pub refusal: Option<Refusal>,
    /// Whether the agent there knows nothing of brokers.
    pub is_unknown_there: bool,
}

/// Why a request is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The class.
    pub kind: RefusalKind,
    /// What is refused, and why.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// The class of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The address, or the request itself, is not allowed.
    NotAllowed,
    /// There is no key.
    NoKey,
    /// As many requests as allowed were made.
    Budget,
    /// It has waited too long.
    Expired,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
