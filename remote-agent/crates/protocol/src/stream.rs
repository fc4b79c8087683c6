//! `POST /v1/streams`: two-way byte streams to something on the agent's machine.
//!
//! The target stands in the query, `?open=` and the JSON of [`StreamTarget`] (percent-encoded). Once the answer is 200, the
//! body of the request and the body of the answer are the two directions of one byte stream. The end of a body is the
//! end-of-file of its direction; a stream that is reset broke.

use serde::{Deserialize, Serialize};

use crate::limits;

/// What a stream leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StreamTarget {
    /// A TCP port as the agent's machine sees it.
    Tcp {
        /// A name or an address without brackets.
        #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
        host: String,
        /// The port.
        port: u16,
    },
    /// A unix socket of the agent's machine.
    Unix {
        /// Its absolute path.
        #[serde(deserialize_with = "limits::text::<{limits::PATH}, _>")]
        path: String,
    },
    /// The files of the agent's machine: an SFTP session, version 3.
    Files,
    /// A terminal with a shell or a command.
    Terminal(TerminalOpen),
    /// A listener on the agent's machine. The answer is lines of [`ListenLine`]; it listens as long as they are read.
    Listen {
        /// Where.
        at: ListenAt,
    },
    /// A connection that a listener announced.
    Accepted {
        /// The listener's number.
        listener: u64,
        /// The connection's number.
        connection: u64,
    },
}

/// What a terminal begins with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalOpen {
    /// Width in characters.
    pub columns: u16,
    /// Height in characters.
    pub rows: u16,
    /// The kind of terminal, as in `TERM`.
    #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
    pub term: String,
    /// The folder to begin in, absolute or from `~`; the home when absent.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "limits::maybe_text::<{limits::PATH}, _>"
    )]
    pub folder: Option<String>,
    /// A command for the login shell; the shell itself when absent.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "limits::maybe_text::<{limits::LINE}, _>"
    )]
    pub command: Option<String>,
}

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ListenAt {
    /// A TCP port; 0 takes any free one.
    Tcp {
        /// An address of the machine, `localhost` for both loopback addresses, or `*` for all.
        #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
        host: String,
        /// The port.
        port: u16,
    },
    /// A unix socket, made with mode 0600.
    Unix {
        /// Its absolute path.
        #[serde(deserialize_with = "limits::text::<{limits::PATH}, _>")]
        path: String,
    },
}

/// A line of a listener's answer, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListenLine {
    /// The first line: it listens.
    Listening {
        /// The listener's number, for [`StreamTarget::Accepted`].
        listener: u64,
        /// Where it really listens: the port is known even if 0 was asked for.
        at: ListenAt,
    },
    /// Somebody connected. The connection is dropped when nobody takes it within [`limits::ACCEPT_WITHIN`].
    Accepted {
        /// The connection's number.
        connection: u64,
        /// Who it is: an address and port, or a user's number for a unix socket.
        #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
        peer: String,
    },
    /// A line of a newer version.
    #[serde(other)]
    Unknown,
}
