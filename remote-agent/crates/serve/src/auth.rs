//! Who may call.
//!
//! Whoever can open the byte stream is the user: the socket lies in a folder of that user alone, and the kernel says
//! which user connected. What is left to refuse is a web page that a browser on the same machine was led to send.

use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::header;
use protocol::ErrorCode;
use rustix::process::Uid;

use crate::error::Failure;

/// Says whether a peer of this user may talk to us. Root may do so anyway by other means, but has no reason to.
pub(crate) fn may_connect(peer: u32, own: Uid) -> bool {
    peer == own.as_raw()
}

/// Refuses requests of web pages. No page belongs to this agent, so every `Origin` is a foreign one; no answer carries
/// CORS headers.
pub(crate) async fn refuse_web_pages(request: Request, next: Next) -> Response {
    match request.headers().get(header::ORIGIN) {
        None => next.run(request).await,
        Some(origin) => {
            let message = format!("requests of web pages are refused (origin {origin:?})");
            Failure::new(ErrorCode::Denied, message).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_user_may_connect() {
        let own = Uid::from_raw(1000);
        assert!(may_connect(1000, own));
        for other in [0, 999, 1001, u32::MAX] {
            assert!(!may_connect(other, own), "{other}");
        }
    }
}
