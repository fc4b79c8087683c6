//! Requests to model vendors that a client with the key answers: `/v1/broker/requests`.
//!
//! A session whose [`Credentials`] are `broker` has no key. Each attempt to ask a vendor is parked under a number; a
//! *broker* (a front end on a machine that has the keys) is told of it, fetches it, adds the key, asks the vendor, and
//! sends the answer back as a stream of frames ([`answer`]) that can be taken up again at any byte.

pub mod answer;
mod headers;

use serde::{Deserialize, Serialize};

pub use answer::{
    AnswerDecoder, AnswerEnd, AnswerError, AnswerErrorKind, AnswerFault, AnswerFrame, AnswerHead,
};
pub use headers::{CredentialHeader, PlainHeaders, carries_credentials};

use crate::{ids::SessionId, limits};

/// What an agent that knows brokers has among the capabilities of its hello.
pub const CAPABILITY: &str = "broker";

/// Whose credentials a session asks models with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Credentials {
    /// The key is on the agent's machine.
    #[default]
    Host,
    /// The key is with a broker; the agent's machine has none.
    Broker,
    /// A word of a newer version. No session can be opened with it.
    #[serde(other)]
    Unknown,
}

impl Credentials {
    /// Gives the name used on the wire and in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Broker => "broker",
            Self::Unknown => "unknown",
        }
    }

    /// Reads a name of the log.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "host" => Self::Host,
            "broker" => Self::Broker,
            _ => Self::Unknown,
        }
    }

    /// Says whether the key is on the agent's machine.
    #[must_use]
    pub fn is_host(&self) -> bool {
        *self == Self::Host
    }
}

/// What a broker is told while `GET /v1/broker/requests?broker=ID` is open, as JSON in server-sent events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum BrokerEvent {
    /// This broker shall serve the request. What is open for it is offered again whenever the stream is opened.
    Offered {
        /// The request.
        request: u64,
    },
    /// Nobody wants this broker's answer any more.
    Withdrawn {
        /// The request.
        request: u64,
    },
    /// An event of a newer version.
    #[serde(other)]
    Unknown,
}

/// A parked request: the answer to `GET /v1/broker/requests/{N}?broker=ID`, which claims it.
///
/// No key is in it, and none can be: see [`PlainHeaders`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerRequest {
    /// Its number, from 1, never used again in a daemon's life.
    pub request: u64,
    /// The session that asks.
    pub session: SessionId,
    /// The provider's name in the configuration of the agent's machine.
    #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
    pub provider: String,
    /// The name of the key that the provider wants; `None` for an endpoint without one.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "limits::maybe_text::<{limits::NAME}, _>"
    )]
    pub key_env: Option<String>,
    /// Where it goes. The broker asks its own configuration whether that may be.
    #[serde(deserialize_with = "limits::text::<{limits::PATH}, _>")]
    pub url: String,
    /// The HTTP method: `POST`.
    #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
    pub method: String,
    /// Header fields that are no credentials.
    #[serde(default)]
    pub headers: PlainHeaders,
    /// The body, byte for byte.
    #[serde(deserialize_with = "limits::text::<{limits::BROKER_BODY}, _>")]
    pub body: String,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// When it was parked, in milliseconds since the Unix epoch.
    pub parked_at: u64,
    /// How many bytes of the answer have come from this broker already.
    #[serde(default)]
    pub received: u64,
}

/// The answer to `PUT /v1/broker/requests/{N}/answer?broker=ID&offset=M`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerReceipt {
    /// How many bytes of the answer have come.
    pub received: u64,
    /// Whether its last frame has come.
    pub complete: bool,
}
