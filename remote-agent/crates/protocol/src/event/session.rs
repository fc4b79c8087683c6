//! Events of the session as a whole.

use serde::{Deserialize, Serialize};

use crate::{
    broker::Credentials,
    content::Preset,
    ids::{CommandId, InstanceId, SessionId},
    limits,
};

/// What happened to the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SessionEvent {
    /// It was opened; always event 1.
    Opened {
        /// The session.
        session: SessionId,
        /// The workspace folder on the agent's machine.
        #[serde(deserialize_with = "limits::text::<{limits::PATH}, _>")]
        workspace: String,
        /// The model reference.
        #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
        model: String,
        /// What it may do without asking.
        preset: Preset,
        /// How many tokens fit into the model's context window; absent when that is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_window: Option<u64>,
    },
    /// From here on another model answers, or something else is known of the same one.
    ModelChanged {
        /// The model reference.
        #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
        model: String,
        /// How many tokens fit into its context window; absent when that is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_window: Option<u64>,
    },
    /// From here on its models are asked with these credentials. A session of which this is not told uses those of the
    /// host.
    CredentialsChanged {
        /// Whose.
        credentials: Credentials,
    },
    /// The fixed prefix of its model requests was made.
    PrefixMade {
        /// Bytes of the system text.
        system_bytes: u64,
    },
    /// What it may do without asking changed.
    PresetChanged {
        /// The new preset.
        preset: Preset,
        /// The command that asked for it.
        command: CommandId,
    },
    /// A command had no effect.
    CommandIgnored {
        /// The command.
        command: CommandId,
        /// Why.
        #[serde(deserialize_with = "limits::text::<{limits::LINE}, _>")]
        reason: String,
    },
    /// A daemon took it up again after another one ended.
    Resumed {
        /// The daemon.
        instance: InstanceId,
    },
    /// It was closed.
    Closed {
        /// The command that asked for it.
        command: CommandId,
    },
    /// An event of a newer version.
    #[serde(other)]
    Unknown,
}
