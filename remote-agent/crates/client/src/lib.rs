//! The typed client of an agent, over any byte stream.
//!
//! It speaks `protocol` as HTTP/2 with prior knowledge over whatever a [`Connector`] gives (an SSH channel, a local
//! socket, a pipe to an agent in the same process) and knows nothing of how those bytes travel. It dials when a
//! request needs a connection, notices a dead one, repeats what is safe to repeat, and checks that durable events
//! arrive without holes. When and how often to try again beyond that is its caller's business.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | give it a byte stream | [`Connector`] in `connector.rs` |
//! | ask an agent something | [`Agent`] in `agent.rs` |
//! | send a command, page through history | [`SessionClient`] in `session.rs` |
//! | show a session and keep it up to date over reconnects | [`SessionView`] in `view.rs` |
//! | fold frames without any I/O, and count them | [`Follower`] in `follow.rs` |
//! | open a byte stream to something on the agent's machine | [`AgentStream`] in `stream.rs`, [`body`] |
//! | answer an agent's requests to models | [`BrokerEvents`], [`BrokerAnswer`] in `broker.rs` |
//! | read single frames | [`EventStream`] in `events.rs` |
//! | see how server-sent events are decoded | [`sse`] |
//! | know what can go wrong | [`Error`] in `error.rs` |
//! | see the HTTP/2 settings and how a dead peer is noticed | `connection.rs`, `watched.rs` |

mod agent;
pub mod body;
mod broker;
mod call;
mod connection;
mod connector;
mod error;
mod events;
mod follow;
mod session;
pub mod sse;
mod stream;
mod view;
mod watched;

pub use agent::{Agent, Options, Purpose};
pub use broker::{BrokerAnswer, BrokerEvents};
pub use connector::{ByteStream, Connector};
pub use error::Error;
pub use events::EventStream;
pub use follow::{Counts, Follower, Step};
pub use session::SessionClient;
pub use stream::AgentStream;
pub use view::{SessionView, Update};
