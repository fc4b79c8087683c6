//! SFTP version 3 with byte names: packets, a client that pipelines, a server of a file system.
//!
//! Names on a Unix host are bytes, so they are bytes here; nothing is replaced on the way. Everything that is decoded
//! comes from the other side and is held against a limit first; no input panics. The protocol is
//! draft-ietf-secsh-filexfer-02 with the extensions of OpenSSH (its file `PROTOCOL`, section 4).
//!
//! | I want to… | Open |
//! | --- | --- |
//! | use a server | `client/mod.rs`, `client/file.rs` |
//! | change how requests are kept under way | `client/connection.rs` |
//! | see what can be asked | `packet/request.rs`, `packet/extension.rs` |
//! | see what is answered | `packet/reply.rs`, `packet/status.rs` |
//! | see what is known of a file | `packet/attributes.rs` |
//! | show a name to a person | `name.rs` |
//! | change a limit of decoding | `packet/wire.rs`, `packet/mod.rs` |
//! | change what the server does with a request | `server/session.rs` |
//! | change where names of a client begin | `server/paths.rs` |

pub mod client;
pub mod name;
pub mod packet;
pub mod server;

pub use client::{Client, Error};
pub use packet::{Attributes, Code, Extension, Kind, Malformed, Reply, Request, Target};
