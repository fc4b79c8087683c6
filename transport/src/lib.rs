//! One SSH connection and its channels: configuration, host keys, login, commands, forwarded streams.
//!
//! Nothing here knows about agents, HTTP, our settings or dialogs. A caller resolves a [`Target`] with [`resolve()`],
//! connects with [`Connection::connect`] and opens channels on the [`Connection`]. Questions go through [`Prompter`].
//!
//! Promises, each with a test named after it:
//!
//! - A host key that is changed or revoked is refused before authentication; files of the user are never written.
//! - End-of-file never overtakes data, half-close is kept, and a lost connection never looks like an end-of-file.
//! - A reader that stands still loses its own channel at most; the connection goes on.
//! - Any received byte counts as a sign of life; a silent peer is given up after a stated time.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | know how a host name becomes an address, keys and proxies | [`mod@resolve`], [`ssh_config`] |
//! | know why a host key was refused | [`host_key`], [`known_hosts`] |
//! | look at a host's keys, and accept one | [`Survey`] |
//! | change what is learned from a host | `announced` |
//! | change the order of login methods | `auth` |
//! | run a command | `exec` |
//! | open a terminal | `pty` |
//! | change how stalled readers are treated | `backlog`, `channel` |
//! | test against a real or embedded server, or a bad network | `testing` (feature) |

mod announced;
mod auth;
mod backlog;
mod channel;
mod connect;
mod connection;
mod dial;
mod disk;
mod error;
mod exec;
mod handler;
pub mod host_key;
mod keepalive;
pub mod known_hosts;
mod prompter;
mod pty;
pub mod resolve;
mod secrets;
pub mod ssh_config;
mod stream;
mod survey;
mod target;
#[cfg(feature = "testing")]
pub mod testing;
mod wire;

pub use auth::Login;
pub use channel::ChannelWriter;
pub use connection::{ConnectOptions, Connection, Deadlines, RemoteListener, Took};
pub use dial::look_up;
pub use error::{Error, ErrorKind, Stage};
pub use exec::{CaptureLimits, Exec, ExecOutput, ExitStatus, ExitWaiter, Output};
pub use keepalive::KeepaliveOptions;
pub use prompter::{
    Answer, DenyAll, HostKeyAnswer, HostKeyQuestion, KnownKey, Prompter, SecretKind, SecretQuestion,
};
pub use pty::{Size, Terminal, TerminalControl, TerminalRequest};
pub use resolve::{
    AddressFamily, Endpoint, Identity, Methods, Network, Proxy, ResolveOptions, Resolved, Source, Trust,
    UnknownKeys, configured_aliases, resolve,
};
pub use secrets::SecretMemory;
pub use stream::Stream;
pub use survey::{Accepted, HostKey, Survey};
pub use target::Target;
