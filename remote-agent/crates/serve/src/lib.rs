//! The HTTP face of the agent: routes, event streams, who may call, and where calls come from.
//!
//! A [`router()`] answers the calls of `docs/PROTOCOL.md` for the sessions of one [`controller::Manager`]. It is served
//! over any byte stream ([`serve_stream`]: a pipe inside this process, standard input and output, an accepted socket)
//! or over a unix socket of its own user ([`bind_unix`], [`serve_unix`]). There is no TCP listener.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | find the code behind a call | `router.rs`, then `handlers/`, one file per resource |
//! | change how requests are decoded | `body.rs` |
//! | change the status of an error | `error.rs` |
//! | see how a request reaches the daemon that has its session | `forward.rs` |
//! | change how events are written, when a snapshot comes first, keep-alives | `sse.rs` |
//! | change what a byte stream leads to | `streams/`, one file per kind of target |
//! | change who may call | `auth.rs` |
//! | change HTTP/1.1, HTTP/2 and socket details | `listen.rs` |

mod auth;
mod body;
mod error;
mod forward;
mod handlers;
mod listen;
mod router;
mod sse;
mod streams;

pub use axum::Router;
pub use error::Error;
pub use listen::{Silence, bind_unix, serve_stream, serve_stream_until, serve_unix};
pub use router::{Options, router};
pub use streams::Listeners;
