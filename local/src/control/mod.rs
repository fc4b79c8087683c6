//! The control socket of a front end that is connected to a host: other processes of this user ask it what it forwards,
//! and change that, without a reconnect.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | see what can be asked and what is answered | `message.rs` |
//! | know where the sockets are | `place.rs` |
//! | change how a front end answers | `server.rs` |
//! | change how a command finds the front ends of a host | `client.rs` |

pub(crate) mod client;
pub(crate) mod message;
pub(crate) mod place;
pub(crate) mod server;
