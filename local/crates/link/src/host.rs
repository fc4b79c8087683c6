//! What to connect to, and how.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use bootstrap::{ArtifactSource, Install};
use transport::{ConnectOptions, Prompter, ResolveOptions, Resolved, Target};

use crate::{broker::BrokerOptions, network::NetworkWatch};

/// Everything a link needs to know.
#[derive(Clone)]
pub struct LinkOptions {
    /// The host.
    pub host: Host,
    /// What to put and start there.
    pub install: InstallOptions,
    /// SSH: deadlines, our known-hosts file, secrets. Its keep-alive is set from [`LinkOptions::timings`].
    pub ssh: ConnectOptions,
    /// Who is asked about unknown host keys and for secrets.
    pub prompter: Arc<dyn Prompter>,
    /// When a silent peer counts as dead.
    pub timings: Timings,
    /// A folder for one small file per host (0600), made when missing, in which the last visit is remembered. `None`:
    /// it is remembered for the life of the link.
    pub state_dir: Option<PathBuf>,
    /// Whether changes of this machine's network are watched: a dead peer is noticed within two seconds then.
    pub network: NetworkWatch,
    /// Requests to the model that are made here, with keys that stay here. `None`: the host has its own keys.
    pub broker: Option<BrokerOptions>,
}

impl fmt::Debug for LinkOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkOptions")
            .field("host", &self.host)
            .field("timings", &self.timings)
            .finish_non_exhaustive()
    }
}

/// A host.
#[derive(Debug, Clone)]
pub enum Host {
    /// As typed; resolved anew, as OpenSSH would, each time it is dialled.
    Named {
        /// Name, alias or address.
        target: Target,
        /// What resolving needs to know about this machine.
        resolve: ResolveOptions,
    },
    /// Resolved already.
    Resolved(Resolved),
}

impl Host {
    /// Gives the name as the user calls it, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Named { target, resolve } => resolve.shown_as.clone().unwrap_or_else(|| target.to_string()),
            Self::Resolved(resolved) => resolved.alias.clone(),
        }
    }
}

/// What to put and start on the host.
#[derive(Debug, Clone)]
pub struct InstallOptions {
    /// Whether programs may be put there.
    pub install: Install,
    /// Where programs come from.
    pub source: ArtifactSource,
    /// `REASONIX_HOME` on the host, `~` allowed. `None` is the host's own.
    pub home: Option<String>,
    /// A workspace to check when the first attempt bootstraps; `~` allowed. A warm attach leaves the check to the
    /// agent, which answers the same when a session is opened.
    pub workspace: Option<String>,
}

/// When a silent peer counts as dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timings {
    /// How often the agent is asked for a sign of life.
    pub ping_interval: Duration,
    /// Silence of the whole connection after which it is dropped and dialled again. Any byte counts.
    pub dead_after: Duration,
    /// Silence of the agent, on a connection that is otherwise alive, after which it is dropped and dialled again.
    pub stalled_after: Duration,
    /// How long the hello of an attach, or the first word of a bridge, may take.
    pub attach: Duration,
    /// How long a connection may stay silent after the machine woke up or its network changed; at least four round trips.
    pub wake_grace: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            ping_interval: Duration::from_secs(5),
            dead_after: Duration::from_secs(15),
            stalled_after: Duration::from_secs(60),
            attach: Duration::from_secs(20),
            wake_grace: Duration::from_millis(1500),
        }
    }
}

impl Timings {
    /// How often clocks and counters are looked at.
    pub(crate) fn tick(&self) -> Duration {
        (self.ping_interval / 5).clamp(Duration::from_millis(5), Duration::from_millis(500))
    }
}
