//! Model vendors: a request goes in, a stream of decoded items comes out.
//!
//! A [`Provider`] is one endpoint with its key. Which wire format it speaks is its kind; [`build`] makes a provider
//! from a kind and plain options. The crate knows vendors' formats, HTTP, retries and prices; it knows nothing of
//! tools' behaviour, sessions or settings files.
//!
//! What a stream promises:
//!
//! * Every attempt sends the same bytes; one budget of attempts covers statuses, connections, cut streams, nonsense and
//!   empty answers.
//! * [`StreamItem::Retrying`] voids everything before it. Tool calls come only when the answer is complete, so a cut
//!   stream never runs one.
//! * The stream ends after [`StreamItem::Finish`] or after one error.
//! * [`StreamItem::AskedAgain`] voids in the same way, and spends no attempt.
//! * A key appears in no item, error or log.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | support a vendor that speaks chat completions but oddly | `openai/quirks.rs` |
//! | support another wire format | `protocol.rs`, then a folder like `openai/` and a line in `registry.rs` |
//! | change when and how long to wait | `retry.rs` |
//! | change what a failure says | `error.rs`; what a status means: `judge.rs` |
//! | see how a request is asked through who has its key | `brokered.rs`, then the `broker` crate |

mod brokered;
mod error;
mod exchange;
mod http;
mod item;
mod judge;
mod openai;
mod price;
mod protocol;
mod registry;
mod request;
mod retry;
mod sse;
mod stream;
mod vendor_error;

pub use error::{Cause, Error};
pub use item::{Call, StreamItem};
pub use openai::ReasoningProtocol;
pub use price::{Currency, Price};
pub use registry::{KINDS, build, build_brokered};
pub use request::{Options, Request};
pub use retry::Policy;
pub use stream::{ItemStream, Provider};
