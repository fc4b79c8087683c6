//! Parked requests to model vendors, answered by a client that holds the key.
//!
//! A turn without a key parks each attempt to ask a vendor at the [`Desk`] and waits for the answer. A *broker*, a program
//! on a machine that has the keys, is told of it, fetches it, asks the vendor and delivers the answer's bytes, which can
//! be taken up again at any offset. No key is ever here: requests hold only header fields that are no credentials, and
//! answers live in memory until the turn takes them.
//!
//! ```text
//! turn   ── park ──▶ Parked ──▶ Desk ◀── announce, fetch, deliver ── broker
//!         ◀─ news ──            │
//!                               └─ Machine (pure): who serves what, what has come, what is void
//! ```
//!
//! | I want to… | Open |
//! | --- | --- |
//! | change who serves a request, or when a claim moves | `machine/claims.rs` (pure) |
//! | change how an answer is taken in | `machine/answers.rs` (pure) |
//! | see how tasks wait for the desk | `desk.rs` |
//! | change the frames of an answer | `protocol::broker::answer` |

mod desk;
mod machine;

pub use desk::{Announcements, Delivery, Desk, Parked};
pub use machine::{Ask, News, ParkError, Refusal};
pub use protocol::{
    BrokerRequest, SessionId,
    broker::{AnswerEnd, AnswerError, AnswerErrorKind, AnswerHead, PlainHeaders, carries_credentials},
};
