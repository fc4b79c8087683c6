//! Who is at the other end: `GET /v1/hello`, and the identity line of a daemon.

use serde::{Deserialize, Serialize};

use crate::{ids::InstanceId, limits};

/// The protocol versions that this build speaks.
pub const VERSIONS: VersionRange = VersionRange { min: 1, max: 1 };

/// A range of protocol versions, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRange {
    /// The oldest.
    pub min: u32,
    /// The newest.
    pub max: u32,
}

impl VersionRange {
    /// Gives the newest version that both sides speak.
    #[must_use]
    pub fn common(self, other: Self) -> Option<u32> {
        let version = self.max.min(other.max);
        (version >= self.min.max(other.min)).then_some(version)
    }
}

/// What a program was built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The version of the program.
    #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
    pub version: String,
    /// The target triple.
    #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
    pub target: String,
}

/// Which process answers. A kill needs all of pid, start time and boot id to match; reuse may trust the instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Random at start.
    pub instance: InstanceId,
    /// The process id.
    pub pid: u32,
    /// The process's start time in clock ticks since boot (field 22 of `/proc/PID/stat`), 0 where unknown.
    pub start_time: u64,
    /// The kernel's boot id, empty where unknown.
    #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
    pub boot_id: String,
    /// The machine id, hashed so that it does not leave the machine as it is; empty where unknown.
    #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
    pub machine: String,
    /// The user's number.
    pub uid: u32,
    /// The unix socket; empty for an agent that has none.
    #[serde(deserialize_with = "limits::text::<{limits::PATH}, _>")]
    pub socket: String,
    /// The program that runs.
    #[serde(deserialize_with = "limits::text::<{limits::PATH}, _>")]
    pub program: String,
}

/// The answer to `GET /v1/hello`, and (as one fenced line) what `serve --detach` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// What the agent speaks.
    pub protocol: VersionRange,
    /// What it was built from.
    pub build: Build,
    /// Which process it is.
    pub identity: Identity,
    /// Names of features a client may rely on.
    #[serde(default, deserialize_with = "limits::list::<{limits::LIST}, _, _>")]
    pub capabilities: Vec<String>,
    /// Whether it takes new sessions.
    #[serde(default)]
    pub draining: bool,
    /// Where a client listens ([`crate::ListenAt::Unix`]) to lend the agent's tools its SSH agent; missing where tools
    /// cannot be lent one.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "limits::maybe_text::<{limits::PATH}, _>"
    )]
    pub key_agent_socket: Option<String>,
}
