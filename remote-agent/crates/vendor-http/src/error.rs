//! What can go wrong with a request to a vendor.

use std::{error::Error as StdError, fmt, time::Duration};

/// Why there is no answer, or not a whole one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The endpoint, a header or the client's options make no request possible.
    #[error("{0}")]
    Config(String),
    /// No connection, or it broke before an answer came.
    #[error("could not reach {place}")]
    Connect {
        /// Host and port.
        place: String,
        /// The cause.
        #[source]
        source: Transport,
    },
    /// No answer came for too long.
    #[error("no answer came for {} s", .limit.as_secs_f32())]
    Stalled {
        /// The limit that was reached.
        limit: Duration,
    },
    /// The answer ended in the middle.
    #[error("the answer ended in the middle")]
    Cut(#[source] Transport),
}

/// What the connection says of a failure. It holds no URL.
#[derive(Debug)]
pub struct Transport(reqwest::Error);

impl Transport {
    pub(crate) fn new(error: reqwest::Error) -> Self {
        Self(error.without_url())
    }

    /// Says why the endpoint's name could not be looked up; the resolver's own text shows a data structure.
    #[must_use]
    pub fn look_up_trouble(&self) -> Option<&'static str> {
        let mut text = self.to_string();
        let mut next = self.source();
        while let Some(cause) = next {
            text.push_str(&cause.to_string());
            next = cause.source();
        }
        // The resolver is the HTTP client's own matter: its errors have no public type.
        text.contains("dns error").then(|| {
            if text.contains("no records found") {
                "no such name is known"
            } else {
                "its name could not be looked up"
            }
        })
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for Transport {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}
