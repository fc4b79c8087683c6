//! An HTTP client for the endpoints of model vendors: roots, proxy, timeouts, keep-alive. It knows no vendor's format and
//! not where a key comes from.
//!
//! It follows no redirect and tries nothing again: a redirect could carry a key elsewhere, and attempts are counted by
//! whoever asks.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | ask an endpoint | [`Client::post`] |
//! | know what is a URL here, and which one is this machine's own | [`Endpoint`] in `endpoint.rs` |
//! | put a key into a header | [`Headers`] in `headers.rs` |
//! | change how certificates, proxies and connections are handled | `client.rs` |
//! | change what a failure says | `error.rs` |

mod client;
mod endpoint;
mod error;
mod headers;

pub use client::{Answer, Client, Options};
pub use endpoint::Endpoint;
pub use error::{Error, Transport};
pub use headers::Headers;
