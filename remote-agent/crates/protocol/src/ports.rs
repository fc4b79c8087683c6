//! `GET /v1/ports`: what listens on the agent's machine, so that it can be offered as a forward.

use serde::{Deserialize, Serialize};

use crate::limits;

/// The name in [`crate::Hello::capabilities`] of an agent that answers this call.
pub const CAPABILITY: &str = "ports";

/// The TCP ports on which processes of the agent's user listen, without the agent's own and those of the SSH server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortList {
    /// The ports, the lowest first; each one once.
    #[serde(deserialize_with = "limits::list::<{limits::PORTS}, _, _>")]
    pub ports: Vec<ListeningPort>,
}

/// A port on which somebody listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListeningPort {
    /// The port.
    pub port: u16,
    /// An address without brackets by which the machine itself reaches it, such as `127.0.0.1`.
    #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
    pub host: String,
    /// Whether other machines could reach it too.
    pub public: bool,
    /// The process, where it may be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<PortProcess>,
}

/// Who listens on a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortProcess {
    /// The process id.
    pub pid: u32,
    /// The name that the kernel has for it, of up to 15 bytes.
    #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
    pub name: String,
}
